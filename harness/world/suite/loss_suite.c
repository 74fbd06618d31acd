/* SPDX-License-Identifier: Apache-2.0 */
/* loss_suite.c - the cases; the contract is in loss_suite.h. */
#include "harness/world/suite/loss_suite.h"

#include <stdlib.h>
#include <string.h>

#include "harness/world/share.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/world.h"

#define LIMIT_NS UINT64_C(60000000000) /* of a wait that a loss ends; it only ends a hang */
#define POLL_NS UINT64_C(1000000)

enum { VICTIM = 1 }; /* in the world of the case: not its first rank, not its last */

struct loss_case {
    struct suite base;
    const struct loss_plan *plan;
    int n_awaited; /* await_others() so far */
};

static bool is_victim(const struct loss_case *c)
{
    return c->base.w->rank == VICTIM;
}

static void lose(struct loss_case *c)
{
    world_set_duty(c->base.w, &(struct peer_duty){ PHASE_STEP, 7, -1 });
    if (c->plan->hangs)
        world_hang(c->base.w);
    else
        world_die(c->base.w);
}

bool loss_await_others(struct world *w, int victim, int64_t step)
{
    const struct peer_duty here = { PHASE_STEP, step, -1 };
    uint64_t waited_ns = 0;
    struct peer_duty duty;

    world_set_duty(w, &here);
    for (int r = 0; w->rank == victim && r < w->n_ranks; r++)
        while (!peer_duty_of(w->peers, world_number(w, r), &duty) || duty.step != step) {
            if (waited_ns >= LIMIT_NS || world_check(w) != RC_OK)
                return false;
            world_pause(w, POLL_NS);
            waited_ns += POLL_NS;
        }
    return true;
}

/* Before the victim goes, the others are done with what was before. */
static void await_others(struct loss_case *c)
{
    EXPECT(&c->base, loss_await_others(c->base.w, VICTIM, 100 + c->n_awaited++));
}

/* This operation, just called, was ended by the loss of the case's victim: it names its rank in the run, and why. */
static bool is_told(struct loss_case *c, enum rc rc)
{
    char text[64];

    if (rc != RC_PEER)
        return false;
    snprintf(text, sizeof text, "rank %d was lost: %s", world_number(c->base.w, VICTIM),
             c->plan->hangs ? "silent for " : "ended before its work was done");
    return strncmp(rc_message(), text, strlen(text)) == 0;
}
#define EXPECT_TOLD(c, call) suite_expect(&(c)->base, is_told((c), (call)), #call, __LINE__)

/* The victim goes; the others, in some operation or not, know it. */
static void await_loss(struct loss_case *c)
{
    struct world *w = c->base.w;
    struct peer_event e = { .peer = -1 };
    bool is_told = false; /* of its seat, which may be before it is on the list */

    if (is_victim(c))
        lose(c);
    for (uint64_t waited_ns = 0; !(is_told && world_lost_rank(w) >= 0) && waited_ns < LIMIT_NS; waited_ns += POLL_NS) {
        while (!is_told && EXPECT_OK(&c->base, world_peer_next(w, &e)) && e.peer >= 0)
            is_told = e.peer == world_number(w, VICTIM) && e.state == PEER_LOST && e.epoch == 0;
        world_pause(w, POLL_NS);
    }
    EXPECT(&c->base, is_told);
    EXPECT(&c->base, world_lost_rank(w) == VICTIM);
}

/* What holds on every survivor after its loss: nothing else has ended, and every collective ends. */
static void expect_lost(struct loss_case *c)
{
    struct suite *s = &c->base;
    struct world *w = s->w, *part = NULL;
    struct share *share = NULL;
    int bytes[64] = { 0 }, mine = w->rank, host, n_hosts;

    EXPECT_OK(s, world_check(w));
    EXPECT(s, world_lost_rank(w) == VICTIM);
    for (int r = 0; r < w->n_ranks; r++)
        EXPECT(s, world_is_lost(w, r) == (r == VICTIM));
    EXPECT_TOLD(c, world_check_losses(w));
    EXPECT_TOLD(c, world_barrier(w));
    EXPECT_TOLD(c, world_allgather(w, &mine, bytes, sizeof mine));
    EXPECT_TOLD(c, world_gather(w, &mine, bytes, sizeof mine));
    EXPECT_TOLD(c, world_broadcast(w, bytes, sizeof mine));
    EXPECT_TOLD(c, world_split(w, 0, 0, &part));
    EXPECT_TOLD(c, world_host_group(w, &part, &host, &n_hosts));
    EXPECT(s, part == NULL);
    if (w->n_host_ranks == w->n_ranks)
        EXPECT_TOLD(c, world_share_open(w, 64, &share));
    EXPECT(s, share == NULL);
    EXPECT_OK(s, world_check(w));
}

