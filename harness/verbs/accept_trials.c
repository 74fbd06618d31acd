/* SPDX-License-Identifier: Apache-2.0 */
/* accept_trials.c - --self-test of gradmark accept; see accept_trials.h. */
#include "harness/verbs/accept_trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/judge.h"
#include "harness/accept/trials.h"
#include "harness/base/hold.h"
#include "harness/report/progress.h"
#include "harness/verbs/accept_world.h"
#include "harness/verbs/same_options.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

enum { PATH_BYTES = ACCEPT_PATH_BYTES + 64, MAX_WORDS = 64, WORD_BYTES = 1200 };

/* Faults of the self-test: a slow part has 60 % of its healthy speed, a lossy node loses 5 % of its small messages. */
#define FAULT_RATIO 0.6
#define LOSS_RATIO 0.05

/* Most faults at once: one on a small cluster, where two leave no healthy majority to compare with. On a large one,
 * where several parts are slow at a time, it is one for so many nodes. */
enum { NODES_PER_FAULT = 50, MOST_FAULTS = 16 };

struct self_test { /* shared by the ranks of this process */
    const struct verb_call *call;
    const struct accept_opts *opts;
    const struct accept_terms *terms;
    const struct machine *machine;
    struct accept_start start;
    struct trial *trial; /* [n]; planned once the fleet is known */
    struct trial_result *result;
    int n, n_done;
    struct progress progress;
};

static int most_faults(int n_nodes)
{
    const int n = n_nodes / NODES_PER_FAULT;

    return n < 1 ? 1 : n > MOST_FAULTS ? MOST_FAULTS : n;
}

static struct self_test_terms plan_terms(const struct self_test *t, const struct fleet *f)
{
    const bool *runs = t->terms->criteria->runs;

    return (struct self_test_terms){ .n_trials = t->n,
                                     .n_faults = most_faults(f->n_nodes),
                                     .n_nodes = f->n_nodes,
                                     .n_ranks = f->n_ranks,
                                     .node_of_rank = f->node_of_rank,
                                     .seed = t->opts->seed,
                                     .ratio = FAULT_RATIO,
                                     .loss_ratio = LOSS_RATIO,
                                     .may_kill = !(t->machine->world->module.caps & WORLD_LAUNCHED),
                                     .may_flip = runs[ACCEPT_INTEGRITY],
                                     .integrity_steps_count = (uint64_t)t->terms->criteria->integrity_steps_count,
                                     .has_pairs = runs[ACCEPT_PAIRWISE],
                                     .has_compute = runs[ACCEPT_COMPUTE] };
}

/* Of the processes of a launch rank 0's. */
static void tell(struct self_test *t)
{
    char text[64] = "";

    if (!t->machine->is_root)
        return;
    if (t->n_done < t->n)
        snprintf(text, sizeof text, "trial %d of %d", t->n_done + 1, t->n);
    progress_update(&t->progress, (size_t)t->n_done, text, wait_clock_ns());
}

/* What there is so far, to dir/self_test.jsonl. */
static enum rc write_results(const struct self_test *t)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/self_test.jsonl", t->start.folder);
    return self_test_write(t->trial, t->result, t->n_done, path);
}

/* --- in one launch: mpi --- */

/* Rank 0: the trial is over. What ends this process later leaves its record. */
static enum rc keep_trial(struct self_test *t, int i, struct acceptance *a, const struct criteria *criteria)
{
    enum rc rc;

    TRY(judge(a, criteria));
    t->result[i] = self_test_score(&t->trial[i].inject, a);
    t->n_done = i + 1;
    TRY(write_results(t));
    tell(t);
out:
    return rc;
}

static enum rc one_here(struct self_test *t, struct world *w, struct compute *compute, int i)
{
    struct accept_terms terms = *t->terms;
    struct acceptance a = { .n_nodes = 0 };
    enum rc rc;

    t->trial[i].inject.noise_ratio = t->opts->noise_ratio;
    t->trial[i].inject.seed = t->trial[i].seed;
    terms.inject = &t->trial[i].inject;
    terms.seed = t->trial[i].seed;
    terms.progress = NULL;
    terms.keep = NULL;
    TRY(accept_rank(w, compute, machine_n_threads(t->machine, w), &terms, &a));
    if (w->rank == 0)
        TRY(keep_trial(t, i, &a, terms.criteria));
out:
    acceptance_close(&a);
    return rc;
}

