/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_test.c CASE RANKS [RANKS_PER_HOST] - the collective "nccl" with the substitute library, on a device
 * whose memory the host cannot reach; with RANKS_PER_HOST "nccl-hierarchical", on hosts that the linker makes up of so
 * many ranks. Cases that fail are made to by the variables of nccl_substitute.h, which CTest sets.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/nccl_group.h"
#include "allreduce/nccl_library.h"
#include "allreduce/suite/nccl_substitute.h"
#include "harness/base/range.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { MOST_RANKS = 4, N_GROUPS = 3, MAX_ELEMS = 10001, N_ROUNDS = 2, SKIPPED = 77 };

/* Of scenes in which a rank does not come. */
#define LIMIT_TEXT "300"
enum { LIMIT_MS = 300, HANGING_GROUP = 1 };

struct expected { /* of a rank; rc RC_OK: nothing of it fails */
    enum rc rc;
    const char *says; /* in the message */
};

struct scene {
    const char *name;
    int timeout_ms;      /* 0: none */
    int n_wanted_groups; /* that the rank which fails has the sums of, before it does; -1: does not matter */
    bool shares_device;
    bool hangs; /* the group HANGING_GROUP */
    bool dies;  /* rank 1 does, after its first group */
    /* Of rank 1, which is the one made to fail, and of the others; or of the first one to notice, whoever it is. */
    bool is_anyone;
    struct expected first, rest;
};

static const struct scene scenes[] = {
    { .name = "sums" },
    { .name = "init",
      .first = { RC_DEVICE, "communicator: invalid argument: the substitute was made to fail" },
      .rest = { RC_PEER, "rank 1" } },
    { .name = "absent",
      .timeout_ms = LIMIT_MS,
      .is_anyone = true,
      .first = { RC_TIMEOUT, "communicator: not finished after " LIMIT_TEXT " ms" },
      .rest = { RC_PEER, "communicator: not finished" } },
    { .name = "late",
      .n_wanted_groups = 1,
      .first = { RC_DEVICE, "sum: unhandled system error: the substitute was made to fail" },
      .rest = { RC_PEER, "rank 1" } },
    { .name = "spread", /* what all hosts have summed, on its way to the others of this one */
      .first = { RC_DEVICE, "sum: unhandled system error: the substitute was made to fail" },
      .rest = { RC_PEER, "rank 1" } },
    { .name = "remote",
      .n_wanted_groups = 1,
      .first = { RC_PEER, "sum: remote process exited" },
      .rest = { RC_PEER, "rank 1" } },
    { .name = "hang",
      .hangs = true,
      .n_wanted_groups = 1,
      .is_anyone = true,
      .first = { RC_TIMEOUT, "sum: not finished after " LIMIT_TEXT " ms" },
      .rest = { RC_PEER, "sum: not finished" } },
    { .name = "sum",
      .n_wanted_groups = 1,
      .first = { RC_DEVICE, ": invalid argument: the substitute" },
      .rest = { RC_PEER, "rank 1" } },
    { .name = "end",
      .n_wanted_groups = 1,
      .first = { RC_DEVICE, "group end: unhandled cuda error" },
      .rest = { RC_PEER, "rank 1" } },
    { .name = "id", .first = { RC_DEVICE, "unique id: unhandled system error" }, .rest = { RC_DEVICE, "unique id" } },
    { .name = "shared",
      .shares_device = true,
      .first = { RC_UNSUPPORTED, "ranks 0 and 1 share the GPU fake:0, which NCCL refuses" },
      .rest = { RC_UNSUPPORTED, "ranks 0 and 1 share the GPU fake:0" } },
    { .name = "dies", .dies = true, .n_wanted_groups = 1, .rest = { RC_PEER, "rank 1" } },
    { .name = "old",
      .first = { RC_UNSUPPORTED, "is NCCL 2.10.3; needs 2.14.0 or newer" },
      .rest = { RC_UNSUPPORTED, "rank 0: " } },
};

struct run {
    const struct scene *scene;
    const char *reducer;
    atomic_int n_failures, n_first; /* n_first: ranks that have failed by themselves */
};

static void expect(struct run *run, const struct world *w, bool is_right, const char *what)
{
    if (is_right)
        return;
    atomic_fetch_add(&run->n_failures, 1);
    fprintf(stderr, "%s, rank %d of %d: %s\n", run->scene->name, w->rank, w->n_ranks, what);
}

