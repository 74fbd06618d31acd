/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_world_test.c WORLD [FILE] - the rings of all ranks of a world in one file: the same, to the byte, as if each
 * had been packed on rank 0. A plain program, for mpi too: its exit code tells. FILE: keep the file of the last round.
 */
#include <stdatomic.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/report/suite/report_kit.h"
#include "harness/report/suite/timeline_kit.h"
#include "harness/report/timeline.h"
#include "harness/world/child.h"

enum { N_RINGS = 3, MAX_RANKS = 8, MAX_SPANS = 400 };

static const size_t round_bytes[] = { 0, 1, 1000, 100000 }; /* from a rank at a time */

struct job {
    const struct world_ops *ops;
    struct kit kit;
    const char *kept; /* path; may be NULL */
    bool one_fails;
    atomic_int n_failures;
};

static void expect(struct job *job, bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not so: %s (last error: %s)\n", what, rc_message());
        atomic_fetch_add(&job->n_failures, 1);
    }
}

/* Ranks have unlike many spans; even ones have no communicator. The one of rank 1 lost some. */
static void open_rings(struct span_ring *ring[N_RINGS], int rank)
{
    static const char *const what[] = { "forward", "backward", "apply" };
    const size_t n_spans = 3 + 50 * (size_t)rank;
    struct span span[MAX_SPANS];

    for (size_t i = 0; i < n_spans; i++) {
        const uint64_t start_ns = 1000000 + 1000 * i + 7 * (uint64_t)rank;

        span[i] = (struct span){ start_ns,   start_ns + 900, what[i % 3], (int32_t)(i % 4) - 1,
                                 (int32_t)i, 64 * i,         (uint32_t)i, start_ns - i };
    }
    ring[0] = kit_ring_of("main", n_spans, span, n_spans);
    ring[1] = NULL;
    ring[2] = rank % 2 == 1 ? kit_ring_of("communicator", 40, span, n_spans) : NULL;
}

static void close_rings(struct span_ring *ring[N_RINGS])
{
    for (size_t i = 0; i < N_RINGS; i++)
        span_ring_close(&ring[i]);
}

static const char *role_of(int rank)
{
    return rank == 0 ? NULL : "worker";
}

static enum rc write_alone(struct job *job, const struct world *w, bool is_virtual, const struct record *facts)
{
    struct timeline_rank rank[MAX_RANKS];
    void *bytes[MAX_RANKS] = { NULL };
    struct span_ring *ring[N_RINGS];
    char host[128];
    size_t n_bytes;
    enum rc rc = RC_OK;

    child_host_name(host, sizeof host);
    for (int r = 0; r < w->n_ranks; r++) {
        open_rings(ring, r);
        const struct timeline_source source = { r, role_of(r), is_virtual ? NULL : host, ring, N_RINGS, NULL };
        rc = timeline_pack(&bytes[r], &n_bytes, &source);
        close_rings(ring);
        if (rc != RC_OK)
            goto out;
        TRY(timeline_unpack(&rank[r], bytes[r], n_bytes, r));
    }
    TRY(timeline_write(kit_path(&job->kit, "alone.json"), rank, w->n_ranks, is_virtual, facts));
out:
    for (int r = 0; r < MAX_RANKS; r++)
        free(bytes[r]);
    return rc;
}

static char *text_of(const char *path)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *from = fopen(path, "r");

    if (from && getdelim(&text, &n_bytes, '\0', from) < 0) {
        free(text);
        text = NULL;
    }
    if (from)
        fclose(from);
    return text;
}

