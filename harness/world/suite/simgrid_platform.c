/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid_platform.c - what SimGrid wants before it runs an actor. */
#include "harness/world/suite/simgrid_platform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <simgrid/engine.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum rc simgrid_platform_load(enum rc (*write)(FILE *f, const void *arg), const void *arg)
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
    TRY(write(f, arg));
    if (fflush(f) != 0 || ferror(f))
        FAIL(RC_IO, "%s: cannot be written", path);
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

/* As sim_network.h has it: plain latency and rate, no model of
 * TCP, no share taken by acknowledgements, flows equal whatever their latency; times far finer than 1 ns. */
void simgrid_platform_init(void)
{
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
        "--cfg=maxmin/precision:1e-9",
        NULL,
    };
    int argc = (int)(sizeof argv / sizeof *argv) - 1;
    struct sigaction interrupt;

    (void)sigaction(SIGINT, NULL, &interrupt);
    simgrid_init(&argc, argv);
    (void)sigaction(SIGINT, &interrupt, NULL); /* its own would end the process, and with it the results (stop.h) */
}
