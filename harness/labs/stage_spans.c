/* SPDX-License-Identifier: Apache-2.0 */
/* stage_spans.c - what the stages of one pipeline computed, and when; see stage_spans.h. */
#include "harness/labs/stage_spans.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/array.h"

/* The thread of a rank that has its stage's spans. */
struct stage_lane {
    json_int_t pid, tid; /* tid: -1: not yet known */
    int stage;
    bool is_open;             /* there is an action whose end was not yet reached */
    struct stage_span action; /* what is not yet added of it */
};

struct reader {
    struct stage_spans *out;
    const char *path;
    size_t n_room;
    struct stage_lane lane[STAGE_SPANS_MOST_STAGES];
    int n_lanes;
};

static bool is_text(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && strcmp(value, text) == 0;
}

static bool whole_of(json_int_t *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0 && *out < INT32_MAX;
}

/* Microseconds, of which a timeline has three decimals. */
static bool ns_of(uint64_t *out, const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    const double us = json_number_value(value);

    if (!json_is_number(value) || !(us >= 0) || us > 1e15)
        return false;
    *out = (uint64_t)llround(1e3 * us);
    return true;
}

/* --- which thread is of which stage --- */

static struct stage_lane *lane_of(struct reader *r, json_int_t pid)
{
    for (int i = 0; i < r->n_lanes; i++)
        if (r->lane[i].pid == pid)
            return &r->lane[i];
    return NULL;
}

/* "rank 2, worker, stage 1" -> 1; -1: of no stage */
static int stage_of_name(const char *name)
{
    static const char before[] = ", stage ";
    const char *at = name ? strstr(name, before) : NULL;
    char *end;
    const long stage = at ? strtol(at + sizeof before - 1, &end, 10) : -1;

    return at && *end == '\0' && stage >= 0 && stage < STAGE_SPANS_MOST_STAGES ? (int)stage : -1;
}

static enum rc add_lane(struct reader *r, json_int_t pid, int stage)
{
    for (int i = 0; i < r->n_lanes; i++)
        if (r->lane[i].stage == stage)
            return rc_raise(RC_MISMATCH, "%s: two ranks are stage %d, so it is not of one pipeline", r->path, stage);
    r->lane[r->n_lanes++] = (struct stage_lane){ .pid = pid, .tid = -1, .stage = stage };
    return RC_OK;
}

/* Names of ranks come before those of their threads. */
static enum rc take_name(struct reader *r, const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    const int stage = stage_of_name(json_string_value(json_object_get(args, "name")));
    json_int_t pid, tid;

    if (!whole_of(&pid, event, "pid") || !whole_of(&tid, event, "tid"))
        return rc_raise(RC_MISMATCH, "%s: a name is of no pid and tid", r->path);
    if (is_text(event, "name", "process_name") && stage >= 0)
        return add_lane(r, pid, stage);
    if (is_text(event, "name", "thread_name") && is_text(args, "name", "stage") && lane_of(r, pid))
        lane_of(r, pid)->tid = tid;
    return RC_OK;
}

/* --- what a stage did --- */

/* Of the action of a lane, what is before a time, is a span. */
static enum rc add_until(struct reader *r, struct stage_lane *lane, uint64_t end_ns)
{
    struct stage_spans *s = r->out;
    struct stage_span *span;

    if (!lane->is_open || end_ns <= lane->action.start_ns)
        return RC_OK;
    span = array_grow(s->span, s->n, &r->n_room, sizeof *span, "spans of stages");
    if (!span)
        return RC_NOMEM;
    s->span = span;
    s->span[s->n] = lane->action;
    s->span[s->n++].end_ns = end_ns;
    return RC_OK;
}

static enum rc take_wait(struct reader *r, struct stage_lane *lane, const struct stage_span *wait)
{
    enum rc rc;

    if (!lane->is_open || wait->end_ns > lane->action.end_ns)
        FAIL(RC_MISMATCH, "%s: stage %d waits at %.3f us, in no forward or backward", r->path, lane->stage,
             1e-3 * (double)wait->start_ns);
    TRY(add_until(r, lane, wait->start_ns));
    if (wait->end_ns > lane->action.start_ns) /* of two that begin together the longer one comes first */
        lane->action.start_ns = wait->end_ns;
out:
    return rc;
}

static enum rc take_span(struct reader *r, struct stage_lane *lane, const json_t *event, size_t i)
{
    const json_t *args = json_object_get(event, "args");
    struct stage_span s = { .stage = lane->stage, .is_backward = is_text(event, "name", "backward") };
    json_int_t step, micro_batch;
    uint64_t took_ns;
    enum rc rc;

    if (!ns_of(&s.start_ns, event, "ts") || !ns_of(&took_ns, event, "dur") || !whole_of(&step, args, "step") ||
        !whole_of(&micro_batch, args, "bucket"))
        FAIL(RC_MISMATCH, "%s: event %zu is no span of a stage, with ts, dur, step and bucket", r->path, i);
    s.end_ns = s.start_ns + took_ns;
    s.step = (int)step;
    s.micro_batch = (int)micro_batch;
    if (is_text(event, "name", "wait"))
        return take_wait(r, lane, &s);
    if (!s.is_backward && !is_text(event, "name", "forward"))
        FAIL(RC_MISMATCH, "%s: event %zu of a stage is no forward, backward or wait", r->path, i);
    TRY(add_until(r, lane, lane->action.end_ns));
    lane->action = s;
    lane->is_open = true;
out:
    return rc;
}

