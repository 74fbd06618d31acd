/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.c - the clocks of one chunk of the gradient at one server: how many steps each worker has pushed, which
 * gradients count, and which worker may read; see clocks.h.
 */
#include "ps/clocks.h"

#include <assert.h>
#include <stdlib.h>

enum rc clocks_open(struct clocks *out, const struct consistency *rule, int n_workers)
{
    struct clocks c = { .rule = *rule, .n_workers = n_workers, .n_slowest = n_workers };

    c.clock = calloc((size_t)n_workers, sizeof *c.clock);
    c.is_out = calloc((size_t)n_workers, sizeof *c.is_out);
    if (!c.clock || !c.is_out) {
        clocks_close(&c);
        return rc_raise(RC_NOMEM, "parameter server: no memory for the clocks of %d workers", n_workers);
    }
    *out = c;
    return RC_OK;
}

void clocks_close(struct clocks *c)
{
    free(c->clock);
    free(c->is_out);
    *c = (struct clocks){ 0 };
}

/* A worker that had the slowest clock has another one, or is out. */
static void leave_slowest(struct clocks *c)
{
    if (--c->n_slowest > 0 || c->n_out == c->n_workers)
        return;
    c->slowest = UINT32_MAX;
    for (int w = 0; w < c->n_workers; w++) {
        if (c->is_out[w] || c->clock[w] > c->slowest)
            continue;
        c->n_slowest = c->clock[w] < c->slowest ? 1 : c->n_slowest + 1;
        c->slowest = c->clock[w];
    }
}

/* --- rules: the functions that CONSISTENCY_RULES (exchange/consistency.h) names --- */

static enum push_fate counts_at_once(struct clocks *c, uint32_t step)
{
    (void)c;
    (void)step;
    return PUSH_COUNTS;
}

static enum push_fate counts_in_round(struct clocks *c, uint32_t step)
{
    assert(step <= c->round); /* it could not have read the parameters of a later one */
    if (step < c->round)
        return PUSH_IS_LATE;
    c->n_kept++;
    return PUSH_IS_KEPT;
}

static bool reads_at_once(const struct clocks *c, int w)
{
    (void)c;
    (void)w;
    return true;
}

static bool reads_within_lead(const struct clocks *c, int w)
{
    return (uint64_t)c->clock[w] <= (uint64_t)c->slowest + c->rule.bound_count;
}

static bool reads_in_round(const struct clocks *c, int w)
{
    return c->clock[w] <= c->round;
}

#define FUNCTIONS(KIND, push, may_read, ...) [CONSISTENCY_##KIND] = { push, may_read },
static const struct {
    enum push_fate (*push)(struct clocks *c, uint32_t step); /* of a worker that was at this clock */
    bool (*may_read)(const struct clocks *c, int w);
} rules[] = { CONSISTENCY_RULES(FUNCTIONS) };

/* --- clocks --- */

enum push_fate clocks_push(struct clocks *c, int w)
{
    const uint32_t step = c->clock[w]++;

    assert(!c->is_out[w]);
    if (step == c->slowest)
        leave_slowest(c);
    return rules[c->rule.kind].push(c, step);
}

bool clocks_round_is_full(const struct clocks *c)
{
    const int n_wanted = c->n_workers - (int)consistency_n_dropped(&c->rule), n_there = c->n_workers - c->n_out;

    return c->n_kept > 0 && c->n_kept >= (n_wanted < n_there ? n_wanted : n_there);
}

void clocks_end_round(struct clocks *c)
{
    c->round++;
    c->n_kept = 0;
}

bool clocks_may_read(const struct clocks *c, int w)
{
    return rules[c->rule.kind].may_read(c, w);
}

void clocks_leave(struct clocks *c, int w, bool had_kept)
{
    if (c->is_out[w])
        return;
    c->is_out[w] = true;
    c->n_out++;
    c->n_kept -= had_kept;
    if (c->clock[w] == c->slowest)
        leave_slowest(c);
}

void clocks_keep_out(struct clocks *c, int w)
{
    clocks_leave(c, w, false);
}

uint32_t clocks_join(struct clocks *c, int w)
{
    assert(c->is_out[w] && !consistency_has_rounds(&c->rule));
    c->n_slowest = c->n_out == c->n_workers ? 1 : c->n_slowest + 1;
    c->is_out[w] = false;
    c->n_out--;
    c->clock[w] = c->slowest;
    return c->slowest;
}