/* Sums of them depend on the order. */
static float addend(int rank, size_t i, int round)
{
    return 1.0f / (float)(3 + i * 5 + (size_t)rank * 11 + (size_t)round);
}

/* Group g: two arrays, behind one another, of which the last may be empty. */
static const struct {
    size_t offset_elems, n_elems[2];
} parts[N_GROUPS] = { { 0, { 97, 1 } }, { 98, { 4096, 4097 } }, { 8291, { 1710, 0 } } };

static int ranks_per_host; /* 0: all are on one */

enum rc __real_world_host_group(struct world *w, struct world **out, int *host, int *n_hosts);
enum rc __wrap_world_host_group(struct world *w, struct world **out, int *host, int *n_hosts);

enum rc __wrap_world_host_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    if (ranks_per_host == 0)
        return __real_world_host_group(w, out, host, n_hosts);
    *host = w->rank / ranks_per_host;
    *n_hosts = (w->n_ranks - 1) / ranks_per_host + 1;
    return world_split(w, *host, w->rank, out);
}

static bool hangs; /* HANGING_GROUP has the limit, and no other: what is before it may take as long as it likes */

enum rc __real_nccl_group_wait(struct nccl_group *g, size_t group);
enum rc __wrap_nccl_group_wait(struct nccl_group *g, size_t group);

enum rc __wrap_nccl_group_wait(struct nccl_group *g, size_t group)
{
    if (hangs && group == HANGING_GROUP)
        g->timeout_ms = LIMIT_MS;
    return __real_nccl_group_wait(g, group);
}

/* Of the ranks of a host, in their order. */
static float sum_of_host(int n_ranks, int host, size_t i, int round)
{
    const int n_each = ranks_per_host > 0 ? ranks_per_host : n_ranks, first = host * n_each;
    float sum = addend(first, i, round);

    for (int r = first + 1; r < first + n_each && r < n_ranks; r++)
        sum += addend(r, i, round);
    return sum;
}

/* Of all: chunk c of an array in the order of hosts c, c + 1, ... (ring.h). */
static float sum_of(int n_ranks, struct range array, size_t i, int round)
{
    const int n_hosts = ranks_per_host > 0 ? (n_ranks - 1) / ranks_per_host + 1 : 1;
    int chunk = 0;

    while (i - array.offset_elems >=
           range_part(array.n_elems, n_hosts, chunk).offset_elems + range_part(array.n_elems, n_hosts, chunk).n_elems)
        chunk++;
    float sum = sum_of_host(n_ranks, chunk, i, round);
    for (int k = 1; k < n_hosts; k++)
        sum += sum_of_host(n_ranks, (chunk + k) % n_hosts, i, round);
    return sum;
}

static enum rc queue(struct collective *c, int g, float *data)
{
    size_t offset_elems = parts[g].offset_elems;
    enum rc rc;

    TRY(collective_begin(c));
    for (int k = 0; k < 2; k++) {
        const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = parts[g].n_elems[k] };
        TRY(collective_run(c, &call, data + offset_elems));
        offset_elems += call.n_elems;
    }
    TRY(collective_end(c, (size_t)g));
out:
    return rc;
}

static void check_sums(struct run *run, struct world *w, struct compute *compute, const float *data, float *host,
                       int round)
{
    bool is_right = true;

    compute_get(compute, host, data, MAX_ELEMS * sizeof *host);
    for (int g = 0; g < N_GROUPS; g++)
        for (int k = 0; k < 2; k++) {
            const struct range array = { parts[g].offset_elems + (k == 1 ? parts[g].n_elems[0] : 0),
                                         parts[g].n_elems[k] };
            for (size_t i = array.offset_elems; i < array.offset_elems + array.n_elems; i++)
                is_right = is_right && host[i] == sum_of(w->n_ranks, array, i, round);
        }
    expect(run, w, is_right, "the sums are wrong");
}

/* Queue group g, behind others that nobody has waited for: between hosts is meanwhile the one before it (a first rank,
 * which sends), and no other. */
static enum rc queue_behind(struct run *run, struct world *w, struct collective *c, int g, float *data)
{
    const bool sends = ranks_per_host > 0 && ranks_per_host < w->n_ranks && w->rank % ranks_per_host == 0;
    const uint64_t sent_bytes = c->env.transport->moved.bytes_sent;
    enum rc rc;

