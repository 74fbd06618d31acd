/* SPDX-License-Identifier: Apache-2.0 */
/* ring_test.c - into how many messages a ring cuts a vector, by default and as asked. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/opt.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/collective.h"

extern const struct collective_ops collective_ring, collective_hierarchical, collective_shm;

static uint64_t messages(const void *opts, size_t n_bytes, int n_ranks)
{
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = n_bytes / sizeof(float) };
    const struct collective_group all = { .n_ranks = n_ranks };

    return collective_ring.predict(opts, &call, 0, &all).msgs;
}

/* Additions of a long chunk hide behind messages of it; a short one is one message. */
UNIT_TEST(long_chunks_go_in_segments_by_default)
{
    static const struct {
        size_t n_bytes;
        int n_ranks;
        uint64_t n_messages;
    } known[] = {
        { 64 << 20, 4, 2 * 3 * 16 }, /* chunks of 16 MiB in 16 segments */
        { 4 << 20, 4, 2 * 3 },       { (4 << 20) + 16, 4, 2 * 3 * 2 },
        { 1 << 20, 8, 2 * 7 },       { (size_t)1 << 30, 2, 2 * 64 }, /* 64 segments at most */
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(messages(NULL, known[i].n_bytes, known[i].n_ranks), known[i].n_messages);
}

/* What is parsed by default is what NULL means; 0: whole chunks. */
UNIT_TEST(options_say_how_long)
{
    void *opts = calloc(1, collective_ring.module.opts_bytes);
    struct opt_group group = { "ring", collective_ring.module.options, opts, { 0 }, NULL };

    assert_non_null(opts);
    assert_int_equal(opt_parse(&group, 1, NULL, 0, NULL), RC_OK);
    assert_int_equal(messages(opts, 64 << 20, 4), 96);
    *(uint64_t *)opts = 0; /* its one option */
    assert_int_equal(messages(opts, 64 << 20, 4), 6);
    *(uint64_t *)opts = 4 << 20;
    assert_int_equal(messages(opts, 64 << 20, 4), 24);
    free(opts);
}

/* Of hosts of two ranks each, whose first ranks alone are in the ring: as a ring of so many ranks. */
UNIT_TEST(a_ring_of_hosts_has_the_same)
{
    static const int host[] = { 0, 1, 1, 0, 2, 3, 2, 3 };
    const struct collective_group all = { .n_ranks = 8, .host = host };
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = (64 << 20) / sizeof(float) };

    assert_int_equal(collective_hierarchical.predict(NULL, &call, 0, &all).msgs, 96);
    assert_int_equal(collective_hierarchical.predict(NULL, &call, 2, &all).msgs, 0);
}

/* Of shm, which sends nothing: ranks meet before they add, and behind. One rank, or nothing to add: no meeting. */
UNIT_TEST(shared_memory_has_two_meetings)
{
    static const int host[4] = { 0 };
    const struct {
        int n_ranks;
        size_t n_elems;
        double n_meetings;
    } row[] = { { 1, 1000, 0 }, { 2, 0, 0 }, { 2, 1000, 2 }, { 4, 1000, 2 } };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct collective_group group = { .n_ranks = row[i].n_ranks, .host = host };
        const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = row[i].n_elems };
        const struct collective_cost cost = collective_shm.critical_path(NULL, &call, &group);
        assert_true((double)cost.meetings == row[i].n_meetings);
        assert_int_equal(cost.msgs, 0);
    }
}

UNIT_MAIN("ring")
