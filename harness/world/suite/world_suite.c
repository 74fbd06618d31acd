/* SPDX-License-Identifier: Apache-2.0 */
/* world_suite.c - the cases; the contract is in world_suite.h. */
#include "harness/world/suite/world_suite.h"

#include <stdlib.h>
#include <string.h>

#include "harness/world/suite/suite_kit.h"
#include "harness/world/world.h"

static void case_identity(struct suite *s)
{
    const struct world *w = s->w;

    EXPECT(s, w->n_ranks >= 1 && w->rank >= 0 && w->rank < w->n_ranks);
    EXPECT(s, w->n_host_ranks >= 1 && w->n_host_ranks <= w->n_ranks);
    EXPECT(s, w->host_rank >= 0 && w->host_rank < w->n_host_ranks);
    EXPECT(s, w->n_own_cores >= 0);
    EXPECT(s, ((w->ops->module.caps & WORLD_VIRTUAL_TIME) != 0) == (w->flops_per_s > 0));
    EXPECT_OK(s, world_check(s->w));
}

/* One clock for all ranks: a time read before a barrier is not later than one read after it. */
static void case_barrier(struct suite *s)
{
    uint64_t before_ns, *all_ns = calloc((size_t)s->w->n_ranks, sizeof *all_ns);

    for (int late = 0; EXPECT(s, all_ns != NULL) && late < s->w->n_ranks; late++) {
        if (s->w->rank == late)
            world_pause(s->w, 3000000);
        before_ns = world_now_ns(s->w);
        EXPECT_OK(s, world_barrier(s->w));
        const uint64_t after_ns = world_now_ns(s->w);
        EXPECT_OK(s, world_allgather(s->w, &before_ns, all_ns, sizeof before_ns));
        for (int r = 0; r < s->w->n_ranks; r++)
            EXPECT(s, all_ns[r] <= after_ns);
    }
    free(all_ns);
}

static unsigned char pattern(int rank, size_t i)
{
    return (unsigned char)(1 + ((size_t)rank * 37 + i * 11 + (i >> 8)) % 251);
}

static void check_gather(struct suite *s, size_t n_bytes, bool to_all)
{
    const size_t n = (size_t)s->w->n_ranks, n_all = n * n_bytes;
    unsigned char *in = malloc(n_bytes + 1), *out = malloc(n_all + 1);
    size_t n_wrong = 0;

    if (EXPECT(s, in && out)) {
        for (size_t i = 0; i < n_bytes; i++)
            in[i] = pattern(s->w->rank, i);
        memset(out, 0, n_all + 1);
        if (to_all)
            EXPECT_OK(s, world_allgather(s->w, in, out, n_bytes));
        else
            EXPECT_OK(s, world_gather(s->w, in, s->w->rank == 0 ? out : NULL, n_bytes));
        memset(in, 0, n_bytes); /* the call has returned: no rank may still read it */
        for (size_t r = 0; r < n && (to_all || s->w->rank == 0); r++)
            for (size_t i = 0; i < n_bytes; i++)
                n_wrong += out[r * n_bytes + i] != pattern((int)r, i);
        EXPECT(s, n_wrong == 0);
        EXPECT(s, out[n_all] == 0);
    }
    free(in);
    free(out);
}

static void case_allgather(struct suite *s)
{
    static const size_t n_bytes[] = { 1, 8, 13, 4096, 100003 };

    for (size_t i = 0; i < sizeof n_bytes / sizeof *n_bytes; i++)
        check_gather(s, n_bytes[i], true);
}

static void case_gather(struct suite *s)
{
    static const size_t n_bytes[] = { 1, 8, 13, 4096, 100003 };

    for (size_t i = 0; i < sizeof n_bytes / sizeof *n_bytes; i++)
        check_gather(s, n_bytes[i], false);
}

/* Rank 0's bytes reach every rank, all of them and nothing behind; rank 0 may change its own at once. */
static void case_broadcast(struct suite *s)
{
    static const size_t n_bytes[] = { 0, 1, 13, 4096, 100003 };

    for (size_t k = 0; k < sizeof n_bytes / sizeof *n_bytes; k++) {
        const size_t n = n_bytes[k];
        unsigned char *bytes = malloc(n + 1);
        size_t n_wrong = 0;

        if (!EXPECT(s, bytes != NULL))
            return;
        for (size_t i = 0; i <= n; i++)
            bytes[i] = i < n ? pattern(s->w->rank + (int)k, i) : 0;
        EXPECT_OK(s, world_broadcast(s->w, bytes, n));
        for (size_t i = 0; i < n; i++)
            n_wrong += bytes[i] != pattern((int)k, i);
        EXPECT(s, n_wrong == 0 && bytes[n] == 0);
        memset(bytes, 0, n);
        free(bytes);
    }
}

/* Every collective works in the part; whole_rank[i]: the rank in the whole world of rank i of the part. */
static void check_part(struct suite *s, struct world *part, int *whole_rank)
{
    int first = part->rank == 0 ? s->w->rank : -1;

    EXPECT_OK(s, world_barrier(part));
    EXPECT_OK(s, world_broadcast(part, &first, sizeof first));
    EXPECT_OK(s, world_allgather(part, &s->w->rank, whole_rank, sizeof *whole_rank));
    EXPECT(s, first == whole_rank[0]);
    EXPECT_OK(s, world_gather(part, &s->w->rank, part->rank == 0 ? whole_rank : NULL, sizeof *whole_rank));
    EXPECT_OK(s, world_check(part));
}

