/* SPDX-License-Identifier: Apache-2.0 */
/* peers_suite.c - the cases; the contract is in peers_suite.h. */
#include "harness/world/suite/peers_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 4, N_LINES = 64, LINE_BYTES = 160 };

#define SECOND_NS UINT64_C(1000000000)
#define WARN_NS (2 * SECOND_NS)
#define ABORT_NS (6 * SECOND_NS)
#define STEP_NS (SECOND_NS / 4) /* between two looks: the watch's own interval */

struct scene {
    const struct peers_ops *ops;
    const char *name; /* of the case */
    struct peer_seat *seat;
    struct peer_watch watch;
    uint64_t now_ns;
    int n_lines, n_failures;
    char line[N_LINES][LINE_BYTES];
    char why[RC_MESSAGE_BYTES];
};

static void expect(struct scene *s, bool ok, const char *what, int line)
{
    if (ok)
        return;
    s->n_failures++;
    fprintf(stderr, "peers: %s: failed: %s (line %d; last of %d lines: %s)\n", s->name, what, line, s->n_lines,
            s->n_lines > 0 ? s->line[s->n_lines - 1] : "none");
}
#define EXPECT(s, ok) expect((s), (ok), #ok, __LINE__)

static void keep_line(void *arg, const char *line)
{
    struct scene *s = arg;

    if (s->n_lines < N_LINES)
        snprintf(s->line[s->n_lines++], LINE_BYTES, "%s", line);
}

/* Let time pass, in looks; those ranks tick before each whose bit is set. Returns the rank that was lost, -1: none. */
static int pass(struct scene *s, double seconds, unsigned ticking)
{
    const int n_looks = (int)(seconds / (1e-9 * (double)STEP_NS));
    int lost = -1;

    for (int i = 0; i < n_looks; i++) {
        for (int r = 0; r < N_RANKS; r++)
            if (ticking & 1u << r)
                s->ops->tick(&s->seat[r]);
        s->now_ns += STEP_NS;
        const int now_lost = s->ops->look(&s->watch, s->now_ns, s->why);
        lost = lost < 0 ? now_lost : lost;
    }
    return lost;
}

static int state_of(const struct scene *s, int r)
{
    return atomic_load(&s->seat[r].state);
}

enum { ALL = (1 << N_RANKS) - 1, BUT_2 = ALL & ~(1 << 2) };

static void case_ticking_ranks_are_alive_P2(struct scene *s)
{
    EXPECT(s, pass(s, 20, ALL) == -1);
    EXPECT(s, s->n_lines == 0);
    for (int r = 0; r < N_RANKS; r++)
        EXPECT(s, state_of(s, r) == PEER_ALIVE);
}

static void case_a_silent_rank_is_named_P2(struct scene *s)
{
    s->ops->set_duty(&s->seat[2], &(struct peer_duty){ PHASE_STEP, 7, 3 });
    EXPECT(s, pass(s, 1.75, BUT_2) == -1);
    EXPECT(s, s->n_lines == 0 && state_of(s, 2) == PEER_ALIVE);
    EXPECT(s, pass(s, 0.25, BUT_2) == -1);
    EXPECT(s, s->n_lines == 1 && state_of(s, 2) == PEER_SILENT);
    EXPECT(s, s->n_lines == 1 && strcmp(s->line[0], "rank 2 has been silent for 2.0 s: in step 7, owes bucket 3") == 0);
    EXPECT(s, pass(s, 3.5, BUT_2) == -1);
    EXPECT(s, s->n_lines == 1); /* once */
    for (int r = 0; r < N_RANKS; r++)
        EXPECT(s, state_of(s, r) == (r == 2 ? PEER_SILENT : PEER_ALIVE));
}

static void case_what_it_owes_is_said_P2(struct scene *s)
{
    static const struct {
        struct peer_duty duty;
        const char *text;
    } known[] = { { { PHASE_START, 0, 0 }, "at the start" },
                  { { PHASE_PROBE, 0, -1 }, "in the probe" },
                  { { PHASE_STEP, 12345678901, -1 }, "in step 12345678901" },
                  { { PHASE_PART_FORWARD, 7, 2 }, "in step 7, forward of micro-batch 2 in stage 0" },
                  { { PHASE_PART_BACKWARD, 8, 63 * PEER_MOST_MICRO_BATCHES + (1 << 20) - 1 },
                    "in step 8, backward of micro-batch 1048575 in stage 63" },
                  { { PHASE_SERVE, 0, -1 }, "as a server" },
                  { { PHASE_END, 0, -1 }, "at the end" } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char line[LINE_BYTES];
        s->ops->set_duty(&s->seat[1], &known[i].duty);
        EXPECT(s, pass(s, 2, ALL & ~2u) == -1);
        snprintf(line, sizeof line, "rank 1 has been silent for 2.0 s: %s", known[i].text);
        EXPECT(s, s->n_lines > 0 && strcmp(s->line[s->n_lines - 1], line) == 0);
        EXPECT(s, pass(s, 1, ALL) == -1);
    }
}

