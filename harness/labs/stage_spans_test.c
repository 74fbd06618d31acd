/* SPDX-License-Identifier: Apache-2.0 */
/* stage_spans_test.c - what stages computed, of timelines whose figures are known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"
#include "harness/labs/stage_spans.h"

static enum rc read_text(struct stage_spans *out, const char *text, char *path)
{
    make_text(path, text);
    const enum rc rc = stage_spans_read(out, path);
    (void)unlink(path);
    return rc;
}

#define RANK(pid, text) \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" #pid ",\"tid\":1,\"args\":{\"name\":\"" text "\"}},"
#define THREAD(pid, tid, text) \
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" #pid ",\"tid\":" #tid ",\"args\":{\"name\":\"" text "\"}},"
#define SPAN(pid, tid, what, ts, dur, step, part)                                                        \
    "{\"ph\":\"X\",\"name\":\"" what "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{\"step\":" #step ",\"bucket\":" #part ",\"piece\":0}},"
#define END "{\"ph\":\"M\",\"name\":\"last\",\"pid\":1,\"tid\":1}"
#define TIMELINE(events) "{\"traceEvents\":[" events END "]}"
#define TWO \
    RANK(1, "rank 0, worker, stage 0") THREAD(1, 5, "stage") RANK(2, "rank 1, worker, stage 1") THREAD(2, 3, "stage")

/* Two stages, two micro-batches, GPipe: forward 1 us, backward 2 us, 9 us in all; before it another step, and beside it
 * a span of another thread. The stages of step 1 turn to it, and wait, before the first of them computes. */
static const char gpipe[] = TIMELINE(
    TWO SPAN(1, 1, "compute", 0, 50, 1, 0) SPAN(1, 5, "forward", 0, 7, 0, 0) SPAN(1, 5, "forward", 10, 1, 1, 0)
        SPAN(1, 5, "forward", 11, 1, 1, 1) SPAN(1, 5, "backward", 12, 5, 1, 0) SPAN(1, 5, "wait", 12, 3, 1, 0)
            SPAN(1, 5, "wait", 12, 0.0, 1, 0) SPAN(1, 5, "backward", 17, 2, 1, 1) SPAN(1, 5, "wait", 17, 0, 1, 1)
                SPAN(2, 3, "forward", 7, 5, 1, 0) SPAN(2, 3, "wait", 7, 4, 1, 0) SPAN(2, 3, "forward", 12, 1, 1, 1)
                    SPAN(2, 3, "backward", 13, 2, 1, 0) SPAN(2, 3, "backward", 15, 2, 1, 1));

UNIT_TEST(of_gpipe)
{
    char path[] = "/tmp/stage_spans_test.XXXXXX";
    struct stage_spans s;
    struct stage_step step;

    assert_int_equal(read_text(&s, gpipe, path), RC_OK);
    assert_int_equal(s.n_stages, 2);
    assert_int_equal(s.n, 9);
    assert_int_equal(stage_spans_step(&step, &s, 1), RC_OK);
    assert_int_equal(step.start_ns, 10000);
    assert_int_equal(step.end_ns, 19000);
    assert_float_equal(step.busy_ratio, 12.0 / 18, 1e-12); /* a bubble of (S - 1) / (M + S - 1) */
    assert_int_equal(stage_spans_most_held(&s, 1, 0), 2);
    assert_int_equal(stage_spans_most_held(&s, 1, 1), 2);
    assert_int_equal(stage_spans_most_held(&s, 0, 0), 1);
    assert_int_equal(stage_spans_step(&step, &s, 0), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "stage 1 has computed nothing in step 0"));
    stage_spans_close(&s);
}

/* One stage of a pipeline: a forward in two parts, 1F1B, and a backward that computes activations again while it waits.
 */
static const char again[] = TIMELINE(
    RANK(9, "rank 0, worker, stage 0") THREAD(9, 4, "main") THREAD(9, 5, "stage") SPAN(9, 5, "forward", 0, 3.5, 2, 0)
        SPAN(9, 5, "wait", 1, 0.25, 2, 0) SPAN(9, 5, "backward", 3.5, 6.5, 2, 0) SPAN(9, 5, "wait", 4.5, 3.002, 2, 0)
            SPAN(9, 5, "forward", 10, 2, 2, 1) SPAN(9, 5, "backward", 12, 2, 2, 1));