/* Odd and even ranks apart, highest first; then the same again within the part. */
static void case_split_by_key(struct suite *s)
{
    const int n = s->w->n_ranks, color = s->w->rank % 2, n_part = color ? n / 2 : (n + 1) / 2;
    struct world *part = NULL, *sub = NULL;
    int *whole_rank = calloc((size_t)n, sizeof *whole_rank);

    if (!EXPECT(s, whole_rank != NULL) || !EXPECT_OK(s, world_split(s->w, color, -s->w->rank, &part)) ||
        !EXPECT(s, part != NULL))
        goto out;
    EXPECT(s, part->n_ranks == n_part && part->ops == s->w->ops);
    EXPECT(s, part->host_rank < part->n_host_ranks && part->n_host_ranks <= part->n_ranks);
    check_part(s, part, whole_rank);
    for (int r = 0; r < part->n_ranks; r++)
        EXPECT(s, whole_rank[r] % 2 == color && (r == 0 || whole_rank[r] < whole_rank[r - 1]));
    EXPECT(s, whole_rank[part->rank] == s->w->rank);
    /* The part reads the same clock as the whole world. */
    const uint64_t before_ns = world_now_ns(s->w), part_ns = world_now_ns(part), after_ns = world_now_ns(s->w);
    EXPECT(s, before_ns <= part_ns && part_ns <= after_ns);
    if (EXPECT_OK(s, world_split(part, part->rank % 2, 0, &sub)) && EXPECT(s, sub != NULL)) {
        check_part(s, sub, whole_rank);
        for (int r = 1; r < sub->n_ranks; r++)
            EXPECT(s, whole_rank[r] < whole_rank[r - 1]); /* equal keys: by rank in part */
    }
out:
    world_split_close(&sub);
    world_split_close(&part);
    world_split_close(&part); /* twice is once */
    free(whole_rank);
}

/* For k = 1, 2, ...: the first k ranks form a part, the others are in none. A sweep over worker counts does so. */
static void case_split_some(struct suite *s)
{
    int *whole_rank = calloc((size_t)s->w->n_ranks, sizeof *whole_rank);

    for (int k = 1; EXPECT(s, whole_rank != NULL) && k <= s->w->n_ranks; k++) {
        struct world *part = NULL;
        EXPECT_OK(s, world_split(s->w, s->w->rank < k ? 3 : -1, 0, &part));
        EXPECT(s, (part != NULL) == (s->w->rank < k));
        if (part) {
            EXPECT(s, part->n_ranks == k && part->rank == s->w->rank);
            check_part(s, part, whole_rank);
        }
        world_split_close(&part);
        EXPECT_OK(s, world_barrier(s->w));
    }
    free(whole_rank);
}

static void case_clock(struct suite *s)
{
    uint64_t last_ns = world_now_ns(s->w);

    for (int i = 0; i < 1000; i++) {
        const uint64_t now_ns = world_now_ns(s->w);
        EXPECT(s, now_ns >= last_ns);
        last_ns = now_ns;
    }
    world_pause(s->w, 2000000);
    EXPECT(s, world_now_ns(s->w) - last_ns >= 2000000);
    const uint64_t before_ns = world_now_ns(s->w);
    world_pause(s->w, 0);
    world_charge(s->w, 0, 0);
    EXPECT(s, world_now_ns(s->w) >= before_ns);
}

/* Many small collectives in a row: none gets values of the one before or after. */
static void case_many(struct suite *s)
{
    int *all = calloc((size_t)s->w->n_ranks, sizeof *all), n_wrong = 0;

    for (int i = 0; EXPECT(s, all != NULL) && i < 100 && n_wrong == 0; i++) {
        const int mine = i * 1000 + s->w->rank;
        EXPECT_OK(s, world_allgather(s->w, &mine, all, sizeof mine));
        for (int r = 0; r < s->w->n_ranks; r++)
            n_wrong += all[r] != i * 1000 + r;
        if (i % 3 == 0)
            EXPECT_OK(s, world_barrier(s->w));
    }
    EXPECT(s, n_wrong == 0);
    free(all);
}

static const struct suite_case {
    const char *name;
    void (*run)(struct suite *s);
} cases[] = {
    { "identity", case_identity },         { "clock", case_clock },           { "barrier", case_barrier },
    { "allgather", case_allgather },       { "gather", case_gather },         { "broadcast", case_broadcast },
    { "split by key", case_split_by_key }, { "split some", case_split_some }, { "many", case_many },
};

int world_suite(struct world *w, const char **failed_case)
{
    struct suite s = { .w = w };

    if (failed_case)
        *failed_case = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.name = cases[i].name;
        cases[i].run(&s);
        if (suite_failed_anywhere(&s)) {
            if (failed_case)
                *failed_case = s.name;
            break;
        }
    }
    return s.n_failures;
}