/* A rank that is lost, though no fault was to lose one, ends the trials: the others are not without it. */
static enum rc all_here(struct self_test *t, struct world *w, struct compute *compute)
{
    int stopped = 0;
    enum rc rc = RC_OK;

    for (int i = 0; i < t->n && !stopped; i++) {
        TRY(one_here(t, w, compute, i));
        stopped = stop_wanted();
        TRY(world_broadcast(w, &stopped, sizeof stopped));
    }
out:
    return rc == RC_PEER && world_lost_rank(w) >= 0 ? RC_OK : rc;
}

static enum rc body_here(struct world *w, void *arg)
{
    struct self_test *t = arg;
    struct compute *compute = NULL;
    struct fleet fleet = { 0 };
    bool goes_on, is_refused;
    enum rc rc;

    world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    TRY(accept_start_in(w, &t->start, &compute, t->machine, t->opts, t->terms, &goes_on));
    if (!goes_on)
        goto out;
    TRY(fleet_open(&fleet, w, t->terms->node_per_rank));
    const struct self_test_terms terms = plan_terms(t, &fleet);
    TRY(refusal_agree(w, &t->start.refusal, self_test_plan(t->trial, &terms), &is_refused));
    if (!is_refused)
        TRY(all_here(t, w, compute));
out:
    fleet_close(&fleet);
    compute_close(&compute);
    return rc;
}

/* --- each in a process: threads, sim --- */

struct words {
    char text[MAX_WORDS][WORD_BYTES];
    char *argv[MAX_WORDS + 1];
    int n;
};

static char *next_word(struct words *w)
{
    w->argv[w->n] = w->text[w->n];
    w->argv[w->n + 1] = NULL;
    return w->text[w->n++];
}

/* The options that the user gave, but for those of the self-test and where results go. */
static enum rc add_options(struct words *w, const struct opt_group *group)
{
    static const char *const own[] = { "self-test", "out", "inject", "seed" };

    for (int i = 0; group->table[i].type != OPT_END; i++) {
        bool is_own = !opt_is_given(group, i);
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            is_own = is_own || strcmp(group->table[i].name, own[k]) == 0;
        if (is_own)
            continue;
        if (w->n >= MAX_WORDS - 8)
            return rc_raise(RC_INVAL, "--self-test: too many options");
        char value[WORD_BYTES - 64];
        opt_format(&group->table[i], group->into, value, sizeof value);
        snprintf(next_word(w), WORD_BYTES, "--%s=%s", group->table[i].name, value);
    }
    return RC_OK;
}

static enum rc add_words(struct words *w, const struct self_test *t, int i, const char *out)
{
    const struct trial *trial = &t->trial[i];
    enum rc rc = RC_OK;

    TRY(child_self_path(next_word(w), WORD_BYTES));
    snprintf(next_word(w), WORD_BYTES, "accept");
    if (t->call->operand[0])
        snprintf(next_word(w), WORD_BYTES, "%s", t->call->operand[0]);
    for (int g = 0; g < t->call->n_groups; g++)
        TRY(add_options(w, &t->call->group[g]));
    snprintf(next_word(w), WORD_BYTES, "--seed=%llu", (unsigned long long)trial->seed);
    snprintf(next_word(w), WORD_BYTES, "--out=%s", out);
    if (trial->inject.n_faults > 0) {
        char *text = next_word(w);
        snprintf(text, WORD_BYTES, "--inject=");
        for (int k = 0; k < trial->inject.n_faults; k++) {
            const size_t n = strlen(text);
            inject_text(text + n + (k > 0), WORD_BYTES - n - 1, &trial->inject.fault[k]);
            if (k > 0)
                text[n] = ',';
        }
    }
out:
    return rc;
}

/* A trial that fails is one without a result: the others go on. */
static enum rc one_in_child(struct self_test *t, int i)
{
    struct words *w = calloc(1, sizeof *w);
    struct acceptance a = { .n_nodes = 0 };
    char out[PATH_BYTES], complaint[RC_MESSAGE_BYTES / 2], ending[RC_MESSAGE_BYTES / 2 + 64];
    int exit_code = 0;
    enum rc rc;

