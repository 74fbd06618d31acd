/* SPDX-License-Identifier: Apache-2.0 */
/* beat_frame_test.c - frames of heartbeats: read whole or refused, and with random bytes changed. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/world/process/beat_frame.h"

enum { N_RANKS = 6 };

/* Ranks 0 and 3 with the hub; 1 and 4 on a second host; 2 and 5 on a third. */
static const int cell[N_RANKS] = { 0, 1, 2, 0, 1, 2 };

/* A frame of rank 1's cell, with rank 4 lost. */
static size_t make_frame(const struct beat_run *run, unsigned char *out)
{
    const struct peer_view alive = { .n_ticks = 3 }, lost = { .state = PEER_LOST, .silent_ms = 1 };

    beat_put_header(out, run, 1, 2);
    beat_put_seat(out + beat_frame_bytes(0), 1, &alive);
    beat_put_seat(out + beat_frame_bytes(1), 4, &lost);
    return beat_frame_bytes(2);
}

UNIT_TEST(frames_are_read_whole_or_refused)
{
    static const struct {
        size_t offset_bytes;
        unsigned char value;
    } wrong[] = {
        { 0, 'X' },                     /* magic */
        { 4, BEAT_VERSION + 1 },        /* version */
        { 23, 1 },                      /* token */
        { 24, N_RANKS + 1 },            /* ranks of the run */
        { 28, 4 },                      /* sender that is not the first of its cell */
        { 28, 2 },                      /* sender of another cell */
        { 28, 0 },                      /* the hub */
        { 28, N_RANKS },                /* no rank */
        { 32, N_RANKS + 1 },            /* too many seats */
        { 36, 2 },                      /* rank of another cell */
        { 36 + 48, 1 },                 /* the same rank again */
        { 36 + 48, N_RANKS },           /* no rank */
        { 36 + 48 + 4, PEER_LEFT + 1 }, /* state */
        { 36 + 48 + 5, PHASE_END + 1 }, /* phase */
        { 36 + 6, 2 },                  /* has_failed */
        { 36 + 7, 65 },                 /* no signal */
    };
    const struct beat_run run = { .token = "sixteen letters", .n_ranks = N_RANKS, .cell = cell };
    unsigned char frame[256];
    struct beat_frame f;
    struct peer_view v;
    const size_t n_bytes = make_frame(&run, frame);

    assert_int_equal(beat_read(&f, &run, false, frame, n_bytes), RC_OK);
    assert_int_equal(f.from, 1);
    assert_int_equal(f.n_seats, 2);
    assert_int_equal(beat_seat(&f, 1, &v), 4);
    assert_int_equal(v.state, PEER_LOST);
    assert_int_equal(v.silent_ms, 1);
    for (size_t n = 0; n < n_bytes; n++)
        assert_int_equal(beat_read(&f, &run, false, frame, n), RC_MISMATCH);
    assert_int_equal(beat_read(&f, &run, false, frame, n_bytes + 1), RC_MISMATCH);
    assert_int_equal(beat_read(&f, &run, true, frame, n_bytes), RC_MISMATCH); /* not from the hub */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        unsigned char other[256];
        memcpy(other, frame, sizeof other);
        other[wrong[i].offset_bytes] = wrong[i].value;
        assert_int_equal(beat_read(&f, &run, false, other, n_bytes), RC_MISMATCH);
    }
}

static uint64_t draw(uint64_t *next, uint64_t below)
{
    return rng_u64(13, RNG_TEST, (*next)++) % below;
}

/* A frame with some bytes changed, in memory of its own length: what is taken has no other ranks than its cell's. */
static void fuzzed_frame(const struct beat_run *run, bool from_hub, uint64_t *next, int *n_taken, int *n_refused)
{
    static const unsigned char value[] = { 0, 1, 2, 4, 5, 6, 127, 128, 255 };
    unsigned char frame[256];
    struct beat_frame f;
    struct peer_view v;
    size_t n_bytes = make_frame(run, frame);

    if (from_hub)
        beat_put_header(frame, run, 0, 2);
    for (uint64_t i = draw(next, 4); i > 0; i--)
        frame[draw(next, n_bytes)] = value[draw(next, sizeof value)];
    if (draw(next, 4) == 0)
        n_bytes = draw(next, n_bytes + 1);
    unsigned char *own = malloc(n_bytes > 0 ? n_bytes : 1);
    assert_non_null(own);
    memcpy(own, frame, n_bytes);
    const enum rc rc = beat_read(&f, run, from_hub, own, n_bytes);
    assert_true(rc == RC_OK || rc == RC_MISMATCH);
    *n_refused += rc != RC_OK;
    *n_taken += rc == RC_OK;
    for (int i = 0, previous = -1; rc == RC_OK && i < f.n_seats; i++) {
        const int r = beat_seat(&f, i, &v);
        assert_in_range(r, previous + 1, N_RANKS - 1);
        assert_true(from_hub ? f.from == 0 : cell[r] == f.from && f.from != 0);
        assert_in_range(v.state, PEER_ALIVE, PEER_LEFT);
        assert_in_range(v.duty.phase, PHASE_START, PHASE_END);
        previous = r;
    }
    free(own);
}

UNIT_TEST(fuzzed_frames)
{
    enum { N_TRIALS = 100000 };
    const struct beat_run run = { .token = "sixteen letters", .n_ranks = N_RANKS, .cell = cell };
    int n_taken = 0, n_refused = 0;
    uint64_t next = 0;

    for (int i = 0; i < N_TRIALS; i++)
        fuzzed_frame(&run, i % 2 != 0, &next, &n_taken, &n_refused);
    assert_true(n_taken > N_TRIALS / 10); /* both occur, or nothing was tried */
    assert_true(n_refused > N_TRIALS / 10);
}

UNIT_MAIN("beat_frame")
