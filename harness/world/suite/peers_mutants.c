/* SPDX-License-Identifier: Apache-2.0 */
/* peers_mutants.c - seats and watches with one bug each, which peers_suite must find. Test-only. */
#include <string.h>

#include "harness/world/suite/peers_suite.h"

static void tick_for_another(struct peer_seat *s)
{
    peer_tick(s + 1);
}

static void tick_never(struct peer_seat *s)
{
    (void)s;
}

static void duty_without_bucket(struct peer_seat *s, const struct peer_duty *duty)
{
    peer_set_duty(s, &(struct peer_duty){ duty->phase, duty->step, -1 });
}

static void duty_in_32_bits(struct peer_seat *s, const struct peer_duty *duty)
{
    peer_set_duty(s, &(struct peer_duty){ duty->phase, (int32_t)duty->step, duty->bucket });
}

static int look_late(struct peer_watch *w, uint64_t now_ns, char *why)
{
    const struct peer_opts real = w->opts;

    w->opts.warn_ns += real.warn_ns / 8;
    const int lost = peer_watch_look(w, now_ns, why);
    w->opts = real;
    return lost;
}

static int look_impatient(struct peer_watch *w, uint64_t now_ns, char *why)
{
    const struct peer_opts real = w->opts;

    w->opts.abort_ns -= real.warn_ns / 8;
    const int lost = peer_watch_look(w, now_ns, why);
    w->opts = real;
    return lost;
}

static int look_at_wrong_rank(struct peer_watch *w, uint64_t now_ns, char *why)
{
    const int lost = peer_watch_look(w, now_ns, why);

    return lost >= 0 ? (lost + 1) % w->n_ranks : lost;
}

static int look_and_name_again(struct peer_watch *w, uint64_t now_ns, char *why)
{
    const int lost = peer_watch_look(w, now_ns, why);

    for (int r = 0; r < w->n_ranks; r++)
        if (atomic_load(&w->seat[r].state) == PEER_SILENT)
            atomic_store(&w->seat[r].state, PEER_ALIVE);
    return lost;
}

/* Who was silent once is lost when it comes back. */
static int look_and_never_forgive(struct peer_watch *w, uint64_t now_ns, char *why)
{
    bool was_silent[8] = { false };

    for (int r = 0; r < w->n_ranks; r++)
        was_silent[r] = atomic_load(&w->seat[r].state) == PEER_SILENT;
    const int lost = peer_watch_look(w, now_ns, why);
    for (int r = 0; r < w->n_ranks; r++)
        if (was_silent[r] && atomic_load(&w->seat[r].state) == PEER_ALIVE)
            atomic_store(&w->seat[r].state, PEER_LOST);
    return lost;
}

static int look_and_forgive_all(struct peer_watch *w, uint64_t now_ns, char *why)
{
    const int lost = peer_watch_look(w, now_ns, why);

    for (int r = 0; r < w->n_ranks && lost < 0; r++)
        if (peer_is_lost(&w->seat[r]))
            atomic_store(&w->seat[r].state, PEER_ALIVE);
    return lost;
}

/* Ranks of other hosts like its own. */
static int look_at_all_alike(struct peer_watch *w, uint64_t now_ns, char *why)
{
    w->slack_ns = NULL;
    return peer_watch_look(w, now_ns, why);
}

/* All ranks that are judged. */
static int look_from_afar(struct peer_watch *w, uint64_t now_ns, char *why)
{
    static const uint64_t far_ns[8] = { 1000000000, 1000000000, 1000000000, 1000000000 };

    if (w->slack_ns)
        w->slack_ns = far_ns;
    return peer_watch_look(w, now_ns, why);
}

/* As if it had looked all the time. */
static int look_back(struct peer_watch *w, uint64_t now_ns, char *why)
{
    int lost = -1;

    while (lost < 0 && w->looked_ns < now_ns) {
        const uint64_t left_ns = now_ns - w->looked_ns, most_ns = peer_watch_interval_ns(w);
        lost = peer_watch_look(w, w->looked_ns + (left_ns < most_ns ? left_ns : most_ns), why);
    }
    return lost;
}

