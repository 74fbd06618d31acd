/* SPDX-License-Identifier: Apache-2.0 */
/* launch_plan.c - which process runs where, and what it is told. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "harness/world/host_address.h"
#include "harness/world/process/tcp_socket.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/launch.h"

enum { FIRST_PORT = 20000, N_PORTS = 12000, HOST_BYTES = sizeof((struct launch_process *)0)->host };

static int first_local(const struct launch_hosts *hosts)
{
    int i = 0;

    while (!hosts->host[i].is_local)
        i++;
    return i;
}

/* Fill block after block. What is local is one host, whatever its names. */
static enum rc place(struct launch_plan *p, const struct launch_opts *opts)
{
    struct launch_hosts hosts = { .host = NULL };
    int *n_of = NULL; /* ranks of each host so far, and then at the end */
    enum rc rc;

    TRY(launch_hosts_open(&hosts, opts));
    p->n_ranks = opts->n_ranks > 0 ? (int)opts->n_ranks : hosts.n_slots;
    if (p->n_ranks > hosts.n_slots)
        FAIL(RC_INVAL, "-np %d: the hosts of %s have %d slots; name more hosts, or more slots as %s", p->n_ranks,
             opts->hosts[0] ? "-H" : "--hostfile", hosts.n_slots, opts->hosts[0] ? "HOST:SLOTS" : "HOST slots=N");
    p->process = calloc((size_t)p->n_ranks, sizeof *p->process);
    n_of = calloc((size_t)hosts.n_hosts, sizeof *n_of);
    if (!p->process || !n_of)
        FAIL(RC_NOMEM, "no memory for %d processes", p->n_ranks);
    for (int b = 0, r = 0; b < hosts.n_blocks; b++) {
        const struct launch_host *host = &hosts.host[hosts.block[b].host];
        const int of = host->is_local ? first_local(&hosts) : hosts.block[b].host;
        for (int k = 0; k < hosts.block[b].n_slots && r < p->n_ranks; k++, r++) {
            p->process[r] =
                (struct launch_process){ .is_local = host->is_local, .host_index = of, .host_rank = n_of[of]++ };
            memcpy(p->process[r].host, host->name, sizeof p->process[r].host);
        }
    }
    p->is_one_host = true;
    for (int r = 0; r < p->n_ranks; r++) {
        p->process[r].n_host_ranks = n_of[p->process[r].host_index];
        p->is_one_host = p->is_one_host && p->process[r].is_local;
    }
out:
    free(n_of);
    launch_hosts_close(&hosts);
    return rc;
}

enum rc launch_root_is_here(bool *out, const struct launch_opts *opts)
{
    struct launch_plan p = { .listening_fd = -1 };
    enum rc rc;

    TRY(place(&p, opts));
    *out = p.process[0].is_local;
out:
    launch_plan_close(&p);
    return rc;
}

/* --- where rank 0 listens --- */

static enum rc listen_here(struct launch_plan *p, const char *address)
{
    struct sockaddr_in at = { .sin_family = AF_INET };

    if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
        return rc_raise(RC_IO, "%s: is no address", address);
    p->listening_fd = tcp_socket_listen(&at);
    if (p->listening_fd < 0)
        return rc_raise(RC_IO, "%s: rank 0 cannot listen there: %s", address, strerror(errno));
    (void)snprintf(p->root, sizeof p->root, "%s:%d", address, ntohs(at.sin_port));
    return RC_OK;
}

static enum rc find_root(struct launch_plan *p, const struct launch_opts *opts)
{
    char address[HOST_ADDRESS_BYTES] = "127.0.0.1", named[HOST_ADDRESS_BYTES];
    uint32_t random = 0;
    enum rc rc = RC_OK;

    if (p->process[0].is_local) {
        if (opts->interface[0])
            TRY(host_address(named, opts->interface)); /* an error even where nobody comes from elsewhere */
        if (!p->is_one_host || (opts->join_file[0] && opts->interface[0]))
            TRY(host_address(address, opts->interface));
        return listen_here(p, address);
    }
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        FAIL(RC_IO, "no random numbers: %s", strerror(errno));
    (void)snprintf(p->root, sizeof p->root, "%s:%u", p->process[0].host,
                   opts->port > 0 ? (unsigned)opts->port : FIRST_PORT + random % N_PORTS);
out:
    return rc;
}

/* --- what processes are told --- */

static enum rc write_members(struct launch_plan *p)
{
    const size_t n_each = HOST_BYTES + 8;
    size_t n = 0;

    p->members = calloc((size_t)p->n_ranks, n_each);
    if (!p->members)
        return rc_raise(RC_NOMEM, "no memory for the names of %d ranks", p->n_ranks);
    for (int r = 0; r < p->n_ranks; r++)
        n += (size_t)snprintf(p->members + n, n_each, "%srank@%s", r > 0 ? "," : "", p->process[r].host);
    return RC_OK;
}

static enum rc make_key(struct launch_plan *p)
{
    unsigned char key[GANG_KEY_BYTES];

    if (sodium_init() < 0)
        return rc_raise(RC_IO, "libsodium cannot be initialised: the system gives no random numbers");
    randombytes_buf(key, sizeof key);
    (void)sodium_bin2hex(p->key, sizeof p->key, key, sizeof key);
    sodium_memzero(key, sizeof key);
    return RC_OK;
}

enum rc launch_plan_open(struct launch_plan *out, const struct launch_opts *opts)
{
    struct launch_plan p = { .listening_fd = -1 };
    enum rc rc;

    TRY(place(&p, opts));
    TRY(find_root(&p, opts));
    TRY(write_members(&p));
    TRY(make_key(&p));
    *out = p;
    return RC_OK;
out:
    launch_plan_close(&p);
    return rc;
}

void launch_plan_close(struct launch_plan *p)
{
    if (p->listening_fd >= 0)
        (void)close(p->listening_fd);
    free(p->process);
    free(p->members);
    sodium_memzero(p->key, sizeof p->key);
    *p = (struct launch_plan){ .listening_fd = -1 };
}

bool launch_variable(char **out, const struct launch_plan *p, const struct launch_opts *opts, int rank, int i)
{
    static const char *const names[LAUNCH_N_VARIABLES] = { "MEMBERS", "RANK",    "HERE",     "ROOT",     "KEY",
                                                           "START_S", "LISTENS", "RESTARTS", "JOIN_FILE" };
    const struct launch_process *x = &p->process[rank];
    char value[64] = "";
    const char *text = value;

    if ((i == 6 && (rank > 0 || p->listening_fd < 0)) || (i == 7 && !opts->restarts) ||
        (i == 8 && opts->join_file[0] == '\0'))
        return false;
    if (i == 0)
        text = p->members;
    else if (i == 1)
        (void)snprintf(value, sizeof value, "%d", rank);
    else if (i == 2)
        (void)snprintf(value, sizeof value, "%d/%d", x->host_rank, x->n_host_ranks);
    else if (i == 3)
        text = p->root;
    else if (i == 4)
        text = "-"; /* world.L2 */
    else if (i == 5)
        (void)snprintf(value, sizeof value, "%.6g", opts->start_s);
    else if (i == 6)
        (void)snprintf(value, sizeof value, "%d", p->listening_fd);
    else if (i == 7)
        text = opts->restarts;
    else
        text = opts->join_file;
    const size_t n_bytes = strlen(text) + 64;
    *out = malloc(n_bytes);
    if (*out)
        (void)snprintf(*out, n_bytes, "GRADMARK_GANG_%s=%s", names[i], text);
    return true;
}