    TRY(queue(c, g, data));
    expect(run, w, (c->env.transport->moved.bytes_sent > sent_bytes) == (sends && g > 0),
           "the group before is not summed over hosts while this one is under way");
out:
    return rc;
}

/* All groups are queued before the first is waited for, and two are waited for twice. */
static enum rc sum_round(struct run *run, struct world *w, struct collective *c, float *data, float *host, int round,
                         int *n_had)
{
    struct compute *compute = c->env.compute;
    enum rc rc;

    for (size_t i = 0; i < MAX_ELEMS; i++)
        host[i] = addend(w->rank, i, round);
    compute_put(compute, data, host, MAX_ELEMS * sizeof *host);
    for (int g = 0; g < N_GROUPS; g++) {
        if (run->scene->dies && w->rank == 1 && round + g == 1)
            world_die(w);
        TRY(round > 0 ? queue_behind(run, w, c, g, data) : queue(c, g, data));
        if (round > 0)
            continue;
        TRY(collective_wait(c, (size_t)g));
        *n_had += 1;
    }
    for (int g = N_GROUPS - 1; g >= 0; g--) /* the last first: it waits for those before it */
        TRY(collective_wait(c, (size_t)g));
    for (int g = 0; g < N_GROUPS; g++)
        TRY(collective_wait(c, (size_t)g));
    check_sums(run, w, compute, data, host, round);
out:
    return rc;
}

static enum rc sum_all(struct run *run, struct world *w, struct collective *c, int *n_had)
{
    float *host = malloc(MAX_ELEMS * sizeof *host);
    void *data = NULL;
    enum rc rc;

    if (!host)
        FAIL(RC_NOMEM, "no memory");
    TRY(compute_memory_open(c->env.compute, &data, MAX_ELEMS * sizeof *host, "data"));
    for (int round = 0; round < N_ROUNDS; round++)
        TRY(sum_round(run, w, c, data, host, round, n_had));
out:
    if (rc != RC_OK) { /* it stays so, and says the same */
        char message[RC_MESSAGE_BYTES];
        snprintf(message, sizeof message, "%s", rc_message());
        expect(run, w, collective_begin(c) == rc && strcmp(rc_message(), message) == 0,
               "a second call says another thing");
        (void)!rc_raise(rc, "%s", message);
    }
    if (data)
        compute_memory_close(c->env.compute, &data);
    free(host);
    return rc;
}

static enum rc open_and_sum(struct run *run, struct world *w, int *n_had)
{
    const struct compute_env device = { .device = run->scene->shares_device ? 0 : w->rank };
    const struct collective_ops *ops = NULL;
    const struct transport_ops *inproc = NULL;
    struct transport *t = NULL;
    struct compute *compute = NULL;
    struct collective *c = NULL;
    enum rc rc;

    TRY(collective_find(&ops, &collective_kind, run->reducer));
    TRY(transport_find(&inproc, "inproc"));
    TRY(transport_open(&t, inproc, w));
    TRY(compute_open(&compute, &compute_fake_device, &device));
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = t,
                                        .compute = compute,
                                        .timeout_ms = run->scene->timeout_ms,
                                        .types = COLL_ALLREDUCE,
                                        .max_elems = MAX_ELEMS,
                                        .n_groups = N_GROUPS };
    TRY(collective_open(&c, ops, &env));
    TRY(sum_all(run, w, c, n_had));
    TRY(world_barrier(w)); /* all have their sums: what ends now ends in order */
out:
    if (rc != RC_OK) /* as a rank of a training does: before it closes */
        world_abort(w, rc);
    collective_close(&c);
    compute_close(&compute);
    transport_close(&t);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;
    const struct scene *scene = run->scene;
    int n_had = 0;
    const enum rc rc = open_and_sum(run, w, &n_had);
    const bool is_first = scene->is_anyone ? rc == scene->first.rc : w->rank == 1;
    const struct expected *wanted = is_first ? &scene->first : &scene->rest;
    char what[2 * RC_MESSAGE_BYTES];

    snprintf(what, sizeof what, "%s: %s; should be %s: ...%s...", rc_name(rc), rc_message(), rc_name(wanted->rc),
             wanted->says ? wanted->says : "");
    atomic_fetch_add(&run->n_first, is_first);
    expect(run, w, rc == wanted->rc && (!wanted->says || strstr(rc_message(), wanted->says)), what);
    snprintf(what, sizeof what, "collective %s: ", run->reducer);
    if (rc != RC_OK && is_first && rc != RC_UNSUPPORTED)
        expect(run, w, strstr(rc_message(), what) != NULL, "it does not say which collective it is");
    if (is_first && rc != RC_OK)
        expect(run, w, n_had == scene->n_wanted_groups, "it failed sooner or later than it was to");
    return rc;
}

