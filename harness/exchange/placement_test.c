/* SPDX-License-Identifier: Apache-2.0 */
/* placement_test.c - which parameters are on which server (exchange.G1 to G4), the hottest one, and names of the
 * options. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/consistency.h"
#include "harness/exchange/placement.h"

enum { N_SEGMENTS = 6 };

/* 10, 4, 7, 100, 20, 3 elements: 144. */
static const struct segment layout[N_SEGMENTS] = {
    { 0, 10 }, { 10, 4 }, { 14, 7 }, { 21, 100 }, { 121, 20 }, { 141, 3 }
};

static struct placement placed(const char *text, int n_servers)
{
    struct placement_opts opts;
    struct placement p;

    if (placement_parse(&opts, text) != RC_OK || placement_open(&p, &opts, layout, N_SEGMENTS, n_servers) != RC_OK)
        fail_msg("%s", rc_message());
    return p;
}

/* want: begin, elements, begin, elements, ..., 0 elements */
static void check_server(const struct placement *p, int s, const size_t *want)
{
    size_t n_elems = 0;

    for (size_t i = p->first_range[s]; i < p->first_range[s + 1]; i++, want += 2) {
        assert_int_equal(p->range[i].range.offset_elems, want[0]);
        assert_int_equal(p->range[i].range.n_elems, want[1]);
        assert_int_equal(p->range[i].offset_elems, n_elems);
        n_elems += want[1];
    }
    assert_int_equal(want[1], 0);
    assert_int_equal(p->n_elems[s], n_elems);
}

UNIT_TEST(split_is_even_and_cuts_tensors)
{
    static const size_t want[][4] = {
        { 0, 28, 0, 0 }, { 28, 29, 0, 0 }, { 57, 29, 0, 0 }, { 86, 29, 0, 0 }, { 115, 29, 0, 0 }
    };
    struct placement p = placed("split", 5);

    for (int s = 0; s < 5; s++)
        check_server(&p, s, want[s]);
    assert_false(placement_is_scattered(&p));
    assert_int_equal(placement_most_elems(&p), 29);
    placement_close(&p);
}

/* 10 to 0, 4 to 1, 7 to 2, 100 to 1 (4), 20 to 2 (7), 3 to 0 (10). */
UNIT_TEST(whole_tensors_go_to_who_has_least)
{
    static const size_t first[] = { 0, 10, 141, 3, 0, 0 }, second[] = { 10, 4, 21, 100, 0, 0 },
                        third[] = { 14, 7, 121, 20, 0, 0 };
    struct placement p = placed("whole", 3);

    check_server(&p, 0, first);
    check_server(&p, 1, second);
    check_server(&p, 2, third);
    assert_true(placement_is_scattered(&p));
    placement_close(&p);
}

UNIT_TEST(tensors_in_turn)
{
    static const size_t first[] = { 0, 10, 14, 7, 121, 20, 0, 0 }, second[] = { 10, 4, 21, 100, 141, 3, 0, 0 };
    struct placement p = placed("round-robin", 2);

    check_server(&p, 0, first);
    check_server(&p, 1, second);
    placement_close(&p);
}

/* 40 elements each: 40 + 40 + 40 + 24. Neighbours on the only server are one range (exchange.G3). */
UNIT_TEST(chunks_in_turn)
{
    static const size_t first[] = { 0, 40, 80, 40, 0, 0 }, second[] = { 40, 40, 120, 24, 0, 0 },
                        all[] = { 0, 144, 0, 0 };
    struct placement p = placed("chunk:160", 2), alone = placed("chunk:160", 1);

    check_server(&p, 0, first);
    check_server(&p, 1, second);
    check_server(&alone, 0, all);
    assert_false(placement_is_scattered(&alone));
    placement_close(&p);
    placement_close(&alone);
}

UNIT_TEST(the_hottest_server_is_named)
{
    struct placement whole = placed("whole", 3), split = placed("split", 4), one = placed("whole", 1);
    const struct hot_spot hot = placement_hot_spot(&whole, layout, N_SEGMENTS),
                          even = placement_hot_spot(&split, layout, N_SEGMENTS),
                          alone = placement_hot_spot(&one, layout, N_SEGMENTS);

    assert_int_equal(hot.server, 1);
    assert_int_equal(hot.n_elems, 104);
    assert_true(fabs(hot.imbalance_ratio - 104.0 * 3 / 144) < 1e-12);
    assert_int_equal(hot.segment, 3);
    assert_int_equal(hot.n_segment_elems, 100);
    assert_int_equal(even.server, 0); /* the first of equals */
    assert_true(fabs(even.imbalance_ratio - 1) < 1e-12);
    assert_int_equal(even.segment, 3); /* 15 of its 36 elements; tensor 0 has 10 */
    assert_int_equal(even.n_segment_elems, 15);
    assert_int_equal(alone.n_segment_elems, 100);
    placement_close(&whole);
    placement_close(&split);
    placement_close(&one);
}

