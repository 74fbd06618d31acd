/* SPDX-License-Identifier: Apache-2.0 */
/* sim_platform.c - a cluster as SimGrid reads it. */
#include "harness/world/sim/sim_platform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cluster/topology.h"

/* Every host that will have a rank, behind one switch; a route crosses two links, so each has half the
 * latency. Flows between ranks of one host do not slow each other. */
static enum rc write_star(FILE *f, const struct topology *t)
{
    const struct cluster *c = &t->cluster;

    fprintf(f,
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            "<cluster id=\"cluster\" prefix=\"host-\" suffix=\"\" radical=\"0-%d\" speed=\"1f\"\n"
            " bw=\"%.17gBps\" lat=\"%.17gs\" sharing_policy=\"SPLITDUPLEX\"\n"
            " loopback_bw=\"%.17gBps\" loopback_lat=\"%.17gs\"/>\n</platform>\n",
            t->n_slots - 1, c->link_bytes_per_s, c->link_latency_s / 2, c->local_bytes_per_s, c->local_latency_s);
    return fflush(f) == 0 && !ferror(f) ? RC_OK : rc_raise(RC_IO, "a temporary file cannot be written");
}

void sim_platform_host_name(char *out, size_t n_bytes, const struct topology *t, int rank, bool is_local)
{
    if (topology_is_flat(t))
        snprintf(out, n_bytes, "host-%d", topology_slot(t, rank));
    else
        snprintf(out, n_bytes, "%s-%d", is_local ? "local" : "rank", rank);
}

/* SimGrid takes a platform only from a file, by name. */
enum rc sim_platform_load(const struct topology *t)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    FILE *f = NULL;
    int fd = -1;
    enum rc rc = RC_OK;

    snprintf(path, sizeof path, "%s/gradmark-XXXXXX.xml", folder && *folder ? folder : "/tmp");
    fd = mkostemps(path, (int)strlen(".xml"), O_CLOEXEC);
    if (fd < 0 || !(f = fdopen(fd, "w")))
        FAIL(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
    TRY(topology_is_flat(t) ? write_star(f, t) : sim_topology_write(f, t));
    simgrid_load_platform(path);
out:
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    if (fd >= 0)
        unlink(path);
    return rc;
}

/* Costs as in G2: plain latency and rate, no model of TCP, no share taken by acknowledgements, flows
 * equal whatever their latency; times far finer than 1 ns. The solver that shares rates out crashes at the finest
 * precision where hundreds of messages cross several links each; a coarser one changed no virtual time that was tried.
 */
void sim_platform_start(const struct topology *t)
{
    char *precision = topology_is_flat(t) ? "--cfg=maxmin/precision:1e-12" : "--cfg=maxmin/precision:1e-8";
    char *argv[] = {
        "gradmark",
        "--log=root.threshold:critical",
        "--cfg=network/model:CM02",
        "--cfg=network/latency-factor:1",
        "--cfg=network/bandwidth-factor:1",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/weight-S:0",
        "--cfg=network/crosstraffic:0",
        "--cfg=surf/precision:1e-12",
        precision,
#if GRADMARK_SIM_THREADS
        "--cfg=contexts/factory:thread",
#endif
        NULL,
    };
    int argc = (int)(sizeof argv / sizeof *argv) - 1;
    struct sigaction interrupt;

    (void)sigaction(SIGINT, NULL, &interrupt);
    simgrid_init(&argc, argv);
    (void)sigaction(SIGINT, &interrupt, NULL); /* its own would end the process, and with it the results (stop.h) */
}