UNIT_TEST(in_parts)
{
    static const struct stage_span expected[] = { { 0, 2, 0, false, 0, 1000 },      { 0, 2, 0, false, 1250, 3500 },
                                                  { 0, 2, 0, true, 3500, 4500 },    { 0, 2, 0, true, 7502, 10000 },
                                                  { 0, 2, 1, false, 10000, 12000 }, { 0, 2, 1, true, 12000, 14000 } };
    char path[] = "/tmp/stage_spans_test.XXXXXX";
    struct stage_spans s;

    assert_int_equal(read_text(&s, again, path), RC_OK);
    assert_int_equal(s.n, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.span[i].stage, expected[i].stage);
        assert_int_equal(s.span[i].step, expected[i].step);
        assert_int_equal(s.span[i].micro_batch, expected[i].micro_batch);
        assert_int_equal(s.span[i].is_backward, expected[i].is_backward);
        assert_int_equal(s.span[i].start_ns, expected[i].start_ns);
        assert_int_equal(s.span[i].end_ns, expected[i].end_ns);
    }
    assert_int_equal(stage_spans_held(&s, 2, 0, 1100), 1); /* between the two parts of the forward */
    assert_int_equal(stage_spans_held(&s, 2, 0, 6000), 1);
    assert_int_equal(stage_spans_held(&s, 2, 0, 9999), 1);
    assert_int_equal(stage_spans_held(&s, 2, 0, 10000), 1); /* the first is free as the second begins */
    assert_int_equal(stage_spans_held(&s, 2, 0, 14000), 0);
    assert_int_equal(stage_spans_most_held(&s, 2, 0), 1);
    stage_spans_close(&s);
}

UNIT_TEST(refuses)
{
    static const struct {
        const char *text, *message;
    } c[] = { { "", "is no timeline" },
              { "[]", "is no timeline" },
              { "{\"traceEvents\":3}", "is no timeline" },
              { TIMELINE(RANK(1, "rank 0, worker") THREAD(1, 5, "main")), "has no spans of stages" },
              { TIMELINE(TWO), "has no spans of stages" },
              { TIMELINE(RANK(1, "rank 0, worker, stage 0") RANK(2, "rank 1, worker, stage 0")),
                "two ranks are stage 0" },
              { TIMELINE(RANK(1, "rank 0, worker, stage 1") THREAD(1, 5, "stage") SPAN(1, 5, "forward", 0, 1, 0, 0)),
                "has a stage 1, but only 1 of them" },
              { TIMELINE(TWO SPAN(1, 5, "wait", 0, 1, 0, 0)), "stage 0 waits at 0.000 us, in no forward or backward" },
              { TIMELINE(TWO SPAN(1, 5, "forward", 0, 1, 0, 0) SPAN(1, 5, "wait", 0.5, 1, 0, 0)),
                "waits at 0.500 us, in no" },
              { TIMELINE(TWO SPAN(1, 5, "apply", 0, 1, 0, 0)), "event 4 of a stage is no forward, backward or wait" },
              { TIMELINE(TWO SPAN(1, 5, "forward", -1, 1, 0, 0)), "event 4 is no span of a stage" },
              { TIMELINE(TWO SPAN(1, 5, "forward", 0, 1, 0, -1)), "event 4 is no span of a stage" },
              { "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\"}]}", "a name is of no pid and tid" } };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char path[] = "/tmp/stage_spans_test.XXXXXX";
        struct stage_spans s;
        assert_int_equal(read_text(&s, c[i].text, path), RC_MISMATCH);
        if (!strstr(rc_message(), c[i].message) || !strstr(rc_message(), path))
            fail_msg("case %zu: '%s' has no '%s'", i, rc_message(), c[i].message);
        assert_null(s.span);
    }
}

UNIT_MAIN("stage_spans")
