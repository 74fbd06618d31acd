/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rogue_test.c - a worker that breaks the rules of the protocol is told so, and counted; the server and the run go on
 * (P5, P6).
 */
#include "harness/base/suite/unit.h"
#include "harness/world/wait.h"
#include "ps/suite/rogue_kit.h"

static const struct {
    struct rogue rogue;
    const char *says;
    enum refused why;
} unruly[] = {
    { { { .op = PS_PARAMS, .n_elems = 4 }, 16, 1, 1, ASYNC, .compression = NONE },
      "worker 0 sent op",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_PUSH, .n_elems = 4 }, 16, 1, 1, ASYNC, .compression = NONE },
      "chunk 0 with 4 elements; this server holds 3 of it",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .chunk = 1, .n_elems = 3 }, 12, 1, 1, ASYNC, .compression = NONE },
      "chunk 1 with 3 elements; this server holds 1 of it",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .chunk = 2, .n_elems = 1 }, 4, 1, 1, ASYNC, .compression = NONE },
      "pushed chunk 2, but there are 2 chunks",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .chunk = UINT32_MAX, .n_elems = 3 }, 12, 1, 1, ASYNC, .compression = NONE },
      "pushed chunk 4294967295",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .clock = 5 }, 12, 1, 1, ASYNC, .compression = NONE },
      "clock 5",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_PUSH, .n_elems = 3, .step = 2 }, 12, 1, 1, ASYNC, .compression = NONE },
      "chunk 0 of its step 2 where that of step 0 belongs",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_PUSH, .n_elems = 4 }, 12, 1, 1, ASYNC, .compression = NONE }, "carries", REFUSED_TRUNCATED },
    { { { .op = PS_PUSH, .n_elems = 3 }, 16, 1, 1, ASYNC, .compression = NONE }, "carries", REFUSED_OVERSIZED },
    { { { .op = PS_LEAVE }, 4, 1, 1, ASYNC, .compression = NONE }, "carries", REFUSED_OVERSIZED },
    { { { .op = PS_LEAVE }, 0, 1, 1, ASYNC, .compression = NONE, .n_cut_bytes = 1 },
      "shorter than a header",
      REFUSED_TRUNCATED },
    { { { .op = PS_PUSH, .n_elems = 3 }, 12, 1, 1, ASYNC, .compression = NONE, .is_other_layout = true },
      "worker 0 has another model",
      REFUSED_MODEL },
    { { { .op = PS_FETCH }, 0, 1, 1, ASYNC, .compression = NONE, .is_other_layout = true },
      "another model",
      REFUSED_MODEL },
    { { { .op = PS_PUSH, .n_elems = 3, .form = PS_F16 }, 6, 1, 1, ASYNC, .compression = NONE },
      "chunk 0 in form 1, which is not of --compression none",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3 }, 12, 1, 1, ASYNC, .compression = BF16 },
      "chunk 0 in form 0, which is not of --compression bf16",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .form = PS_F16 }, 6, 1, 1, ASYNC, .compression = TOPK },
      "not of --compression topk:0.5",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .form = PS_F16 }, 12, 1, 1, ASYNC, .compression = FP16 },
      "carries 12 bytes",
      REFUSED_OVERSIZED },
    { { { .op = PS_PUSH, .n_elems = 3, .form = PS_PAIRS, .n_pairs = 1 },
        8,
        1,
        1,
        ASYNC,
        .compression = TOPK,
        .first_word = 3 },
      "worker 0 pushed chunk 0: pair 0 of 1 is of element 3 of 3",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .form = PS_PAIRS, .n_pairs = 2 },
        16,
        1,
        1,
        SYNC,
        .compression = TOPK,
        .first_word = 2 },
      "worker 0 pushed chunk 0: pair 1 of 2 is of element 0 of 3, behind one of element 2",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .form = PS_PAIRS, .n_pairs = 4 }, 32, 1, 1, ASYNC, .compression = TOPK },
      "4 pairs of 3 elements",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .form = (enum ps_form)PS_N_FORMS }, 12, 1, 1, ASYNC, .compression = NONE },
      "form 4 is unknown",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3 }, 12, 2, 2, SYNC, .compression = NONE },
      "sent op 1 before its push was answered",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_PUSH, .n_elems = 3 }, 12, 2, 2, SSP_0, .compression = NONE },
      "sent op 1 before its push was answered",
      REFUSED_OUT_OF_ORDER },
    /* batches (leases.h) */
    { { { .op = PS_PUSH, .n_elems = 3, .batch = 1 }, 12, 1, 1, ASYNC, .compression = NONE },
      "worker 0 pushed of a batch, and this run hands out none",
      REFUSED_MALFORMED },
    { { { .op = PS_NEXT }, 0, 1, 1, ASYNC, .compression = NONE },
      "worker 0 asks for a batch, and this server hands out none",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_PUSH, .n_elems = 3 }, 12, 1, 1, ASYNC, .compression = NONE, .n_batches = 5 },
      "worker 0 pushed a gradient of batch -1, but there are 5 batches",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .batch = 6 }, 12, 1, 1, ASYNC, .compression = NONE, .n_batches = 5 },
      "worker 0 pushed a gradient of batch 5, but there are 5 batches",
      REFUSED_MALFORMED },
    { { { .op = PS_PUSH, .n_elems = 3, .batch = 2 }, 12, 1, 1, ASYNC, .compression = NONE, .n_batches = 5 },
      "worker 0 pushed of batch 1, which it has not",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_NEXT }, 0, 1, 1, ASYNC, .compression = NONE, .n_batches = 5 },
      "worker 0 says that batch -1 is done, which it has not",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_NEXT, .clock = 2 }, 0, 1, 1, ASYNC, .compression = NONE, .n_batches = 5 },
      "worker 0 says that batch 1 is done, which it has not",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_FETCH, .clock = 4 }, 0, 1, 1, ASYNC, .compression = NONE, .n_batches = 5 },
      "worker 0 says that batch 3 is done, which it has not",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_NEXT, .clock = 1, .n_elems = 3 }, 12, 1, 1, ASYNC, .compression = NONE, .n_batches = 5 },
      "worker 0 asks for a batch with 3 elements",
      REFUSED_MALFORMED },
};