/* Made-up layouts: up to 9 tensors of up to 30 elements. */
static size_t make_layout(struct segment out[9], uint64_t seed, size_t *n_params)
{
    const size_t n = 1 + rng_u64(1, RNG_TEST, seed) % 9;

    *n_params = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct segment){ *n_params, 1 + rng_u64(2, RNG_TEST, seed * 9 + i) % 30 };
        *n_params += out[i].n_elems;
    }
    return n;
}

/* Each parameter is in one slice (exchange.G1), where gather and scatter find it; any part of them is one range of the
 * slice. */
static void check_copies(const struct placement *p, struct range part)
{
    float all[270], back[270], slice[270];
    size_t n_elems = 0, first;

    for (size_t i = 0; i < p->n_params; i++) {
        all[i] = (float)i;
        back[i] = -1;
    }
    for (int s = 0; s < p->n_servers; s++) {
        const struct range in_slice = placement_part(p, s, part);
        placement_gather(p, s, in_slice, slice, all + part.offset_elems, part.offset_elems);
        for (size_t i = 0; i < in_slice.n_elems; i++) {
            assert_true(i == 0 || slice[i] > slice[i - 1]);
            assert_true(slice[i] >= (float)part.offset_elems && slice[i] < (float)(part.offset_elems + part.n_elems));
        }
        if (in_slice.n_elems > 0) {
            const bool is_range = slice[in_slice.n_elems - 1] - slice[0] == (float)(in_slice.n_elems - 1);
            assert_int_equal(placement_is_range(p, s, in_slice, &first), is_range);
            assert_true(!is_range || (float)first == slice[0]);
        }
        placement_scatter(p, s, in_slice, slice, back);
        n_elems += in_slice.n_elems;
    }
    assert_int_equal(n_elems, part.n_elems);
    for (size_t i = 0; i < p->n_params; i++) {
        const bool is_in = i >= part.offset_elems && i < part.offset_elems + part.n_elems;
        assert_true(back[i] == (is_in ? all[i] : -1.0f));
    }
}

UNIT_TEST(every_parameter_is_on_one_server_G1)
{
    static const char *const kinds[] = { "split", "whole", "round-robin", "chunk:4", "chunk:20", "chunk:100" };
    size_t n_checked = 0;

    for (uint64_t i = 0; i < 3000; i++) {
        struct segment segment[9];
        struct placement_opts opts;
        struct placement p;
        size_t n_params;
        const size_t n = make_layout(segment, i, &n_params);
        const int n_servers = 1 + (int)(rng_u64(3, RNG_TEST, i) % 6);
        assert_int_equal(placement_parse(&opts, kinds[i % 6]), RC_OK);
        if (placement_open(&p, &opts, segment, n, n_servers) != RC_OK)
            continue; /* too few tensors */
        const size_t begin = rng_u64(4, RNG_TEST, i) % (n_params + 1);
        check_copies(&p, (struct range){ 0, n_params });
        check_copies(&p, (struct range){ begin, rng_u64(5, RNG_TEST, i) % (n_params - begin + 1) });
        for (int s = 0; s < n_servers && opts.kind != PLACEMENT_SPLIT; s++)
            assert_true(p.n_elems[s] > 0); /* exchange.G4 */
        placement_close(&p);
        n_checked++;
    }
    assert_true(n_checked > 2000);
}

UNIT_TEST(digests_tell_placements_apart)
{
    static const char *const kinds[] = { "split", "whole", "round-robin", "chunk:8", "chunk:12" };
    uint64_t digest[5];

    for (int i = 0; i < 5; i++) {
        struct placement p = placed(kinds[i], 3), again = placed(kinds[i], 3);
        digest[i] = placement_digest(&p);
        assert_true(digest[i] == placement_digest(&again)); /* exchange.G2 */
        for (int k = 0; k < i; k++)
            assert_true(digest[i] != digest[k]);
        placement_close(&p);
        placement_close(&again);
    }
}