static void compare(struct job *job, const struct world *w, const struct record *facts)
{
    const bool is_virtual = (w->ops->module.caps & WORLD_VIRTUAL_TIME) != 0;

    expect(job, write_alone(job, w, is_virtual, facts) == RC_OK, "rank 0 writes the same alone");
    char *alone = text_of(kit_path(&job->kit, "alone.json"));
    char *gathered = text_of(job->kept ? job->kept : kit_path(&job->kit, "gathered.json"));
    expect(job, alone && gathered && strcmp(alone, gathered) == 0, "what was gathered is what was packed");
    expect(job, alone && strstr(alone, is_virtual ? "\"virtual\"" : "\"real, offsets between hosts removed\""),
           "the clock of this world");
    free(alone);
    free(gathered);
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct record *facts = NULL;
    struct span_ring *ring[N_RINGS] = { NULL };
    char path[KIT_PATH_BYTES];
    enum rc rc;

    open_rings(ring, w->rank);
    if (job->one_fails && w->rank == 1) /* in the middle of the span before it */
        span_ring_add(ring[0], &(struct span){ .start_ns = 1052100, .end_ns = 1053700, .what = "late" });
    if (w->rank == 0) {
        facts = record_open(NULL);
        record_text(facts, "command", "gradmark train");
        snprintf(path, sizeof path, "%s", job->kept ? job->kept : kit_path(&job->kit, "gathered.json"));
    }
    for (size_t i = 0; i < sizeof round_bytes / sizeof *round_bytes; i++) {
        uint64_t zero_ns = 0;
        const struct timeline_opts opts = {
            .path = w->rank == 0 ? path : NULL,
            .role = role_of(w->rank),
            .ring = ring,
            .n_rings = N_RINGS,
            .facts = facts,
            .zero_ns = &zero_ns,
            .max_round_bytes = round_bytes[i],
        };
        const uint64_t before_ns = world_now_ns(w);

        TRY(timeline_gather_and_write(w, &opts));
        if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
            expect(job, world_now_ns(w) == before_ns, "it takes no virtual time");
        expect(job, zero_ns == (w->rank == 0 ? 1000000 : 0), "rank 0 knows the time of ts 0");
        if (w->rank == 0)
            compare(job, w, facts);
    }
out:
    close_rings(ring);
    record_close(&facts);
    return rc;
}

static uint64_t n_ticks(const struct world *w)
{
    return atomic_load(&w->peers->seat[w->peers->own].n_ticks);
}

/* world.P1: 100 times 1024 spans are packed in two passes, and written in two; the rest are calls of world.h. */
static enum rc tick_body(struct world *w, void *arg)
{
    enum { N_SPANS = 100 * 1024 };
    struct job *job = arg;
    struct span_ring *ring = NULL;
    enum rc rc;

    TRY(span_ring_open(&ring, "main", N_SPANS));
    for (uint64_t i = 0; i < N_SPANS; i++)
        span_ring_add(ring, &(struct span){ .start_ns = 10 * i, .end_ns = 10 * i + 5, .what = "late" });
    const struct timeline_opts opts = { .path = kit_path(&job->kit, "ticks.json"), .ring = &ring, .n_rings = 1 };
    const uint64_t before = n_ticks(w);

    TRY(timeline_gather_and_write(w, &opts));
    const uint64_t n = n_ticks(w) - before;
    expect(job, n >= 400 && n < 430, "a tick for each 1024 spans of each pass");
out:
    span_ring_close(&ring);
    return rc;
}

static void run(struct job *job, int n_ranks)
{
    struct cluster cluster;

    cluster_default(&cluster);
    const struct world_opts opts = { .cluster = job->ops->module.caps & WORLD_VIRTUAL_TIME ? &cluster : NULL };
    const enum rc rc = world_run(job->ops, &opts, n_ranks, body, job);
    if (!job->one_fails) {
        expect(job, rc == RC_OK, "all ranks succeed");
        return;
    }
    expect(job, rc == RC_BUG && strstr(rc_message(), "rank 1") && strstr(rc_message(), "span late"),
           "the rank is named");
    expect(job, kit_count_files(&job->kit) == 0, "no file");
}

int main(int argc, char **argv)
{
    static struct job job;

    if (argc < 2 || world_find(&job.ops, argv[1]) != RC_OK || !kit_open(&job.kit))
        return 2;
    job.kept = argc > 2 ? argv[2] : NULL;
    if (strcmp(argv[1], "threads") == 0) {
        job.one_fails = true;
        run(&job, 3);
        job.one_fails = false;
        run(&job, 1);
        run(&job, 2);
        run(&job, 8);
        expect(&job, world_run(job.ops, &(struct world_opts){ 0 }, 1, tick_body, &job) == RC_OK, "a rank ticks");
    } else { /* one run a process */
        run(&job, strcmp(argv[1], "mpi") == 0 ? 0 : 5);
    }
    kit_close(&job.kit);
    return atomic_load(&job.n_failures) > 0;
}