/* --- operations that are under way when the victim goes --- */

static void case_barrier(struct loss_case *c)
{
    if (is_victim(c))
        lose(c);
    EXPECT_TOLD(c, world_barrier(c->base.w));
}

static void case_allgather(struct loss_case *c)
{
    int all[64], mine = c->base.w->rank;

    if (is_victim(c))
        lose(c);
    EXPECT_TOLD(c, world_allgather(c->base.w, &mine, all, sizeof mine));
}

static void case_gather(struct loss_case *c)
{
    int all[64], mine = c->base.w->rank;

    if (is_victim(c))
        lose(c);
    EXPECT_TOLD(c, world_gather(c->base.w, &mine, all, sizeof mine));
}

static void case_broadcast(struct loss_case *c)
{
    int value = 5;

    if (is_victim(c))
        lose(c);
    EXPECT_TOLD(c, world_broadcast(c->base.w, &value, sizeof value));
}

static void case_split(struct loss_case *c)
{
    struct world *part = NULL;

    if (is_victim(c))
        lose(c);
    EXPECT_TOLD(c, world_split(c->base.w, c->base.w->rank % 2, 0, &part));
    EXPECT(&c->base, part == NULL);
}

static void case_host_group(struct loss_case *c)
{
    struct world *group = NULL;
    int host, n_hosts;

    if (is_victim(c))
        lose(c);
    EXPECT_TOLD(c, world_host_group(c->base.w, &group, &host, &n_hosts));
    EXPECT(&c->base, group == NULL);
}

/* Does this host group have the victim? */
static bool has_victim(const struct loss_case *c, const struct world *group)
{
    for (int r = 0; r < group->n_ranks; r++)
        if (world_number(group, r) == world_number(c->base.w, VICTIM))
            return true;
    return false;
}

static void case_share_open(struct loss_case *c)
{
    struct world *group = NULL;
    struct share *share = NULL;
    int host, n_hosts;

    if (EXPECT_OK(&c->base, world_host_group(c->base.w, &group, &host, &n_hosts))) {
        await_others(c);
        if (is_victim(c))
            lose(c);
        if (has_victim(c, group))
            EXPECT_TOLD(c, world_share_open(group, 1000, &share));
        else /* worlds without it go on */
            EXPECT_OK(&c->base, world_share_open(group, 1000, &share));
    }
    world_share_close(&share);
    world_split_close(&group);
    await_loss(c);
}

/* By the group of the share, and by the world that shares of several hosts belong to. */
static void case_share_wait(struct loss_case *c)
{
    struct world *group = NULL;
    struct share *share = NULL;
    int host, n_hosts;

    if (EXPECT_OK(&c->base, world_host_group(c->base.w, &group, &host, &n_hosts)) &&
        EXPECT_OK(&c->base, world_share_open(group, 0, &share))) {
        if (!has_victim(c, group))
            share->together = c->base.w;
        await_others(c);
        if (is_victim(c))
            lose(c);
        EXPECT_TOLD(c, share_wait(share, share_seen(share), LIMIT_NS));
    }
    world_share_close(&share);
    world_split_close(&group);
}

/* --- what a loss does not end --- */

/* Two parts, of which one has the victim: the other one meets before and after, and gets what its ranks send. */
static void case_other_part(struct loss_case *c)
{
    struct suite *s = &c->base;
    struct world *part = NULL;
    int all[64], mine = s->w->rank;

    if (!EXPECT_OK(s, world_split(s->w, mine <= VICTIM, -mine, &part)))
        return;
    EXPECT_OK(s, world_barrier(part));
    await_others(c);
    if (mine > VICTIM) { /* the victim goes meanwhile, or has gone */
        for (int i = 0; i < 20; i++) {
            EXPECT_OK(s, world_allgather(part, &mine, all, sizeof mine));
            for (int r = 0; r < part->n_ranks; r++)
                EXPECT(s, all[r] == s->w->n_ranks - 1 - r);
        }
    }
    await_loss(c);
    if (mine > VICTIM) {
        EXPECT(s, world_lost_rank(part) == -1);
        EXPECT_OK(s, world_check_losses(part));
        mine += 100;
        EXPECT_OK(s, world_allgather(part, &mine, all, sizeof mine));
        for (int r = 0; r < part->n_ranks; r++)
            EXPECT(s,
                   all[r] == s->w->n_ranks - 1 - r + 100 && world_number(part, r) == world_number(s->w, all[r] - 100));
    } else {
        EXPECT(s, world_lost_rank(part) == 0); /* the higher of two keys comes first */
        EXPECT_TOLD(c, world_barrier(part));
    }
    world_split_close(&part);
}

