/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - seats and watches; the contract is in peers.h. */
#include "harness/world/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peer_seen { /* what a watch knows of a rank */
    uint64_t n_ticks;
    uint64_t silent_ns; /* since n_ticks was first read */
    bool was_named;     /* as silent, by this watch */
    bool was_returned;  /* as lost */
};

/* --- a rank --- */

void peer_set_duty(struct peer_seat *s, const struct peer_duty *duty)
{
    atomic_store_explicit(&s->phase, duty->phase, memory_order_relaxed);
    atomic_store_explicit(&s->step, duty->step, memory_order_relaxed);
    atomic_store_explicit(&s->bucket, duty->bucket, memory_order_relaxed);
}

/* From one state to another; false: it was in none of `from` any more. */
static bool change(struct peer_seat *s, enum peer_state from, enum peer_state to)
{
    int expected = from;

    return atomic_compare_exchange_strong(&s->state, &expected, to);
}

void peer_end(struct peer_seat *s, enum peer_state state)
{
    int seen = atomic_load(&s->state);

    while ((seen == PEER_ALIVE || seen == PEER_SILENT) && !atomic_compare_exchange_weak(&s->state, &seen, state))
        continue; /* watchers change it between these two meanwhile */
}

bool peer_is_lost(const struct peer_seat *s)
{
    return atomic_load_explicit(&s->state, memory_order_acquire) == PEER_LOST;
}

enum rc peer_next(struct peers *p, struct peer_event *out)
{
    *out = (struct peer_event){ .peer = -1 };
    if (!p->told) {
        p->told = calloc((size_t)p->n_ranks, sizeof *p->told); /* PEER_ALIVE is 0 */
        if (!p->told)
            return rc_raise(RC_NOMEM, "no memory for the states of %d ranks", p->n_ranks);
    }
    for (int r = 0; r < p->n_ranks; r++) {
        const enum peer_state state = (enum peer_state)atomic_load(&p->seat[r].state);
        if (p->told[r] == state)
            continue;
        p->told[r] = (unsigned char)state;
        *out = (struct peer_event){ .peer = p->number ? p->number[r] : r, .state = state };
        break;
    }
    return RC_OK;
}

void peers_fini(struct peers *p)
{
    free(p->told);
    p->told = NULL;
}

struct peer_view peer_view_of(const struct peer_seat *s)
{
    const int state = atomic_load(&s->state);             /* first: the rest says why */
    const int stop_signal = atomic_load(&s->stop_signal); /* before n_begun: stop.c */

    return (
        struct peer_view){ .state = (enum peer_state)state,
                           .has_failed = atomic_load(&s->has_failed),
                           .stop_signal = stop_signal,
                           .n_begun = atomic_load(&s->n_begun),
                           .n_last = atomic_load(&s->n_last),
                           .silent_ms = atomic_load_explicit(&s->silent_ms, memory_order_relaxed),
                           .n_ticks = atomic_load_explicit(&s->n_ticks, memory_order_relaxed),
                           .duty = { .phase = (enum peer_phase)atomic_load_explicit(&s->phase, memory_order_relaxed),
                                     .step = atomic_load_explicit(&s->step, memory_order_relaxed),
                                     .bucket = atomic_load_explicit(&s->bucket, memory_order_relaxed) } };
}

void peer_show(struct peer_seat *s, const struct peer_view *v, bool takes_alive)
{
    atomic_store_explicit(&s->n_ticks, v->n_ticks, memory_order_relaxed);
    peer_set_duty(s, &v->duty);
    if (v->has_failed)
        atomic_store(&s->has_failed, true);
    if (v->stop_signal != 0) { /* last: who reads it reads a number of steps that grows no more */
        atomic_store(&s->n_begun, v->n_begun);
        atomic_store(&s->n_last, v->n_last);
        atomic_store(&s->stop_signal, v->stop_signal);
    }
    if (v->state != PEER_ALIVE)
        atomic_store_explicit(&s->silent_ms, v->silent_ms, memory_order_relaxed);
    if (v->state == PEER_LOST || v->state == PEER_LEFT)
        peer_end(s, v->state);
    else if (v->state == PEER_SILENT)
        (void)change(s, PEER_ALIVE, PEER_SILENT);
    else if (takes_alive)
        (void)change(s, PEER_SILENT, PEER_ALIVE);
}

void peer_show_lost(struct peer_seat *s, uint32_t silent_ms)
{
    if (!peer_is_lost(s))
        atomic_store_explicit(&s->silent_ms, silent_ms, memory_order_relaxed);
    peer_end(s, PEER_LOST);
}

struct peer_seat *peer_seats_alloc(int n_ranks)
{
    const size_t n_bytes = (size_t)n_ranks * sizeof(struct peer_seat);
    struct peer_seat *seat = aligned_alloc(_Alignof(struct peer_seat), n_bytes);

    if (seat)
        memset(seat, 0, n_bytes);
    return seat;
}

/* --- losses --- */