static int count(const char *what)
{
    const char *file = getenv("GRADMARK_NCCL_LIBRARY");
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    int (*ask)(const char *) = NULL;
    void *address = handle ? dlsym(handle, "nccl_substitute_count") : NULL;

    memcpy(&ask, &address, sizeof ask);
    return ask ? ask(what) : -1;
}

/* Every communicator was ended, by the way that it should be. */
static int check_ends(const struct scene *scene, int n_ranks)
{
    const bool fails = scene->rest.says || scene->dies;
    const int n_dead = scene->dies; /* what it had is lost with it */
    const bool is_right =
        count("live") == n_dead && count(fails ? "destroy" : "abort") == 0 && (fails || count("destroy") == n_ranks);

    if (!is_right)
        fprintf(stderr, "%s: of %d communicators %d live, %d were destroyed, %d aborted\n", scene->name, count("init"),
                count("live"), count("destroy"), count("abort"));
    return !is_right;
}

static int run_scene(const struct scene *scene, int n_ranks, const char *reducer)
{
    const struct world_opts opts = { .bind_cores = false };
    struct run run = { .scene = scene, .reducer = reducer };
    const struct world_ops *threads = NULL;

    if (world_find(&threads, "threads") != RC_OK)
        return 1;
    hangs = scene->hangs;
    const enum rc rc = world_run(threads, &opts, n_ranks, body, &run);
    if (!scene->rest.says && rc != RC_OK)
        fprintf(stderr, "%s: %s\n", scene->name, rc_message());
    return atomic_load(&run.n_failures) + (n_ranks > 1 && !scene->dies && atomic_load(&run.n_first) == 0) +
           check_ends(scene, n_ranks) + (!scene->rest.says && rc != RC_OK);
}

/* The library alone: `wanted` in what is said of it; "real": it is one. */
static int check_library(const char *wanted)
{
    struct nccl_library library;
    const enum rc rc = nccl_library_open(&library);
    char version[32];

    if (strcmp(wanted, "real") != 0) {
        if (rc == RC_UNSUPPORTED && strstr(rc_message(), wanted))
            return 0;
        fprintf(stderr, "%s: %s; should say \"%s\"\n", rc_name(rc), rc_message(), wanted);
        return 1;
    }
    if (rc != RC_OK) {
        fprintf(stderr, "skipped: %s\n", rc_message());
        return SKIPPED;
    }
    nccl_version_text(version, sizeof version, library.version_code);
    printf("%s: NCCL %s\n", library.file, version);
    return 0;
}

static int check_versions(void)
{
    static const struct {
        int code;
        const char *text;
    } rows[] = { { 22809, "2.28.9" }, { 2708, "2.7.8" }, { 21403, "2.14.3" }, { 30001, "3.0.1" } };
    int n_failures = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[32];
        nccl_version_text(text, sizeof text, rows[i].code);
        n_failures += strcmp(text, rows[i].text) != 0;
    }
    return n_failures;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "library") == 0)
        return check_library(argv[2]);
    if (argc == 2 && strcmp(argv[1], "versions") == 0)
        return check_versions();
    ranks_per_host = argc > 3 ? atoi(argv[3]) : 0;
    for (size_t i = 0; argc >= 3 && argc <= 4 && i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(scenes[i].name, argv[1]) == 0 && atoi(argv[2]) >= 1 && atoi(argv[2]) <= MOST_RANKS)
            return run_scene(&scenes[i], atoi(argv[2]), argc > 3 ? "nccl-hierarchical" : "nccl") > 0;
    fprintf(stderr, "usage: nccl_test CASE RANKS [RANKS_PER_HOST] | library TEXT | versions\n");
    return 2;
}
