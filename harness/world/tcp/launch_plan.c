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

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/world/child.h"
#include "harness/world/host_address.h"
#include "harness/world/process/tcp_socket.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/launch.h"

/* --- lists of hosts --- */

/*
 * The hosts of a launch, out of -H and --hostfile.
 *
 * A file has a line for each host, as Open MPI takes it: "node1 slots=4 max-slots=8", or "node1:4", or "node1". What
 * stands behind a # is a comment. A host may be named again: the ranks follow the lines, as they do for Slurm's
 * SLURM_HOSTFILE. In -H a host that is named twice has the slots of both.
 */

struct launch_host {
    char name[256];
    bool is_local;
};

struct launch_hosts {
    struct launch_host *host; /* [n_hosts], no name twice */
    struct launch_block {
        int host, n_slots;
    } * block; /* [n_blocks]: slots one after another, in the order of ranks */
    int n_hosts, n_blocks, n_slots;
};

enum { MAX_HOSTS = 4096, HOST_BYTES = sizeof((struct launch_host *)0)->name, WHERE_BYTES = 320 };

/* --- which of them is this one --- */

/* Up to the first dot. */
static size_t n_short(const char *host)
{
    return strcspn(host, ".");
}

/* By "localhost", its name, that with or without its domain, or an address of this host. A name of another kind is not
 * asked for: it may be one that the agent alone knows. */
static bool is_local(const char *host)
{
    char own[HOST_BYTES], address[HOST_ADDRESS_BYTES];
    struct in_addr at;

    child_host_name(own, sizeof own);
    if (gang_is_loopback(host) || strcmp(host, own) == 0)
        return true;
    if (inet_pton(AF_INET, host, &at) != 1 &&
        (n_short(host) != n_short(own) || strncmp(host, own, n_short(own)) != 0 || gang_find_host(&at, host) != RC_OK))
        return false;
    if (!inet_ntop(AF_INET, &at, address, sizeof address))
        return false;
    return host_address_is_loopback(address) || host_address(address, address) == RC_OK;
}

/* --- one host --- */

static enum rc add_host(struct launch_hosts *h, const char *where, const char *name, size_t n_name, uint64_t n_slots,
                        bool is_merged)
{
    int i = 0, b = 0;

    while (i < h->n_hosts && (strlen(h->host[i].name) != n_name || strncmp(h->host[i].name, name, n_name) != 0))
        i++;
    if (i == MAX_HOSTS)
        return rc_raise(RC_INVAL, "%s: more than %d hosts", where, MAX_HOSTS);
    if (n_slots > (uint64_t)(GANG_MAX_MEMBERS - h->n_slots))
        return rc_raise(RC_INVAL, "%s: %.80s: makes more than %d slots", where, name, GANG_MAX_MEMBERS);
    if (i == h->n_hosts) {
        memcpy(h->host[i].name, name, n_name);
        h->host[i].name[n_name] = '\0';
        h->host[i].is_local = is_local(h->host[i].name);
        h->n_hosts++;
    }
    for (b = is_merged ? 0 : h->n_blocks - 1; b >= 0 && b < h->n_blocks && h->block[b].host != i;)
        b = is_merged ? b + 1 : h->n_blocks;
    if (b < 0 || b == h->n_blocks)
        h->block[b = h->n_blocks++] = (struct launch_block){ .host = i };
    h->block[b].n_slots += (int)n_slots;
    h->n_slots += (int)n_slots;
    return RC_OK;
}

static bool is_slots(const char *text, uint64_t *out)
{
    return text_to_plain_u64(text, out) && *out > 0 && *out <= GANG_MAX_MEMBERS;
}

static enum rc raise_slots(const char *where, const char *text)
{
    return rc_raise(RC_INVAL, "%s: %.80s: its slots are no whole number from 1 to %d", where, text, GANG_MAX_MEMBERS);
}

/* "host1" or "host1:2"; n_slots: 0, or what was said apart from it. */
static enum rc read_host(struct launch_hosts *h, const char *where, const char *text, uint64_t n_slots, bool is_merged)
{
    const char *colon = strrchr(text, ':');
    const size_t n_name = colon ? (size_t)(colon - text) : strlen(text);

    if (text_is_ipv6(text))
        return rc_raise(RC_INVAL,
                        "%s: %.80s: is an IPv6 address, and gradmark uses IPv4; give a host name or an IPv4 address, "
                        "such as node1:2",
                        where, text);
    if (strchr(text, '['))
        return rc_raise(
            RC_INVAL,
            "%s: %.80s: is a list of Slurm's; scontrol show hostnames > FILE writes its hosts, for --hostfile "
            "FILE",
            where, text);
    if (n_name == 0 || n_name >= HOST_BYTES || strcspn(text, " \t@/'\"[]=") != strlen(text) || text[0] == '-')
        return rc_raise(RC_INVAL, "%s: %.80s: is no HOST or HOST:SLOTS, such as node1:2", where, text);
    if (colon && n_slots > 0)
        return rc_raise(RC_INVAL, "%s: %.80s: has slots, and slots=%llu, too; leave out one of them", where, text,
                        (unsigned long long)n_slots);
    if (colon && !is_slots(colon + 1, &n_slots))
        return raise_slots(where, text);
    return add_host(h, where, text, n_name, n_slots > 0 ? n_slots : 1, is_merged);
}