static void case_a_rank_comes_back_P2(struct scene *s)
{
    for (int i = 0; i < 3; i++) { /* each silence counts for itself, and is named for itself */
        EXPECT(s, pass(s, 3, BUT_2) == -1);
        EXPECT(s, s->n_lines == 2 * i + 1 && state_of(s, 2) == PEER_SILENT);
        EXPECT(s, pass(s, 0.25, ALL) == -1);
        EXPECT(s, s->n_lines == 2 * i + 2 && state_of(s, 2) == PEER_ALIVE);
        EXPECT(s, strncmp(s->line[2 * i + 1], "rank 2 is back", 14) == 0);
    }
}

static void case_a_silent_rank_is_lost_P3(struct scene *s)
{
    EXPECT(s, pass(s, 5.75, BUT_2) == -1);
    EXPECT(s, !peer_is_lost(&s->seat[2]));
    EXPECT(s, pass(s, 0.25, BUT_2) == 2);
    EXPECT(s, peer_is_lost(&s->seat[2]) && strncmp(s->why, "silent for 6.0 s: ", 18) == 0);
    EXPECT(s, pass(s, 5, BUT_2) == -1); /* once */
    EXPECT(s, pass(s, 5, ALL) == -1);   /* for good */
    EXPECT(s, peer_is_lost(&s->seat[2]) && s->n_lines == 1);
    s->ops->end(&s->seat[2], PEER_LEFT);
    EXPECT(s, peer_is_lost(&s->seat[2]));
}

static void case_several_are_lost_P3(struct scene *s)
{
    bool is_lost[N_RANKS] = { false };

    for (int i = 0; i < 40; i++) {
        const int lost = pass(s, 0.25, 1 << 3);
        if (lost >= 0 && lost < N_RANKS) {
            EXPECT(s, !is_lost[lost]);
            is_lost[lost] = true;
        }
    }
    EXPECT(s, is_lost[0] && is_lost[1] && is_lost[2] && !is_lost[3]);
}

static void case_ranks_leave_P4(struct scene *s)
{
    s->ops->end(&s->seat[1], PEER_LEFT);
    s->ops->end(&s->seat[2], PEER_LOST);
    EXPECT(s, pass(s, 0.25, 1) == 2);
    EXPECT(s, pass(s, 5, ALL & ~6u) == -1);
    EXPECT(s, pass(s, 5, ALL & ~6u) == -1);
    EXPECT(s, s->n_lines == 0 && state_of(s, 1) == PEER_LEFT && state_of(s, 2) == PEER_LOST);
}

/* A whole job that was stopped for an hour: the watcher did not look, and the ranks could not tick. */
static void case_a_stopped_job_is_not_silent_P5(struct scene *s)
{
    EXPECT(s, pass(s, 1, ALL) == -1);
    s->now_ns += 3600 * SECOND_NS;
    EXPECT(s, s->ops->look(&s->watch, s->now_ns, s->why) == -1);
    EXPECT(s, s->n_lines == 0);
    EXPECT(s, pass(s, 1, ALL) == -1);
    EXPECT(s, s->n_lines == 0);
}

static void case_changes_are_told_once_P7(struct scene *s)
{
    struct peers own = { .seat = s->seat, .n_ranks = N_RANKS, .own = 0 };
    struct peer_event e;

    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == -1);
    EXPECT(s, pass(s, 3, BUT_2) == -1);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == 2 && e.state == PEER_SILENT && e.epoch == 0);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == -1);
    EXPECT(s, pass(s, 3, BUT_2 & ~1u) == 2);
    s->ops->end(&s->seat[3], PEER_LEFT);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == 0 && e.state == PEER_SILENT);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == 2 && e.state == PEER_LOST);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == 3 && e.state == PEER_LEFT);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == -1);
    peers_fini(&own);
}

/* The second host of a run: its ranks are 4 to 7. */
static void case_ranks_have_numbers_of_the_run(struct scene *s)
{
    static const int number[N_RANKS] = { 4, 5, 6, 7 };
    struct peers own = { .seat = s->seat, .n_ranks = N_RANKS, .own = 0, .number = number };
    struct peer_event e;

    s->watch.number = number;
    EXPECT(s, pass(s, 3, BUT_2) == -1);
    EXPECT(s, s->n_lines == 1 && strncmp(s->line[0], "rank 6 has been silent", 22) == 0);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == 6 && e.state == PEER_SILENT);
    EXPECT(s, s->ops->next(&own, &e) == RC_OK && e.peer == -1);
    EXPECT(s, pass(s, 0.25, ALL) == -1);
    EXPECT(s, s->n_lines == 2 && strncmp(s->line[1], "rank 6 is back", 14) == 0);
    EXPECT(s, pass(s, 7, BUT_2) == 2); /* its index */
    peers_fini(&own);
}