/* Until this rank is in a wait: no other call ticks so often. False: the run has ended, or nothing comes. */
static bool await_wait(struct loss_case *c, int rank, uint64_t n_before)
{
    enum { N_TICKS = 6 };
    struct world *w = c->base.w;
    uint64_t waited_ns = 0;

    while (world_n_ticks(w, rank) < n_before + N_TICKS && waited_ns < LIMIT_NS && world_check(w) == RC_OK) {
        world_pause(w, POLL_NS);
        waited_ns += POLL_NS;
    }
    return world_n_ticks(w, rank) >= n_before + N_TICKS;
}

/* The victim is lost while the others wait for it in world_survivors(). */
static void case_survivors(struct loss_case *c)
{
    struct world *w = c->base.w;
    const bool is_virtual = w->ops->module.caps & WORLD_VIRTUAL_TIME;

    if (!is_victim(c))
        return;
    if (is_virtual)
        world_pause(w, 100 * POLL_NS);
    for (int r = 0; r < w->n_ranks && !is_virtual; r++)
        if (r != VICTIM && !await_wait(c, r, world_n_ticks(w, r)))
            (void)EXPECT(&c->base, world_check(w) != RC_OK); /* a rank does not come */
    lose(c);
}

/* --- the world of those who are left --- */

/* Where the victim's loss is known by now, or not (case_survivors). */
static struct world *expect_survivors(struct loss_case *c)
{
    struct suite *s = &c->base;
    struct world *w = s->w, *left = NULL;
    int all[64], mine = w->rank, value;

    if (!EXPECT_OK(s, world_survivors(w, &left)))
        return NULL;
    EXPECT(s, world_lost_rank(w) == VICTIM);
    EXPECT(s, left->n_ranks == w->n_ranks - 1);
    EXPECT(s, left->rank == w->rank - (w->rank > VICTIM));
    EXPECT(s, left->on_loss == ON_LOSS_REPORT && world_lost_rank(left) == -1);
    for (int r = 0; r < left->n_ranks; r++)
        EXPECT(s, world_number(left, r) == world_number(w, r + (r >= VICTIM)));
    EXPECT_OK(s, world_barrier(left));
    EXPECT_OK(s, world_allgather(left, &mine, all, sizeof mine));
    for (int r = 0; r < left->n_ranks; r++)
        EXPECT(s, all[r] == r + (r >= VICTIM));
    memset(all, 0, sizeof all);
    EXPECT_OK(s, world_gather(left, &mine, left->rank == 0 ? all : NULL, sizeof mine));
    for (int r = 0; left->rank == 0 && r < left->n_ranks; r++)
        EXPECT(s, all[r] == r + (r >= VICTIM));
    value = left->rank == 0 ? 4711 : 0;
    EXPECT_OK(s, world_broadcast(left, &value, sizeof value));
    EXPECT(s, value == 4711);
    return left;
}

static const struct {
    const char *name;
    void (*run)(struct loss_case *c);
} cases[LOSS_N_CASES] = {
    { "barrier", case_barrier },       { "survivors", case_survivors },   { "other part", case_other_part },
    { "allgather", case_allgather },   { "share_wait", case_share_wait }, { "broadcast", case_broadcast },
    { "split", case_split },           { "gather", case_gather },         { "host_group", case_host_group },
    { "share_open", case_share_open },
};

int loss_suite(struct world *w, const struct loss_plan *plan, const char **failed_case)
{
    struct loss_case c = { .base.w = w, .plan = plan };
    struct world *left = NULL;
    bool goes_on = true;

    if (failed_case)
        *failed_case = NULL;
    for (int i = plan->first_case; goes_on && i < LOSS_N_CASES && c.base.w->n_ranks > 2; i++) {
        c.base.name = cases[i].name;
        await_others(&c);
        cases[i].run(&c);
        if (cases[i].run != case_survivors)
            expect_lost(&c);
        left = expect_survivors(&c);
        goes_on = left && c.base.n_failures == 0;
        if (c.base.n_failures > 0 && failed_case)
            *failed_case = c.base.name;
        if (c.base.w != w)
            world_split_close(&c.base.w);
        c.base.w = left;
    }
    if (left)
        world_split_close(&left);
    return c.base.n_failures;
}