static enum rc take_spans(struct reader *r, const json_t *events)
{
    enum rc rc = RC_OK;
    json_t *event;
    size_t i;

    json_array_foreach(events, i, event)
    {
        const json_int_t pid = json_integer_value(json_object_get(event, "pid"));
        const json_int_t tid = json_integer_value(json_object_get(event, "tid"));
        struct stage_lane *lane = is_text(event, "ph", "X") ? lane_of(r, pid) : NULL;
        if (lane && lane->tid == tid)
            TRY(take_span(r, lane, event, i));
    }
    for (int k = 0; k < r->n_lanes; k++)
        TRY(add_until(r, &r->lane[k], r->lane[k].action.end_ns));
out:
    return rc;
}

/* Stages are numbered from 0 on, and each has its own rank: none is missing. */
static enum rc check_stages(const struct reader *r)
{
    if (r->n_lanes == 0 || r->out->n == 0)
        return rc_raise(RC_MISMATCH, "%s: has no spans of stages; --timeline of a training with --stages has", r->path);
    for (int i = 0; i < r->n_lanes; i++)
        if (r->lane[i].stage >= r->n_lanes)
            return rc_raise(RC_MISMATCH, "%s: has a stage %d, but only %d of them", r->path, r->lane[i].stage,
                            r->n_lanes);
    return RC_OK;
}

enum rc stage_spans_read(struct stage_spans *out, const char *path)
{
    struct reader r = { .out = out, .path = path };
    json_t *root = NULL, *event;
    const json_t *events;
    FILE *from = NULL;
    json_error_t why;
    enum rc rc;
    size_t i;

    *out = (struct stage_spans){ .span = NULL };
    TRY(file_open_regular(&from, path, "a timeline that --timeline wrote"));
    root = json_loadf(from, 0, &why);
    events = json_object_get(root, "traceEvents");
    if (!json_is_array(events))
        FAIL(RC_MISMATCH, "%s: is no timeline, an object with traceEvents", path);
    json_array_foreach(events, i, event) if (is_text(event, "ph", "M")) TRY(take_name(&r, event));
    TRY(take_spans(&r, events));
    TRY(check_stages(&r));
    out->n_stages = r.n_lanes;
out:
    json_decref(root);
    if (from)
        fclose(from);
    if (rc != RC_OK)
        stage_spans_close(out);
    return rc;
}

void stage_spans_close(struct stage_spans *s)
{
    free(s->span);
    *s = (struct stage_spans){ .span = NULL };
}

/* --- what that comes to --- */

enum rc stage_spans_step(struct stage_step *out, const struct stage_spans *s, int step)
{
    uint64_t busy_ns = 0, of_stage_ns[STAGE_SPANS_MOST_STAGES] = { 0 };
    struct stage_step found = { .start_ns = UINT64_MAX };

    for (size_t i = 0; i < s->n; i++) {
        const struct stage_span *one = &s->span[i];
        if (one->step != step)
            continue;
        of_stage_ns[one->stage] += one->end_ns - one->start_ns;
        busy_ns += one->end_ns - one->start_ns;
        found.start_ns = one->start_ns < found.start_ns ? one->start_ns : found.start_ns;
        found.end_ns = one->end_ns > found.end_ns ? one->end_ns : found.end_ns;
    }
    for (int k = 0; k < s->n_stages; k++)
        if (of_stage_ns[k] == 0)
            return rc_raise(RC_MISMATCH, "stage %d has computed nothing in step %d", k, step);
    found.busy_ratio = (double)busy_ns / ((double)s->n_stages * (double)(found.end_ns - found.start_ns));
    *out = found;
    return RC_OK;
}

static bool is_of(const struct stage_span *one, int step, int stage, bool is_backward)
{
    return one->step == step && one->stage == stage && one->is_backward == is_backward;
}

/* Is spans[i] the first of its forward, or the last of its backward? */
static bool is_at_edge(const struct stage_spans *s, size_t i)
{
    const struct stage_span *one = &s->span[i];

    for (size_t k = 0; k < s->n; k++) {
        const struct stage_span *other = &s->span[k];
        if (is_of(other, one->step, one->stage, one->is_backward) && other->micro_batch == one->micro_batch &&
            (one->is_backward ? other->end_ns > one->end_ns : other->start_ns < one->start_ns))
            return false;
    }
    return true;
}

int stage_spans_held(const struct stage_spans *s, int step, int stage, uint64_t at_ns)
{
    int n_held = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct stage_span *one = &s->span[i];
        if (is_of(one, step, stage, false) && one->start_ns <= at_ns && is_at_edge(s, i))
            n_held++;
        if (is_of(one, step, stage, true) && one->end_ns <= at_ns && is_at_edge(s, i))
            n_held--;
    }
    return n_held;
}

int stage_spans_most_held(const struct stage_spans *s, int step, int stage)
{
    int most = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct stage_span *one = &s->span[i];
        const int n_held = is_of(one, step, stage, false) ? stage_spans_held(s, step, stage, one->start_ns) : 0;
        most = n_held > most ? n_held : most;
    }
    return most;
}
