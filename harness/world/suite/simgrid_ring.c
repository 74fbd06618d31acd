/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simgrid_ring.c RANKS ROUNDS BYTES BYTES_PER_S LATENCY_S - a ring as anybody would write it for SimGrid: an actor for
 * each rank, who in each round sends BYTES to the next and receives as many from the one before. What
 * scripts/measure sim_speed compares the world sim with; not a part of gradmark.
 *
 * Hosts hang on one switch, each by a cable of BYTES_PER_S each way; LATENCY_S is from host to host. SimGrid is set up
 * as cheap as it gets: plain rates, no model of TCP, routes by formula.
 *
 * Prints one line of JSON: messages, virtual seconds, and what simulating them took in real and in processor time,
 * without what comes before. Exit code 1: a message was lost or swapped; 2: wrong arguments, or no platform.
 */
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness/world/suite/simgrid_platform.h"

enum { MOST_RANKS = 65536, NAME_BYTES = 32 };

struct ring {
    int n_ranks, n_rounds;
    long n_bytes;
    double bytes_per_s, latency_s;
};

struct ring_rank {
    const struct ring *ring;
    int rank;
    const int *token; /* goes on with every message: at the end that of the rank ROUNDS before this one */
};

static enum rc write_hosts(FILE *f, const void *arg)
{
    const struct ring *r = arg;

    /* a cable's latency counts at either end */
    fprintf(
        f,
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\">\n<cluster id=\"ring\" prefix=\"rank-\" suffix=\"\" radical=\"0-%d\" speed=\"1f\" "
        "bw=\"%.17gBps\" lat=\"%.17gs\" sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n",
        r->n_ranks - 1, r->bytes_per_s, r->latency_s / 2);
    return RC_OK;
}

static sg_mailbox_t mailbox_of(int rank)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "mail-%d", rank);
    return sg_mailbox_by_name(name);
}

static void rank_main(int argc, char **argv)
{
    struct ring_rank *own = sg_actor_get_data(sg_actor_self());
    const struct ring *r = own->ring;
    const sg_mailbox_t in = mailbox_of(own->rank), out = mailbox_of((own->rank + 1) % r->n_ranks);

    (void)argc;
    (void)argv;
    for (int round = 0; round < r->n_rounds; round++) {
        const sg_comm_t sent = sg_mailbox_put_async(out, (void *)(uintptr_t)own->token, r->n_bytes);
        const int *token = sg_mailbox_get(in);
        sg_comm_wait(sent);
        own->token = token;
    }
}

static bool start(const struct ring *r, struct ring_rank *rank, int *token)
{
    char name[NAME_BYTES];

    for (int i = 0; i < r->n_ranks; i++) {
        snprintf(name, sizeof name, "rank-%d", i);
        const sg_host_t host = sg_host_by_name(name);
        if (!host)
            return false;
        token[i] = i;
        rank[i] = (struct ring_rank){ .ring = r, .rank = i, .token = &token[i] };
        const sg_actor_t actor = sg_actor_init("rank", host);
        sg_actor_set_data(actor, &rank[i]);
        sg_actor_start(actor, rank_main, 0, NULL);
    }
    return true;
}

static uint64_t clock_ns(clockid_t which)
{
    struct timespec t;

    (void)clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A whole number from least to most; -1: it is none. */
static long whole_number(const char *text, long least, long most)
{
    char *end = NULL;
    const long value = strtol(text, &end, 10);

    return *text && !*end && value >= least && value <= most ? value : -1;
}

static bool read_arguments(struct ring *out, int argc, char **argv)
{
    if (argc != 6)
        return false;
    out->n_ranks = (int)whole_number(argv[1], 2, MOST_RANKS);
    out->n_rounds = (int)whole_number(argv[2], 1, 1000000000);
    out->n_bytes = whole_number(argv[3], 1, 1L << 40);
    out->bytes_per_s = strtod(argv[4], NULL);
    out->latency_s = strtod(argv[5], NULL);
    return out->n_ranks > 0 && out->n_rounds > 0 && out->n_bytes > 0 && out->bytes_per_s > 0 &&
           isfinite(out->bytes_per_s) && out->latency_s >= 0 && isfinite(out->latency_s);
}

int main(int argc, char **argv)
{
    struct ring r = { .n_ranks = 0 };
    struct ring_rank *rank = NULL;
    int *token = NULL, n_wrong = 0;

    if (!read_arguments(&r, argc, argv)) {
        fputs("usage: simgrid_ring RANKS ROUNDS BYTES BYTES_PER_S LATENCY_S (2 to 65536 ranks)\n", stderr);
        return 2;
    }
    rank = calloc((size_t)r.n_ranks, sizeof *rank);
    token = calloc((size_t)r.n_ranks, sizeof *token);
    simgrid_platform_init();
    if (!rank || !token || simgrid_platform_load(write_hosts, &r) != RC_OK || !start(&r, rank, token)) {
        fputs("simgrid_ring: no memory, or no platform\n", stderr);
        free(rank);
        free(token);
        return 2;
    }
    const uint64_t from_ns = clock_ns(CLOCK_MONOTONIC), from_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    simgrid_run();
    const uint64_t real_ns = clock_ns(CLOCK_MONOTONIC) - from_ns,
                   cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - from_cpu_ns;
    for (int i = 0; i < r.n_ranks; i++)
        n_wrong += *rank[i].token != (i + r.n_ranks - r.n_rounds % r.n_ranks) % r.n_ranks;
    printf("{\"kind\":\"simgrid_ring\",\"ranks_count\":%d,\"messages_count\":%llu,\"message_bytes\":%ld,\"virtual_s\":%"
           ".17g,"
           "\"real_ns\":%llu,\"cpu_ns\":%llu,\"wrong_count\":%d}\n",
           r.n_ranks, (unsigned long long)r.n_ranks * (unsigned long long)r.n_rounds, r.n_bytes, simgrid_get_clock(),
           (unsigned long long)real_ns, (unsigned long long)cpu_ns, n_wrong);
    free(rank);
    free(token);
    return n_wrong > 0 || fflush(stdout) != 0;
}
