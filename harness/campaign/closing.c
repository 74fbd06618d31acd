/* SPDX-License-Identifier: Apache-2.0 */
/* closing.c - prints warnings before the first launch; after the last, writes the results and prints them. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/begun.h"
#include "harness/campaign/sim_cost.h"
#include "harness/measure/disturbance.h"
#include "harness/report/table.h"
#include "harness/train/disturbed.h"
#include "harness/world/cores.h"

static void announce_shared_cores(const struct sweep *s, FILE *to)
{
    for (size_t i = 0; i < s->campaign.n_points; i++)
        if (s->campaign.point[i].oversubscribed) {
            terminal_note(
                to, "gradmark compare: warning: points with more than %d threads of workers share cores: marked *",
                cores_allowed_count());
            return;
        }
}

/* Announce which models train fewer steps than by default, because they are slow. */
static void announce_steps(const struct sweep *s, FILE *to)
{
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        if (p->n_steps < p->default_steps && s->train.steps == 0 && !point_value(p, "steps") &&
            (i == 0 || p->workload != p[-1].workload))
            terminal_note(
                to,
                "gradmark compare: %s: %llu steps a run, not %llu, %s --budget-s %g%s; --steps %llu runs them "
                "all",
                p->workload->module.name, (unsigned long long)p->n_steps, (unsigned long long)p->default_steps,
                p->over_budget ? "the minimum: two rounds will not fit in" : "so that two rounds fit in", s->budget_s,
                p->workload->default_target_loss > 0 ? "; the target loss may be missed" : "",
                (unsigned long long)p->default_steps);
    }
}

static void announce_baseline(const struct sweep *s, FILE *to)
{
    const struct point *single = NULL;

    for (size_t i = 0; i < s->campaign.n_points && !single; i++)
        single = campaign_find_baseline(&s->campaign, &s->campaign.point[i]);
    if (s->added_baseline && single)
        terminal_note(
            to,
            "gradmark compare: 1 worker in mode %s is added, because efficiency is relative to it; --no-baseline "
            "leaves it out",
            single->mode->name);
}

void sweep_announce(const struct sweep *s, FILE *to)
{
    announce_baseline(s, to);
    sweep_announce_layouts(s, to);
    announce_shared_cores(s, to);
    sweep_announce_wait(s, cores_allowed_count(), to);
    if (s->useless[0])
        terminal_note(to, "gradmark compare: warning: %s", s->useless);
    announce_steps(s, to);
}

void sweep_warn_if_busy(struct sweep *s, const struct host_load *before, const struct host_load *after, FILE *to)
{
    char others[128];
    int n_used_cores = 1;

    for (size_t i = 0; i < s->campaign.n_points; i++)
        if (point_n_cores(&s->campaign.point[i]) > n_used_cores)
            n_used_cores = (int)point_n_cores(&s->campaign.point[i]);
    const struct disturbance d = disturbance_between(before, after, n_used_cores);
    s->campaign.before = d;
    disturbance_now_text(others, sizeof others, &d, after->n_cores);
    if (disturbance_is_too_much(&d))
        terminal_note(
            to,
            "gradmark compare: warning: %s now. While they do, there will be no verdict: stop them (top shows "
            "them), then start again",
            others);
}

static size_t n_given_up(const struct campaign *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_points; i++)
        n += c->point[i].is_given_up;
    return n;
}

static size_t n_failures(const struct campaign *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_points; i++)
        n += c->point[i].n_failures;
    return n;
}

static size_t n_failed_trials(const struct campaign *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_points; i++)
        n += c->point[i].n_failed_trials;
    return n;
}

static enum rc print_answer(const struct campaign *c, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    enum rc rc;

    TRY(terminal_text_open(&text));
    rc = campaign_answer(c, text.lines);
    const enum rc printed = terminal_text_close(&text, to);
    if (rc == RC_OK)
        rc = printed;
out:
    return rc;
}

static void tell_notes(const struct sweep *s, bool is_complete, FILE *to)
{
    const struct campaign *c = &s->campaign;

    campaign_tell_encryption(c, to);
    campaign_tell_unlearned(c, to);
    campaign_tell_failures(c, to);
    campaign_tell_sessions(c, to);
    if (s->despite[0])
        fprintf(to, "Continued though it was begun under other conditions: %s.\n", s->despite);
    if (is_complete && !c->is_virtual && n_given_up(c) < c->n_points &&
        campaign_most_launches(c) < c->n_launches_wanted)
        fprintf(to, "--budget-s %g was spent after %zu of %zu runs of each setting.\n", s->budget_s,
                campaign_most_launches(c), c->n_launches_wanted);
}