    if (!w)
        return rc_raise(RC_NOMEM, "no memory for a command line");
    snprintf(out, sizeof out, "%s/trial-%d", t->start.folder, i);
    TRY(add_words(w, t, i, out));
    TRY(child_run(w->argv, 0, stop_wanted, &exit_code, complaint, sizeof complaint));
    if (stop_wanted())
        goto out;
    child_ending(ending, sizeof ending, exit_code, complaint);
    if (!acceptance_is_bundle(out))
        t->result[i] = self_test_failed(&t->trial[i].inject, "it %s", ending);
    else if (acceptance_load(&a, out) == RC_OK)
        t->result[i] = self_test_score(&t->trial[i].inject, &a);
    else
        t->result[i] = self_test_failed(&t->trial[i].inject, "%s", rc_message());
    t->n_done = i + 1;
out:
    acceptance_close(&a);
    free(w);
    return rc;
}

static enum rc run_children(struct self_test *t)
{
    const struct machine *m = t->machine;
    const int n_each = t->terms->node_per_rank || !machine_is_virtual(m) ? 1 : m->cluster.n_ranks_per_host;
    int *node_of_rank = calloc((size_t)m->n_ranks, sizeof *node_of_rank);
    const bool is_one = !t->terms->node_per_rank && !machine_is_virtual(m);
    enum rc rc = RC_OK;

    if (!node_of_rank)
        return rc_raise(RC_NOMEM, "no memory for %d ranks", m->n_ranks);
    TRY(accept_make_folder(t->start.folder, t->opts));
    for (int r = 0; r < m->n_ranks; r++)
        node_of_rank[r] = is_one ? 0 : r / n_each;
    struct fleet fleet = { .n_nodes = node_of_rank[m->n_ranks - 1] + 1,
                           .n_ranks = m->n_ranks,
                           .node_of_rank = node_of_rank };
    const struct self_test_terms terms = plan_terms(t, &fleet);
    TRY(self_test_plan(t->trial, &terms));
    for (int i = 0; i < t->n && !stop_wanted(); i++) {
        tell(t);
        hold_at("trial", 0, (uint64_t)i);
        TRY(one_in_child(t, i));
    }
    tell(t);
out:
    free(node_of_rank);
    return rc;
}

/* --- */

static int exit_code_of(const struct self_test *t)
{
    int n_missed = 0, n_false = 0, n_untested = 0;

    for (int i = 0; i < t->n_done; i++) {
        for (int k = 0; k < FAULT_N_KINDS; k++)
            n_missed += t->result[i].n_faults[k] - t->result[i].n_found[k];
        n_false += t->result[i].n_false;
        n_untested += !t->result[i].could_test;
    }
    if (stop_signal() != 0)
        return VERB_STOPPED + stop_signal();
    return n_untested > 0 || t->n_done < t->n ? COULD_NOT_TEST : n_missed > 0 || n_false > 0 ? 1 : 0;
}

static enum rc finish(struct verb_call *call, const struct self_test *t)
{
    enum rc rc;

    TRY(self_test_print(t->result, t->n_done, stdout));
    TRY(write_results(t));
    if (call->output.json)
        TRY(verb_copy_records(t->start.folder));
    call->exit_code = exit_code_of(t);
out:
    return rc;
}

static enum rc run_trials(struct self_test *t, struct verb_call *call)
{
    const struct machine *m = t->machine;
    const struct world_opts world = accept_world_opts(m, t->opts);
    enum rc rc, ran;

    if (m->is_root)
        progress_init(&t->progress, stderr, (size_t)t->n, wait_clock_ns());
    ran = m->world->module.caps & WORLD_LAUNCHED ? same_options_run(call, m->world, &world, m->n_ranks, body_here, t)
                                                 : run_children(t);
    if (m->is_root)
        progress_fini(&t->progress, wait_clock_ns());
    TRY(accept_start_check(&t->start, ran, call));
    rc = ran;
out:
    return rc;
}

enum rc accept_self_test(struct verb_call *call, const struct accept_terms *terms, const struct machine *machine)
{
    const struct accept_opts *o = call->opts;
    struct self_test t = { .call = call, .opts = o, .terms = terms, .machine = machine, .n = (int)o->self_test };
    enum rc rc;

    t.trial = calloc((size_t)t.n, sizeof *t.trial);
    t.result = calloc((size_t)t.n, sizeof *t.result);
    if (!t.trial || !t.result)
        FAIL(RC_NOMEM, "no memory for %d trials", t.n);
    TRY(run_trials(&t, call));
    if (machine->is_root)
        TRY(finish(call, &t));
out:
    free(t.trial);
    free(t.result);
    return rc;
}