UNIT_TEST(what_cannot_be_is_refused)
{
    static const struct {
        const char *text;
        int n_servers;
        const char *says;
    } bad[] = {
        { "chunk:0", 1,
          "--placement chunk:0: BYTES of chunk:BYTES must be a multiple of 4, a parameter's bytes, such as 4" },
        { "chunk:", 1, "--placement chunk:: BYTES of chunk:BYTES must be" },
        { "chunk:6", 1, "a multiple of 4" },
        { "chunk:-4", 1, "a multiple of 4" },
        { "chunk:4x", 1, "a multiple of 4" },
        { "chunk", 1, "must be split, whole, round-robin or chunk:BYTES" },
        { "", 1, "must be split" },
        { "hole", 1, "did you mean whole?" },
        { "whole", 7, "--servers 7: --placement whole has only 6 tensors to share out" },
        { "round-robin", 8, "--servers 8: --placement round-robin has only 6 tensors" },
        { "chunk:300", 3, "--servers 3: --placement chunk has only 2 chunks to share out" },
    };
    struct placement p = { 0 };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct placement_opts opts;
        enum rc rc = placement_parse(&opts, bad[i].text);
        if (rc == RC_OK)
            rc = placement_open(&p, &opts, layout, N_SEGMENTS, bad[i].n_servers);
        assert_int_equal(rc, RC_INVAL);
        if (!strstr(rc_message(), bad[i].says))
            fail_msg("\"%s\" does not say \"%s\"", rc_message(), bad[i].says);
    }
    const struct segment huge = { 0, (size_t)1 << 40 };
    assert_int_equal(placement_open(&p, &(struct placement_opts){ PLACEMENT_CHUNK, 4 }, &huge, 1, 2), RC_INVAL);
    assert_non_null(strstr(rc_message(), "give at least 1048580 bytes"));
    assert_int_equal(placement_open(&p, &(struct placement_opts){ PLACEMENT_CHUNK, 1048580 }, &huge, 1, 2), RC_OK);
    placement_close(&p);
}

UNIT_TEST(rules_of_consistency_have_names_and_properties)
{
    enum { ROUNDS = 1, WAITS = 2, LEAD = 4, FOR_ALL = 8, IN_STEP = 16 };
    static const struct {
        const char *text;
        enum consistency_kind kind;
        uint32_t bound_count, n_dropped;
        int is;
        const char *back;
    } right[] = { { "async", CONSISTENCY_ASYNC, 0, 0, 0, "async" },
                  { "ssp:0", CONSISTENCY_SSP, 0, 0, WAITS | LEAD | IN_STEP, "ssp:0" },
                  { "ssp:12", CONSISTENCY_SSP, 12, 0, WAITS | LEAD, "ssp:12" },
                  { "sync", CONSISTENCY_SYNC, 0, 0, ROUNDS | WAITS | FOR_ALL | IN_STEP, "sync:0" },
                  { "sync:0", CONSISTENCY_SYNC, 0, 0, ROUNDS | WAITS | FOR_ALL | IN_STEP, "sync:0" },
                  { "sync:3", CONSISTENCY_SYNC, 3, 3, ROUNDS | WAITS | IN_STEP, "sync:3" } };
    static const char *const wrong[][2] = {
        { "ssp:-1", "--consistency ssp:-1: S of ssp:S must be a whole number from 0" },
        { "ssp", "must be async, ssp:S, sync or sync:B" },
        { "ssp:", "S of ssp:S must be" },
        { "sync:x", "B of sync:B must be" },
        { "ssp:1000000001", "to 1000000000" },
        { "asyn", "did you mean async?" },
        { "", "must be async" },
        { "asyncs", "must be async" },
        { "async:1", "must be async" },
    };
    char text[CONSISTENCY_TEXT_BYTES];
    struct consistency c;

    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(consistency_parse(&c, right[i].text), RC_OK);
        assert_true(c.kind == right[i].kind && c.bound_count == right[i].bound_count);
        consistency_text(text, sizeof text, &c);
        assert_string_equal(text, right[i].back);
        assert_int_equal(consistency_n_dropped(&c), right[i].n_dropped);
        assert_int_equal((consistency_has_rounds(&c) ? ROUNDS : 0) | (consistency_may_wait(&c) ? WAITS : 0) |
                             (consistency_bounds_lead(&c) ? LEAD : 0) | (consistency_waits_for_all(&c) ? FOR_ALL : 0) |
                             (consistency_waits_in_step(&c) ? IN_STEP : 0),
                         right[i].is);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(consistency_parse(&c, wrong[i][0]), RC_INVAL);
        if (!strstr(rc_message(), wrong[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", rc_message(), wrong[i][1]);
    }
    c = (struct consistency){ CONSISTENCY_SYNC, 3 };
    assert_int_equal(consistency_check(&c, 4), RC_OK);
    assert_int_equal(consistency_check(&c, 3), RC_INVAL);
    assert_non_null(strstr(rc_message(), "--consistency sync:3: of 3 workers at most 2 can be backup workers"));
    assert_non_null(strstr(rc_message(), "; use --consistency sync:2"));
    assert_int_equal(consistency_check(&c, 1), RC_INVAL);
    assert_non_null(strstr(rc_message(), "; use --consistency sync"));
    c = (struct consistency){ CONSISTENCY_SSP, 3 };
    assert_int_equal(consistency_check(&c, 1), RC_OK);
}

UNIT_MAIN("placement")