/* Behind an empty line, where there are some. */
static enum rc print_notes(const struct sweep *s, bool is_complete, FILE *to)
{
    char *notes = NULL;
    size_t n_bytes = 0;
    FILE *lines = open_memstream(&notes, &n_bytes);

    if (lines)
        tell_notes(s, is_complete, lines);
    const bool is_told = lines && fclose(lines) == 0;
    if (is_told && notes[0]) {
        fputc('\n', to);
        terminal_wrap(to, notes, terminal_line_columns(to));
    }
    free(notes);
    return is_told ? RC_OK : rc_raise(RC_NOMEM, "no memory for the notes");
}

static enum rc write_results(struct sweep *s, bool is_complete, struct record **options, bool charts, FILE *to)
{
    struct campaign *c = &s->campaign;
    enum rc rc, kept, drawn = RC_OK;
    char why[RC_MESSAGE_BYTES], folder[4 * CAMPAIGN_DIR_BYTES];

    TRY(campaign_commit(c));
    TRY(sweep_write_manifest(s, options, is_complete && n_given_up(c) == 0));
    TRY(print_answer(c, to));
    fputc('\n', to);
    TRY(campaign_print_short(c, table_print, to));
    campaign_print_short_marks(c, to);
    TRY(sweep_tell_tuning(s, to));
    TRY(print_notes(s, is_complete, to));
    kept = campaign_keep_verdicts(c);
    if (charts && kept == RC_OK)
        drawn = campaign_draw(c, to);
    snprintf(why, sizeof why, "%s", rc_message());
    text_shell_word(folder, sizeof folder, c->dir);
    fputc('\n', to);
    terminal_note(to, "All figures and comparisons: gradmark report %s --format text", folder);
    fprintf(to, "results: %s\n", c->dir);
    if (c->is_virtual && c->session > 0)
        terminal_note(stderr, "gradmark compare: of launches made before it was continued the cost is not known");
    if (c->is_virtual)
        TRY(sim_cost_write(stderr, "compare", s->cost_file, &s->cost));
    if (kept != RC_OK || drawn != RC_OK)
        FAIL(kept != RC_OK ? kept : drawn, "%s", why); /* everything else is done */
out:
    return rc;
}

/* There is no launch to show. */
static enum rc finish_without_launches(const struct sweep *s, enum rc launched, const char *why)
{
    const struct campaign *c = &s->campaign;
    char command[CONTINUE_BYTES];

    sweep_continue_command(command, sizeof command, s);
    if (!c->is_kept) /* campaign_close() removes what there is */
        return s->stopped ? rc_raise(RC_PEER, "stopped before the first launch was done; %s is removed", c->dir)
                          : rc_raise(launched, "%s", why);
    if (s->stopped)
        return rc_raise(RC_PEER, "stopped before the first launch was done; to continue: %s", command);
    if (launched != RC_OK)
        return rc_raise(launched, "%.250s; to continue: %s", why, command);
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].is_given_up)
            return rc_raise(RC_PEER, "no launch succeeded: %.250s; to try again: %s", c->point[i].failure, command);
    return rc_raise(RC_BUG, "a campaign of no launches ended");
}

enum rc sweep_finish(struct sweep *s, enum rc launched, struct record **options, bool charts, FILE *to)
{
    const struct campaign *c = &s->campaign;
    char why[RC_MESSAGE_BYTES], command[CONTINUE_BYTES];
    enum rc rc;

    snprintf(why, sizeof why, "%s", rc_message());
    sweep_continue_command(command, sizeof command, s);
    if (c->n_launches_done == 0)
        return finish_without_launches(s, launched, why);
    TRY(write_results(s, launched == RC_OK && !s->stopped, options, charts, to));
    if (launched != RC_OK)
        FAIL(launched, "failed after %zu launches: %.250s; results: %s; to continue: %s", c->n_launches_done, why,
             c->dir, command);
    if (s->stopped)
        FAIL(RC_PEER, "stopped after %zu launches; results: %s; to continue: %s", c->n_launches_done, c->dir, command);
    if (n_given_up(c) > 0)
        FAIL(RC_PEER, "%zu launches failed, and %zu of %zu points %s given up; results: %s; to try again: %s",
             n_failures(c), n_given_up(c), c->n_points, n_given_up(c) == 1 ? "was" : "were", c->dir, command);
    if (n_failures(c) > 0)
        FAIL(RC_PEER, "%zu launch%s failed, and %s repeated; results: %s", n_failures(c),
             n_failures(c) == 1 ? "" : "es", n_failures(c) == 1 ? "was" : "were", c->dir);
    if (n_failed_trials(c) > 0)
        FAIL(RC_PEER, "%zu trial%s of a rate failed; results: %s", n_failed_trials(c),
             n_failed_trials(c) == 1 ? "" : "s", c->dir);
out:
    return rc;
}