/* --- -H and --hostfile --- */

static enum rc read_list(struct launch_hosts *h, const char *list)
{
    char one[HOST_BYTES + 16];
    const char *rest = list;
    enum rc rc = RC_OK;

    while (text_next(&rest, one, sizeof one)) {
        if (one[0] == '\0' && !rest && h->n_hosts > 0) /* "a,b,", as scripts write it */
            break;
        TRY(read_host(h, "-H", one, 0, true));
    }
out:
    return rc;
}

/* What may stand behind a host; false: it is something else. */
static bool take_slots(const char *word, uint64_t *n_slots, uint64_t *n_most, bool *is_well)
{
    static const char *const most[] = { "max-slots=", "max_slots=" };

    if (strncmp(word, "slots=", 6) == 0) {
        *is_well = is_slots(word + 6, n_slots);
        return true;
    }
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        if (strncmp(word, most[i], strlen(most[i])) == 0) {
            *is_well = is_slots(word + strlen(most[i]), n_most);
            return true;
        }
    return false;
}

static enum rc read_line(struct launch_hosts *h, const char *where, char *line)
{
    char *rest = line, *host, *word;
    uint64_t n_slots = 0, n_most = 0;
    bool is_well = true;

    line[strcspn(line, "#\r\n")] = '\0';
    host = strtok_r(rest, " \t", &rest);
    if (!host)
        return RC_OK;
    while ((word = strtok_r(NULL, " \t", &rest))) {
        if (!take_slots(word, &n_slots, &n_most, &is_well))
            return rc_raise(RC_INVAL, "%s: %.80s: is neither slots=N nor max-slots=N, as in: node1 slots=4", where,
                            word);
        if (!is_well)
            return raise_slots(where, word);
    }
    if (n_most > 0 && n_slots > n_most)
        return rc_raise(RC_INVAL, "%s: slots=%llu: are more than max-slots=%llu", where, (unsigned long long)n_slots,
                        (unsigned long long)n_most);
    return read_host(h, where, host, n_slots, false);
}

static enum rc read_file(struct launch_hosts *h, const char *path)
{
    char where[WHERE_BYTES], *line = NULL;
    size_t capacity = 0;
    FILE *from = NULL;
    enum rc rc;

    TRY(file_of_option(file_open_text(&from, path, "a file with a host on each line"), "hostfile"));
    for (int n = 1; getline(&line, &capacity, from) >= 0; n++) {
        (void)snprintf(where, sizeof where, "--hostfile %.250s: line %d", path, n);
        TRY(read_line(h, where, line));
    }
    if (ferror(from))
        FAIL(RC_IO, "--hostfile %.250s: cannot be read: %s", path, strerror(errno));
    if (h->n_hosts == 0)
        FAIL(RC_INVAL, "--hostfile %.250s: names no host; write one on each line, as in: node1 slots=4", path);
out:
    free(line);
    if (from)
        (void)fclose(from);
    return rc;
}

/* Accepts a zeroed one. */
static void launch_hosts_close(struct launch_hosts *h)
{
    free(h->host);
    free(h->block);
    *h = (struct launch_hosts){ .host = NULL };
}

/* At least one host. RC_INVAL names -H, or --hostfile and the line; RC_IO, RC_NOMEM. */
static enum rc launch_hosts_open(struct launch_hosts *out, const struct launch_opts *opts)
{
    const bool has_file = opts->hostfile && opts->hostfile[0] != '\0';
    struct launch_hosts h = { .host = calloc(MAX_HOSTS, sizeof *h.host),
                              .block = calloc(GANG_MAX_MEMBERS, sizeof *h.block) };
    enum rc rc = RC_OK;

    if (!h.host || !h.block)
        FAIL(RC_NOMEM, "no memory for the hosts of a run");
    if (has_file && opts->hosts[0] != '\0')
        FAIL(RC_INVAL, "--hostfile %.250s: and -H name hosts; leave out one of them", opts->hostfile);
    if (has_file)
        TRY(read_file(&h, opts->hostfile));
    else if (opts->hosts[0] != '\0')
        TRY(read_list(&h, opts->hosts));
    else
        TRY(add_host(&h, "-np", "localhost", strlen("localhost"), opts->n_ranks > 0 ? opts->n_ranks : 1, true));
    *out = h;
    return RC_OK;
out:
    launch_hosts_close(&h);
    return rc;
}

enum { FIRST_PORT = 20000, N_PORTS = 12000 };

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
    const size_t n_each = sizeof((struct launch_process *)0)->host + 8;
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
