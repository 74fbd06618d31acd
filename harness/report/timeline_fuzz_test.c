/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_fuzz_test.c N - N times packed spans with random bytes changed, cut off or added, the same ones on every
 * run: each is refused as RC_MISMATCH, or can be written as a file that has no other spans than those in order that
 * nest (report.L3). Each lies in a block of its own: meant for the address sanitizer too.
 */
#include <string.h>

#include "harness/base/rng.h"
#include "harness/report/suite/report_kit.h"
#include "harness/report/suite/timeline_kit.h"
#include "harness/report/timeline_pack.h"

enum { N_SPANS = 24, FILES = 200 };

struct fuzz {
    struct kit kit;
    unsigned char *seed, *bytes;
    size_t n_seed_bytes, n_bytes;
    uint64_t next; /* of the random numbers */
    int n_taken, n_refused, n_failures;
};

static size_t draw(struct fuzz *f, size_t below)
{
    return (size_t)(rng_u64(11, RNG_TEST, f->next++) % below);
}

static void make_seed(struct fuzz *f)
{
    static const char *const what[] = { "forward", "reduce", "apply" };
    struct span span[N_SPANS];
    void *bytes = NULL;

    for (size_t i = 0; i < N_SPANS; i++)
        span[i] = kit_span(what[i % 3], 100 + 10 * i, 110 + 10 * i);
    struct span_ring *ring[] = { kit_ring_of("main", N_SPANS, span, N_SPANS),
                                 kit_ring_of("communicator", 5, span, N_SPANS) };
    const struct timeline_source source = { 3, "worker", "node", ring, 2, NULL };
    if (timeline_pack(&bytes, &f->n_seed_bytes, &source) != RC_OK)
        abort();
    f->seed = bytes;
    span_ring_close(&ring[0]);
    span_ring_close(&ring[1]);
}

/* A byte of the seed: of the head, its tasks and names as often as of its many spans. */
static size_t draw_place(struct fuzz *f)
{
    const size_t n_head = sizeof(struct timeline_head) + 2 * sizeof(struct timeline_task);

    return draw(f, 2) ? draw(f, f->n_bytes) : draw(f, n_head < f->n_bytes ? n_head : f->n_bytes);
}

static void change(struct fuzz *f)
{
    static const uint64_t value[] = { 0, 1, 2, 28, 30, UINT32_MAX, UINT64_MAX, UINT64_MAX - 39, UINT64_C(1) << 63 };
    const size_t n_bytes = draw(f, 4) ? f->n_seed_bytes : draw(f, 2 * f->n_seed_bytes);

    f->n_bytes = n_bytes;
    f->bytes = calloc(1, n_bytes > 0 ? n_bytes : 1);
    if (!f->bytes)
        abort();
    memcpy(f->bytes, f->seed, n_bytes < f->n_seed_bytes ? n_bytes : f->n_seed_bytes);
    for (size_t i = draw(f, 3); n_bytes > 16 && i > 0; i--) {
        const size_t at = draw_place(f) / 8 * 8;
        const size_t n = draw(f, 2) ? 8 : 4;

        if (at + n > n_bytes || draw(f, 2))
            f->bytes[draw_place(f)] = (unsigned char)draw(f, 256);
        else
            memcpy(f->bytes + at, &value[draw(f, sizeof value / sizeof *value)], n);
    }
    enum { ENDLESS_BYTES = 2 * SPAN_NAME_BYTES };
    if (n_bytes >= ENDLESS_BYTES && draw(f, 8) == 0) { /* a name has no end */
        const size_t at = draw_place(f);
        memset(f->bytes + at, 'x', at + ENDLESS_BYTES <= n_bytes ? ENDLESS_BYTES : n_bytes - at);
    }
}

static void complain(struct fuzz *f, int number, const char *what)
{
    fprintf(stderr, "timeline_fuzz_test: %d: %s: %s\n", number, what, rc_message());
    f->n_failures++;
}

/* All that was taken can be read, and holds report.L3. */
static void check_taken(struct fuzz *f, int number, const struct timeline_rank *r)
{
    uint64_t i = 0;

    for (uint32_t t = 0; t < r->n_tasks; t++) {
        const struct timeline_task task = timeline_task_at(r, t);
        uint64_t start_ns = 0;

        if (strlen(task.name) >= sizeof task.name)
            complain(f, number, "a task has an endless name");
        for (uint64_t k = 0; k < task.n_spans; k++, i++) {
            const struct timeline_span s = timeline_span_at(r, i);

            if (s.start_ns < start_ns || s.end_ns < s.start_ns || s.name >= r->n_names)
                complain(f, number, "a span is out of order, or has no name");
            start_ns = s.start_ns;
        }
    }
    if (i != r->n_spans)
        complain(f, number, "some spans are of no task");
}

static void check(struct fuzz *f, int number)
{
    struct timeline_rank r;

    rc_clear();
    const enum rc rc = timeline_unpack(&r, f->bytes, f->n_bytes, 3);
    if (rc == RC_MISMATCH) {
        f->n_refused++;
        if (!strstr(rc_message(), "rank 3"))
            complain(f, number, "is refused without the rank");
        if (rc_message()[strlen(rc_message()) - 1] == ' ')
            complain(f, number, "is refused without a reason");
        return;
    }
    if (rc != RC_OK) {
        complain(f, number, "is neither taken nor refused");
        return;
    }
    check_taken(f, number, &r);
    r.rank = 0; /* as the only rank of a file */
    if (++f->n_taken <= FILES && timeline_write(kit_path(&f->kit, "t.json"), &r, 1, true, NULL) != RC_OK)
        complain(f, number, "cannot be written");
}

int main(int argc, char **argv)
{
    static struct fuzz f;
    const int n_trials = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;

    if (!kit_open(&f.kit))
        return 1;
    make_seed(&f);
    for (int i = 0; i < n_trials; i++) {
        change(&f);
        check(&f, i);
        free(f.bytes);
    }
    free(f.seed);
    kit_close(&f.kit);
    printf("%d taken, %d refused, %d failures\n", f.n_taken, f.n_refused, f.n_failures);
    /* both outcomes must occur, or nothing was tried */
    return f.n_failures == 0 && f.n_taken > n_trials / 100 && f.n_refused > n_trials / 4 ? 0 : 1;
}