UNIT_TEST(what_breaks_the_rules_is_refused_and_the_run_goes_on_P5)
{
    for (size_t i = 0; i < sizeof unruly / sizeof *unruly; i++) {
        struct seen seen;
        if (rogue_run(&seen, &unruly[i].rogue) != RC_OK)
            fail_msg("case %zu: %s", i, rc_message());
        assert_int_equal(seen.answer[0].op, PS_REFUSED);
        assert_int_equal(seen.answer[0].why, unruly[i].why);
        assert_int_equal(seen.answer[0].n_elems, 0);
        assert_int_equal(refused_total(seen.facts.refused_count), 1);
        assert_int_equal(seen.facts.refused_count[unruly[i].why], 1);
        assert_int_equal(seen.n_lines, 1);
        if (!strstr(seen.line, unruly[i].says) || !strstr(seen.line, refused_word(unruly[i].why)))
            fail_msg("\"%s\" does not say \"%s\"", seen.line, unruly[i].says);
        rogue_expect_params(&seen, 1, 2, 3, 4);
    }
}

/* A step that was pushed before, and served: the second time it changes nothing. */
UNIT_TEST(a_replayed_step_is_not_applied_again_P3)
{
    const float one = 1;
    struct rogue rogue = { { .op = PS_PUSH, .n_elems = 3, .lr = 1 }, 12, 3, 1, ASYNC, .compression = NONE };
    struct seen seen;

    memcpy(&rogue.first_word, &one, sizeof one);
    const uint64_t started_ns = wait_clock_ns();
    assert_int_equal(rogue_run(&seen, &rogue), RC_OK);
    const uint64_t most_lines = 1 + (wait_clock_ns() - started_ns) / 1000000000; /* one a second */
    assert_int_equal(seen.answer[0].op, PS_PARAMS);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(seen.answer[i].op, PS_REFUSED);
        assert_int_equal(seen.answer[i].why, REFUSED_REPLAYED);
    }
    assert_int_equal(seen.facts.refused_count[REFUSED_REPLAYED], 2);
    assert_in_range(seen.n_lines, 1, most_lines);
    rogue_expect_params(&seen, 1, 1, 3, 4);
}

