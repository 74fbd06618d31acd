/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.h - which ranks of a run are alive: each ticks while it works or waits; a watcher reports ranks that become
 * silent, and what they owe.
 *
 * A seat is the state that a rank shows; watchers can read it. A watch is one reader's view of all seats. It has no
 * clock and no thread: its world calls peer_watch_look() with the time.
 *
 * Invariants
 *   P1  The main task of a rank ticks in every call of world.h, task.h, transport.h and compute.h, and in world_tick().
 *       During waits in the first three it ticks every 20 ms. Other tasks never tick for it: a rank whose main task
 *       hangs is silent, even if its other tasks work. A tick reads no clock and sends no message.
 *   P2  A rank that has not ticked for warn_ns is PEER_SILENT: reported once for each silence, with what it owes. It is
 *       PEER_ALIVE again with its next tick.
 *   P3  A rank that has not ticked for abort_ns is PEER_LOST, for good: if it continues, its next check fails.
 *   P4  A rank that has returned from its body is PEER_LEFT; it owes nothing and is never silent. One that ended
 *       otherwise is PEER_LOST at once.
 *   P5  Silence is what a watch has seen. Time in which the watcher itself did not run (a stopped job) does not count,
 *       except for one interval.
 *   P6  In virtual time a rank that computes, pauses or waits is not silent, however long it takes: the engine knows
 *       what each rank does, without messages.
 *   P7  Each rank gets each change of state once, including its own, in the order of ranks. If a rank changes several
 *       times between two calls, only the last change is reported.
 *   P8  With ON_LOSS_REPORT the losses of a run are a list: a rank enters it once, with the reason, and stays. A reader
 *       of the number n of losses can read all n of them.
 *   P9  If ranks are on several hosts, each is judged by watches of that rank's host. A watch of another host judges it
 *       much later, if at all. The host of the rank has reported it by then, and it is not reported twice.
 */
#ifndef HARNESS_WORLD_PEERS_H
#define HARNESS_WORLD_PEERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"

enum peer_state { PEER_ALIVE, PEER_SILENT, PEER_LOST, PEER_LEFT };

/* The effect of the loss of a rank (world.P3, P4) on the other ranks: world.W8. */
enum on_loss {
    ON_LOSS_ABORT,  /* it is a failure of the run */
    ON_LOSS_REPORT, /* the other ranks continue */
};

enum peer_phase {
    PHASE_START,
    PHASE_PROBE,
    PHASE_STEP,
    PHASE_PART_FORWARD,
    PHASE_PART_BACKWARD,
    PHASE_SERVE,
    PHASE_END
};

struct peer_duty { /* what a rank owes to other ranks; for messages */
    enum peer_phase phase;
    int64_t step;   /* of PHASE_STEP, and of the two phases of a pipeline stage */
    int32_t bucket; /* the gradient that it must submit next; -1: no particular one; for a stage: peer_part() */
};

static inline bool peer_is_in_step(enum peer_phase phase)
{
    return phase == PHASE_STEP || phase == PHASE_PART_FORWARD || phase == PHASE_PART_BACKWARD;
}

enum { PEER_MOST_MICRO_BATCHES = 1 << 21 };

/* The micro-batch of PHASE_PART_FORWARD and PHASE_PART_BACKWARD, and the stage, below 64, that works on it. */
static inline int32_t peer_part(int stage, size_t micro_batch)
{
    return stage * PEER_MOST_MICRO_BATCHES + (int32_t)micro_batch;
}

struct peer_seat {                         /* of one rank; a zeroed one is valid */
    _Alignas(64) _Atomic uint64_t n_ticks; /* a cache line that only the rank writes, except its state */
    _Atomic int64_t step;
    _Atomic int32_t bucket;
    _Atomic int phase;          /* enum peer_phase */
    _Atomic int state;          /* enum peer_state */
    _Atomic uint32_t silent_ms; /* length of the silence when it was found silent or lost */
    _Atomic bool has_failed;    /* it ended the run (world_abort); set in mpi with ON_LOSS_REPORT */
    _Atomic int stop_signal;    /* the signal that stops the run (stop.h); 0: not shown to this rank */
    _Atomic int64_t n_begun;    /* steps that it has begun in this run */
    _Atomic int64_t n_last;     /* seat 0: number of steps after which all ranks end (world.Z1); 0: not decided */
};

struct peer_view { /* a copy of a seat at one moment: what hosts send each other */
    uint64_t n_ticks;
    struct peer_duty duty;
    enum peer_state state;
    uint32_t silent_ms;
    bool has_failed;
    int stop_signal;
    int64_t n_begun, n_last;
};

struct peers {              /* of one rank: its own seat, and the seats of all ranks */
    struct peer_seat *seat; /* [n_ranks] of the run; borrowed */
    int n_ranks, own;
    const int *number;     /* [n_ranks]: their numbers in the run; NULL: same as the index */
    unsigned char *told;   /* [n_ranks]: enum peer_state last reported; NULL: PEER_ALIVE for all */
    const int *cell;       /* [n_ranks]: ranks with seats in one memory have equal numbers; seats of others are copies
                              (heartbeat.h); NULL: all in one memory; borrowed */
    bool is_cut_off;       /* some of those copies are not kept up to date */
    _Atomic int stop_rule; /* enum stop_rule (stop.h); read by the watcher, too */
    uint64_t abort_ns;     /* of the run's peer_opts */
};