enum loss_state { LOSS_NONE, LOSS_BEING_ENTERED, LOSS_ENTERED };

struct peer_loss {
    _Atomic int state; /* enum loss_state */
    char why[192];
};

enum rc peer_losses_open(struct peer_losses **out, int n_ranks)
{
    struct peer_losses *l = calloc(1, sizeof *l);
    struct peer_loss *rank = calloc((size_t)n_ranks, sizeof *rank);

    *out = NULL;
    if (!l || !rank) {
        free(l);
        free(rank);
        return rc_raise(RC_NOMEM, "no memory for the losses of %d ranks", n_ranks);
    }
    l->n_ranks = n_ranks;
    l->rank = rank;
    *out = l;
    return RC_OK;
}

void peer_losses_close(struct peer_losses **lp)
{
    struct peer_losses *l = *lp;

    *lp = NULL;
    if (l)
        free(l->rank);
    free(l);
}

bool peer_losses_add(struct peer_losses *l, int rank, const char *why)
{
    struct peer_loss *loss = &l->rank[rank];
    int expected = LOSS_NONE;

    if (!atomic_compare_exchange_strong(&loss->state, &expected, LOSS_BEING_ENTERED))
        return false;
    snprintf(loss->why, sizeof loss->why, "%s", why);
    atomic_store(&loss->state, LOSS_ENTERED); /* publishes why */
    atomic_fetch_add(&l->n_lost, 1);          /* and this the loss */
    return true;
}

bool peer_losses_has(const struct peer_losses *l, int rank)
{
    return atomic_load_explicit(&l->rank[rank].state, memory_order_acquire) == LOSS_ENTERED;
}

const char *peer_losses_why(const struct peer_losses *l, int rank)
{
    return l->rank[rank].why;
}

uint64_t peer_n_ticks(const struct peers *p, int number)
{
    for (int i = 0; i < p->n_ranks; i++)
        if ((p->number ? p->number[i] : i) == number)
            return atomic_load_explicit(&p->seat[i].n_ticks, memory_order_relaxed);
    return 0;
}

/* --- what is said of a silent rank --- */

static struct peer_duty duty_at(const struct peer_seat *s)
{
    return (struct peer_duty){ (enum peer_phase)atomic_load_explicit(&s->phase, memory_order_relaxed),
                               atomic_load_explicit(&s->step, memory_order_relaxed),
                               atomic_load_explicit(&s->bucket, memory_order_relaxed) };
}

bool peer_duty_of(const struct peers *p, int number, struct peer_duty *out)
{
    for (int r = 0; r < p->n_ranks; r++)
        if ((p->number ? p->number[r] : r) == number) {
            *out = duty_at(&p->seat[r]);
            return true;
        }
    return false;
}

void peer_duty_text(const struct peer_duty *duty, char *out, size_t n_bytes)
{
    switch (duty->phase) {
    case PHASE_START:
        snprintf(out, n_bytes, "at the start");
        break;
    case PHASE_PROBE:
        snprintf(out, n_bytes, "in the probe");
        break;
    case PHASE_STEP:
        snprintf(out, n_bytes, duty->bucket < 0 ? "in step %lld" : "in step %lld, owes bucket %d",
                 (long long)duty->step, duty->bucket);
        break;
    case PHASE_PART_FORWARD:
    case PHASE_PART_BACKWARD:
        snprintf(out, n_bytes, "in step %lld, %s of micro-batch %d in stage %d", (long long)duty->step,
                 duty->phase == PHASE_PART_FORWARD ? "forward" : "backward", duty->bucket % PEER_MOST_MICRO_BATCHES,
                 duty->bucket / PEER_MOST_MICRO_BATCHES);
        break;
    case PHASE_SERVE:
        snprintf(out, n_bytes, "as a server");
        break;
    default:
        snprintf(out, n_bytes, "at the end");
    }
}

void peer_silence_text(const struct peer_seat *s, uint64_t silent_ns, char *out, size_t n_bytes)
{
    const struct peer_duty owed = duty_at(s);
    char duty[96];

    peer_duty_text(&owed, duty, sizeof duty);
    snprintf(out, n_bytes, "silent for %.1f s: %s", 1e-9 * (double)silent_ns, duty);
}

void peer_tell(const struct peer_opts *opts, const char *line)
{
    char whole[RC_MESSAGE_BYTES];

    if (opts->tell) {
        opts->tell(opts->arg, line);
        return;
    }
    const int n_chars = snprintf(whole, sizeof whole, "gradmark: %s\n", line);
    if (n_chars > 0) /* one write, so that lines of several processes do not mix */
        (void)!write(STDERR_FILENO, whole, (size_t)n_chars < sizeof whole ? (size_t)n_chars : sizeof whole - 1);
}

void peer_tell_silent(const struct peer_opts *opts, int rank, const struct peer_seat *s, uint64_t silent_ns)
{
    char text[128], line[192];

    peer_silence_text(s, silent_ns, text, sizeof text);
    snprintf(line, sizeof line, "rank %d has been %s", rank, text);
    peer_tell(opts, line);
}