/* Whoever goes on and on is dropped: worker 0 cannot be. */
UNIT_TEST(endless_nonsense_ends_with_its_sender_P5)
{
    struct rogue rogue = { { .op = PS_STATE }, 0, PS_MOST_REFUSED - 1, 1, ASYNC, .compression = NONE };
    struct seen seen;

    assert_int_equal(rogue_run(&seen, &rogue), RC_OK);
    assert_int_equal(seen.facts.refused_count[REFUSED_OUT_OF_ORDER], PS_MOST_REFUSED - 1);
    rogue.n_sends++;
    assert_int_equal(rogue_run(&seen, &rogue), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "worker 0 sent what is no message of the run"));
}

UNIT_TEST(a_gradient_that_is_not_finite_is_a_step_without_one_P6)
{
    static const struct {
        uint32_t first_word;
        enum ps_form form;
        uint32_t n_pairs;
        size_t n_bytes;
        struct consistency rule;
        struct compression compression;
        int n_workers;
    } bad[] = {
        { 0x7fc00000, PS_FLOATS, 0, 12, ASYNC, NONE, 1 }, /* NaN */
        { 0x7f800000, PS_FLOATS, 0, 12, ASYNC, NONE, 1 }, /* infinity */
        { 0xff800001, PS_FLOATS, 0, 12, SSP_0, NONE, 1 }, /* another NaN */
        { 0x7fc00000, PS_FLOATS, 0, 12, SYNC, NONE, 1 },  { 0x7fc00000, PS_FLOATS, 0, 12, SYNC, NONE, 2 },
        { 0x00007c00, PS_F16, 0, 6, ASYNC, FP16, 1 },     { 0xffff0000, PS_BF16, 0, 6, ASYNC, BF16, 1 },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct rogue rogue = { { .op = PS_PUSH, .n_elems = 3, .lr = 1, .form = bad[i].form },
                                     bad[i].n_bytes,
                                     bad[i].n_workers, /* of two the second one waits, as does its answer */
                                     bad[i].n_workers,
                                     bad[i].rule,
                                     .compression = bad[i].compression,
                                     .first_word = bad[i].first_word };
        const int last = bad[i].n_workers - 1;
        struct seen seen;
        if (rogue_run(&seen, &rogue) != RC_OK)
            fail_msg("case %zu: %s", i, rc_message());
        assert_int_equal(seen.answer[last].op, PS_REFUSED);
        assert_int_equal(seen.answer[last].why, REFUSED_NOT_FINITE);
        assert_int_equal(seen.answer[last].n_elems, 3);
        assert_int_equal(seen.facts.refused_count[REFUSED_NOT_FINITE], 1);
        assert_int_equal(seen.facts.pushes_count[0], 0);
        assert_non_null(strstr(seen.line, "not finite, in its step 0"));
        rogue_expect_params(&seen, 1, 2, 3, 4);
    }
}

/* The mean of a round is that of the gradients that are. */
UNIT_TEST(a_round_goes_on_without_what_is_not_finite_P6)
{
    const struct rogue rogue = { .header = { .op = PS_PUSH, .n_elems = 3, .lr = 1 },
                                 .n_payload_bytes = 12,
                                 .n_sends = 1,
                                 .n_workers = 3,
                                 .rule = SYNC,
                                 .first_word = 0x7fc00000,
                                 .others_push = true };
    struct seen seen;

    assert_int_equal(rogue_run(&seen, &rogue), RC_OK);
    assert_int_equal(seen.answer[0].op, PS_REFUSED);
    assert_int_equal(seen.facts.refused_count[REFUSED_NOT_FINITE], 1);
    assert_int_equal(seen.facts.pushes_count[0], 2);
    rogue_expect_params(&seen, 1, 1, 2, 3);
}

/* The largest number is one. */
UNIT_TEST(large_gradients_are_taken_P6)
{
    const struct rogue rogue = {
        { .op = PS_PUSH, .n_elems = 3, .lr = 0 }, 12, 1, 1, ASYNC, .compression = NONE, .first_word = 0x7f7fffff
    };
    struct seen seen;

    assert_int_equal(rogue_run(&seen, &rogue), RC_OK);
    assert_int_equal(seen.answer[0].op, PS_PARAMS);
    assert_int_equal(refused_total(seen.facts.refused_count), 0);
    assert_int_equal(seen.n_lines, 0);
}

UNIT_MAIN("rogue")