struct peer_event {
    int peer;       /* rank in the run; -1: no change */
    uint32_t epoch; /* grows each time that a lost rank comes back; always 0 in these worlds, where none does */
    enum peer_state state;
};

struct peer_opts {              /* a zeroed one: no watch */
    uint64_t warn_ns, abort_ns; /* warn_ns <= abort_ns; abort_ns 0: no watch */
    /* Optional (may be NULL): default standard error. Gets a line, without a new line, about a rank that became silent
     * or came back. Called by the only watcher. */
    void (*tell)(void *arg, const char *line);
    void *arg;
};

/* Ticks so far of the rank with this number in the run; 0: no such rank. */
uint64_t peer_n_ticks(const struct peers *p, int number);

/* --- a rank --- */

/* Only the main task calls this. */
static inline void peer_tick(struct peer_seat *s)
{
    /* no atomic addition: only this thread writes */
    atomic_store_explicit(&s->n_ticks, atomic_load_explicit(&s->n_ticks, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void peer_set_duty(struct peer_seat *s, const struct peer_duty *duty);
/* world.P4. state: PEER_LEFT or PEER_LOST. A lost rank stays lost. */
void peer_end(struct peer_seat *s, enum peer_state state);
bool peer_is_lost(const struct peer_seat *s);
/* world.P7; *out is set in every case. RC_NOMEM. */
enum rc peer_next(struct peers *p, struct peer_event *out) MUST_CHECK;
/* What rank `number` of the run owes, or owed when it was lost; false: unknown here. */
bool peer_duty_of(const struct peers *p, int number, struct peer_duty *out);
/* "in step 7, owes bucket 3"; "in step 7, forward of micro-batch 2 in stage 1" */
void peer_duty_text(const struct peer_duty *duty, char *out, size_t n_bytes);
void peers_fini(struct peers *p);
struct peer_view peer_view_of(const struct peer_seat *s);
/* Shows in s a view from elsewhere. PEER_ALIVE ends a silence if takes_alive is true; else a watch ends it, by the
 * ticks. A rank that is lost or has left stays so. */
void peer_show(struct peer_seat *s, const struct peer_view *v, bool takes_alive);
/* Sets PEER_LOST, after a silence of silent_ms; 0: it has ended (world.P4). Not for a rank that has left. */
void peer_show_lost(struct peer_seat *s, uint32_t silent_ms);
/* Zeroed; NULL: no memory. Freed by free(). */
struct peer_seat *peer_seats_alloc(int n_ranks);

/* --- losses (world.P8) --- */

struct peer_loss;

struct peer_losses { /* of a run, as seen by its ranks in this process */
    int n_ranks;
    _Atomic int n_lost;
    struct peer_loss *rank; /* [n_ranks] of the run */
};

/* RC_NOMEM. */
enum rc peer_losses_open(struct peer_losses **out, int n_ranks) MUST_CHECK;
void peer_losses_close(struct peer_losses **l); /* NULL-safe, nulls */
/* Enters the loss of rank `rank` of the run; false: it was lost before, and keeps its reason. Any thread; never
 * waits. */
bool peer_losses_add(struct peer_losses *l, int rank, const char *why);
bool peer_losses_has(const struct peer_losses *l, int rank);
/* The reason for the loss of a rank, such as "silent for 6.0 s: in step 7". */
const char *peer_losses_why(const struct peer_losses *l, int rank);

/* --- a watcher --- */

struct peer_seen;

/* In peer_watch.slack_ns: another watch judges the silence of this rank, and shows it in the seat. */
#define PEER_NOT_JUDGED UINT64_MAX

struct peer_watch {
    struct peer_opts opts;
    struct peer_seat *seat; /* [n_ranks]; borrowed */
    int n_ranks;
    const int *number; /* [n_ranks]: their numbers in the run, for messages; NULL: same as the index */
    /* Optional (may be NULL): default zeros. [n_ranks]: how much longer each may be silent. Its ticks arrive later
     * here, and its own watch must have reported it first. */
    const uint64_t *slack_ns;
    struct peer_seen *seen; /* [n_ranks] */
    uint64_t looked_ns;
};

/* RC_NOMEM. */
enum rc peer_watch_open(struct peer_watch *w, const struct peer_opts *opts, struct peer_seat *seat, int n_ranks,
                        uint64_t now_ns) MUST_CHECK;
void peer_watch_close(struct peer_watch *w); /* accepts a zeroed one */
/* The sleep between two looks: an eighth of warn_ns, 1 ms to 250 ms. */
uint64_t peer_watch_interval_ns(const struct peer_watch *w);
/* Reads all seats: world.P2, P3. Returns the index of a lost rank that was not returned before, and the reason in
 * `why`; -1: none. */
int peer_watch_look(struct peer_watch *w, uint64_t now_ns, char why[RC_MESSAGE_BYTES]);

/* Passes a line to opts->tell. */
void peer_tell(const struct peer_opts *opts, const char *line);
/* "silent for 2.0 s: in step 7, owes bucket 3" */
void peer_silence_text(const struct peer_seat *s, uint64_t silent_ns, char *out, size_t n_bytes);
/* Passes "rank 2 has been silent for ..." to opts->tell. */
void peer_tell_silent(const struct peer_opts *opts, int rank, const struct peer_seat *s, uint64_t silent_ns);

#endif