static void tell_back(const struct peer_opts *opts, int rank, uint64_t silent_ns)
{
    char line[128];

    snprintf(line, sizeof line, "rank %d is back, silent for %.1f s", rank, 1e-9 * (double)silent_ns);
    peer_tell(opts, line);
}

/* --- a watcher --- */

enum rc peer_watch_open(struct peer_watch *w, const struct peer_opts *opts, struct peer_seat *seat, int n_ranks,
                        uint64_t now_ns)
{
    *w = (struct peer_watch){ .opts = *opts, .seat = seat, .n_ranks = n_ranks, .looked_ns = now_ns };
    w->seen = calloc((size_t)n_ranks, sizeof *w->seen);
    return w->seen ? RC_OK : rc_raise(RC_NOMEM, "no memory to watch %d ranks", n_ranks);
}

void peer_watch_close(struct peer_watch *w)
{
    free(w->seen);
    w->seen = NULL;
}

uint64_t peer_watch_interval_ns(const struct peer_watch *w)
{
    const uint64_t ns = w->opts.warn_ns / 8;

    return ns < 1000000 ? 1000000 : ns > 250000000 ? 250000000 : ns;
}

static int number_of(const struct peer_watch *w, int r)
{
    return w->number ? w->number[r] : r;
}

static uint64_t slack_ns(const struct peer_watch *w, int r)
{
    return w->slack_ns ? w->slack_ns[r] : 0;
}

/* Rank r has ticked since the last look. What a nearer watch has named, that one names again. */
static void see_tick(struct peer_watch *w, int r, uint64_t n_ticks)
{
    struct peer_seen *seen = &w->seen[r];

    if (change(&w->seat[r], PEER_SILENT, PEER_ALIVE) && (slack_ns(w, r) == 0 || seen->was_named))
        tell_back(&w->opts, number_of(w, r), seen->silent_ns);
    seen->n_ticks = n_ticks;
    seen->silent_ns = 0;
    seen->was_named = false;
}

static void show_silence(struct peer_seat *s, uint64_t silent_ns)
{
    atomic_store_explicit(&s->silent_ms, (uint32_t)(silent_ns / 1000000), memory_order_relaxed);
}

/* Rank r, which was in this state, has not ticked for gap_ns more. */
static void see_silence(struct peer_watch *w, int r, int state, uint64_t gap_ns)
{
    struct peer_seat *s = &w->seat[r];
    uint64_t *silent_ns = &w->seen[r].silent_ns;

    *silent_ns += gap_ns;
    if (*silent_ns >= w->opts.warn_ns + slack_ns(w, r) && state == PEER_ALIVE) {
        show_silence(s, *silent_ns); /* before the state, which publishes it */
        w->seen[r].was_named = change(s, PEER_ALIVE, PEER_SILENT);
        if (w->seen[r].was_named)
            peer_tell_silent(&w->opts, number_of(w, r), s, *silent_ns);
    }
    if (*silent_ns >= w->opts.abort_ns + slack_ns(w, r)) {
        show_silence(s, *silent_ns);
        (void)change(s, PEER_SILENT, PEER_LOST);
    }
}

/* In what state rank r is by its ticks. */
static void judge(struct peer_watch *w, int r, uint64_t gap_ns)
{
    /* First: where another watch has seen a tick, and changed the state by it, this one sees the tick too. */
    const int state = atomic_load(&w->seat[r].state);
    const uint64_t n_ticks = atomic_load_explicit(&w->seat[r].n_ticks, memory_order_relaxed);

    if ((state != PEER_ALIVE && state != PEER_SILENT) || slack_ns(w, r) == PEER_NOT_JUDGED)
        return;
    if (n_ticks != w->seen[r].n_ticks)
        see_tick(w, r, n_ticks);
    else
        see_silence(w, r, state, gap_ns);
}

int peer_watch_look(struct peer_watch *w, uint64_t now_ns, char why[RC_MESSAGE_BYTES])
{
    const uint64_t most_ns = 2 * peer_watch_interval_ns(w); /* world.P5 */
    const uint64_t gap_ns = now_ns - w->looked_ns < most_ns ? now_ns - w->looked_ns : most_ns;
    int lost = -1;

    w->looked_ns = now_ns;
    for (int r = 0; r < w->n_ranks; r++) {
        struct peer_seen *seen = &w->seen[r];
        judge(w, r, gap_ns);
        if (lost < 0 && !seen->was_returned && peer_is_lost(&w->seat[r])) {
            const uint32_t silent_ms = atomic_load_explicit(&w->seat[r].silent_ms, memory_order_relaxed);
            seen->was_returned = true;
            lost = r;
            if (silent_ms > 0)
                peer_silence_text(&w->seat[r], UINT64_C(1000000) * silent_ms, why, RC_MESSAGE_BYTES);
            else /* world.P4 */
                snprintf(why, RC_MESSAGE_BYTES, "ended before its work was done");
        }
    }
    return lost;
}