/* Rank 2 is on another host, and rank 3 is judged elsewhere. */
static void case_far_ranks_are_judged_later_P9(struct scene *s)
{
    static const uint64_t slack_ns[N_RANKS] = { 0, 0, SECOND_NS, PEER_NOT_JUDGED };

    s->watch.slack_ns = slack_ns;
    EXPECT(s, pass(s, 2.75, 3) == -1);
    EXPECT(s, s->n_lines == 0 && state_of(s, 2) == PEER_ALIVE);
    EXPECT(s, pass(s, 0.25, 3) == -1);
    EXPECT(s, s->n_lines == 1 && strcmp(s->line[0], "rank 2 has been silent for 3.0 s: at the start") == 0);
    EXPECT(s, pass(s, 0.25, 7) == -1); /* who has named it says that it is back */
    EXPECT(s, s->n_lines == 2 && strncmp(s->line[1], "rank 2 is back", 14) == 0);
    atomic_store(&s->seat[2].state, PEER_SILENT); /* shown by its own host, which has named it */
    EXPECT(s, pass(s, 0.25, 7) == -1);
    EXPECT(s, s->n_lines == 2 && state_of(s, 2) == PEER_ALIVE);
    EXPECT(s, pass(s, 6.75, 3) == -1);
    EXPECT(s, pass(s, 0.25, 3) == 2 && strncmp(s->why, "silent for 7.0 s: ", 18) == 0);
    EXPECT(s, state_of(s, 3) == PEER_ALIVE);
    peer_show_lost(&s->seat[3], 6500);
    EXPECT(s, pass(s, 0.25, 3) == 3 && strncmp(s->why, "silent for 6.5 s: ", 18) == 0);
    peer_show_lost(&s->seat[1], 0);
    EXPECT(s, pass(s, 0.25, 3) == 1 && strcmp(s->why, "ended before its work was done") == 0);
}

static void case_losses_are_listed_once_P8(struct scene *s)
{
    struct peer_losses *l = NULL;

    EXPECT(s, peer_losses_open(&l, N_RANKS) == RC_OK);
    EXPECT(s, l->n_ranks == N_RANKS && atomic_load(&l->n_lost) == 0);
    for (int r = 0; r < N_RANKS; r++)
        EXPECT(s, !peer_losses_has(l, r));
    EXPECT(s, s->ops->lose(l, 3, "silent for 6.0 s: in step 7"));
    EXPECT(s, atomic_load(&l->n_lost) == 1);
    EXPECT(s, s->ops->lose(l, 1, "ended before its work was done"));
    EXPECT(s, !s->ops->lose(l, 3, "another reason")); /* the first stays */
    EXPECT(s, atomic_load(&l->n_lost) == 2);
    for (int r = 0; r < N_RANKS; r++)
        EXPECT(s, peer_losses_has(l, r) == (r == 1 || r == 3));
    EXPECT(s, strcmp(peer_losses_why(l, 3), "silent for 6.0 s: in step 7") == 0);
    EXPECT(s, strcmp(peer_losses_why(l, 1), "ended before its work was done") == 0);
    peer_losses_close(&l);
    EXPECT(s, l == NULL);
    peer_losses_close(&l);
}

int peers_suite(const struct peers_ops *ops, const char **failed_case)
{
#define CASE(name)         \
    {                      \
#name, case_##name \
    }
    static const struct {
        const char *name;
        void (*run)(struct scene *s);
    } cases[] = { CASE(ticking_ranks_are_alive_P2),
                  CASE(a_silent_rank_is_named_P2),
                  CASE(what_it_owes_is_said_P2),
                  CASE(a_rank_comes_back_P2),
                  CASE(a_silent_rank_is_lost_P3),
                  CASE(several_are_lost_P3),
                  CASE(ranks_leave_P4),
                  CASE(a_stopped_job_is_not_silent_P5),
                  CASE(changes_are_told_once_P7),
                  CASE(ranks_have_numbers_of_the_run),
                  CASE(losses_are_listed_once_P8),
                  CASE(far_ranks_are_judged_later_P9) };
#undef CASE
    const struct peers_ops all = {
        ops->tick ? ops->tick : peer_tick,       ops->set_duty ? ops->set_duty : peer_set_duty,
        ops->end ? ops->end : peer_end,          ops->next ? ops->next : peer_next,
        ops->look ? ops->look : peer_watch_look, ops->lose ? ops->lose : peer_losses_add
    };
    int n_failures = 0;

    for (size_t i = 0; n_failures == 0 && i < sizeof cases / sizeof *cases; i++) {
        struct scene *s = calloc(1, sizeof *s);
        if (!s)
            return 1;
        *s = (struct scene){ .ops = &all, .name = cases[i].name, .seat = peer_seats_alloc(N_RANKS + 1) };
        const struct peer_opts opts = { WARN_NS, ABORT_NS, keep_line, s };
        EXPECT(s, s->seat && peer_watch_open(&s->watch, &opts, s->seat, N_RANKS, s->now_ns) == RC_OK);
        if (s->n_failures == 0)
            cases[i].run(s);
        n_failures = s->n_failures;
        if (n_failures > 0 && failed_case)
            *failed_case = s->name;
        peer_watch_close(&s->watch);
        free(s->seat);
        free(s);
    }
    return n_failures;
}