/* A rank that left is watched on. */
static void end_not_told(struct peer_seat *s, enum peer_state state)
{
    if (state == PEER_LOST)
        peer_end(s, state);
}

static void end_in_peace(struct peer_seat *s, enum peer_state state)
{
    (void)state;
    atomic_store(&s->state, PEER_LEFT);
}

static enum rc next_again(struct peers *p, struct peer_event *out)
{
    const enum rc rc = peer_next(p, out);

    if (out->peer >= 0)
        p->told[out->peer] = PEER_ALIVE;
    return rc;
}

static enum rc next_of_others(struct peers *p, struct peer_event *out)
{
    enum rc rc;

    do
        rc = peer_next(p, out);
    while (out->peer == p->own);
    return rc;
}

static bool lose_again(struct peer_losses *l, int rank, const char *why)
{
    if (!peer_losses_add(l, rank, why))
        atomic_fetch_add(&l->n_lost, 1);
    return true;
}

static bool lose_the_next(struct peer_losses *l, int rank, const char *why)
{
    return peer_losses_add(l, (rank + 1) % l->n_ranks, why);
}

static bool lose_without_reason(struct peer_losses *l, int rank, const char *why)
{
    (void)why;
    return peer_losses_add(l, rank, "");
}

static bool lose_uncounted(struct peer_losses *l, int rank, const char *why)
{
    const int n_lost = atomic_load(&l->n_lost);
    const bool is_new = peer_losses_add(l, rank, why);

    atomic_store(&l->n_lost, n_lost > 0 ? n_lost : 1);
    return is_new;
}

const struct peers_mutant *peers_mutants(void)
{
    static const struct peers_mutant mutants[] = {
        { "ticks-for-another", "ticking_ranks_are_alive_P2", .ops.tick = tick_for_another },
        { "never-ticks", "ticking_ranks_are_alive_P2", .ops.tick = tick_never },
        { "owes-no-bucket", "a_silent_rank_is_named_P2", .ops.set_duty = duty_without_bucket },
        { "owes-small-steps", "what_it_owes_is_said_P2", .ops.set_duty = duty_in_32_bits },
        { "late", "a_silent_rank_is_named_P2", .ops.look = look_late },
        { "impatient", "a_silent_rank_is_lost_P3", .ops.look = look_impatient },
        { "wrong-rank", "a_silent_rank_is_lost_P3", .ops.look = look_at_wrong_rank },
        { "names-again", "a_silent_rank_is_named_P2", .ops.look = look_and_name_again },
        { "never-forgives", "what_it_owes_is_said_P2", .ops.look = look_and_never_forgive },
        { "forgives-all", "a_silent_rank_is_lost_P3", .ops.look = look_and_forgive_all },
        { "counts-a-stopped-job", "a_stopped_job_is_not_silent_P5", .ops.look = look_back },
        { "watches-who-left", "ranks_leave_P4", .ops.end = end_not_told },
        { "lost-in-peace", "a_silent_rank_is_lost_P3", .ops.end = end_in_peace },
        { "tells-again", "changes_are_told_once_P7", .ops.next = next_again },
        { "tells-of-others", "changes_are_told_once_P7", .ops.next = next_of_others },
        { "far-as-near", "far_ranks_are_judged_later_P9", .ops.look = look_at_all_alike },
        { "judges-all-from-afar", "far_ranks_are_judged_later_P9", .ops.look = look_from_afar },
        { "loses-again", "losses_are_listed_once_P8", .ops.lose = lose_again },
        { "loses-the-next", "losses_are_listed_once_P8", .ops.lose = lose_the_next },
        { "loses-without-reason", "losses_are_listed_once_P8", .ops.lose = lose_without_reason },
        { "loses-uncounted", "losses_are_listed_once_P8", .ops.lose = lose_uncounted },
        { .name = NULL },
    };

    return mutants;
}
