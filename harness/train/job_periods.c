/* SPDX-License-Identifier: Apache-2.0 */
/* job_periods.c - see job_periods.h. */
#include "harness/train/job_periods.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/train/elastic.h"

static uint64_t at_least_1(uint64_t every)
{
    return every > 1 ? every : 1;
}

/* NULL: it means something. */
static const char *why_no_periods(const struct train_job *job)
{
    if (job->exchange.consistency.kind != CONSISTENCY_ASYNC)
        return "counts a push and a pull in every step; needs --consistency async";
    return NULL;
}

static enum rc check_periods(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const uint64_t every[] = { at_least_1(o->push_every), at_least_1(o->pull_every) };
    static const char *const name[] = { "push-every", "pull-every" };
    char fitting[48];

    for (int i = 0; i < 2; i++) {
        const unsigned long long n = every[i];
        if (n == 1)
            continue;
        if (why_no_periods(job))
            return rc_raise(RC_INVAL, "--%s %llu: --consistency %s %s", name[i], n, o->consistency,
                            why_no_periods(job));
        text_near_multiples(fitting, sizeof fitting, o->save_every, n);
        if (o->save_every % n != 0)
            return rc_raise(RC_INVAL,
                            "--save-every %llu: is no multiple of --%s %llu; in between workers hold what no "
                            "checkpoint has; %s would be right",
                            (unsigned long long)o->save_every, name[i], n, fitting);
        if (o->save[0] && o->stop_at_step == 0 && o->steps % n != 0)
            return rc_raise(RC_INVAL,
                            "--steps %llu: is no multiple of --%s %llu, so that no run can go on from what --save "
                            "writes as if it had not ended; %llu would be right",
                            (unsigned long long)o->steps, name[i], n,
                            (unsigned long long)(o->steps + n - o->steps % n));
    }
    return RC_OK;
}

/* NULL: it means something. */
static const char *why_no_stop(const struct train_job *job, bool has_steps)
{
    if (has_steps)
        return "the servers' count of updates ends the run, and --steps each worker's own; leave out one of the two";
    if (job->exchange.consistency.kind == CONSISTENCY_SYNC)
        return "with --consistency sync there is one update a step, which all workers do: --steps is the same";
    if (strcmp(job->opts.overlap, "on") == 0)
        return "a step that overlaps begins before the servers have counted the one before; --overlap off";
    return NULL;
}

static enum rc check_stop(struct train_job *job, bool has_steps)
{
    struct train_opts *o = &job->opts;
    const unsigned long long n = o->stop_at_step;
    const char *why = why_no_stop(job, has_steps);

    if (why)
        return rc_raise(RC_INVAL, "--stop-at-step %llu: %s", n, why);
    if (n < (unsigned long long)job->n_workers)
        return rc_raise(RC_INVAL, "--stop-at-step %llu: each of %d workers begins with a push; %d would be the least",
                        n, job->n_workers, job->n_workers);
    if (n > TRAIN_MAX_STEPS / at_least_1(o->push_every))
        return rc_raise(RC_INVAL, "--stop-at-step %llu: with --push-every %llu a worker might do more than %d steps", n,
                        (unsigned long long)at_least_1(o->push_every), TRAIN_MAX_STEPS);
    o->steps = n * at_least_1(o->push_every);
    return RC_OK;
}

/* An option of one run alone, which a row of train_opt_rules cannot be about. */
static enum rc refuse_stop(const struct train_job *job)
{
    char names[64];

    module_names_with(names, sizeof names, &mode_kind, MODE_SERVERS);
    return rc_raise(RC_INVAL, "--stop-at-step %llu: mode %s has no servers that count updates; needs --mode %s",
                    (unsigned long long)job->opts.stop_at_step, job->opts.mode, names);
}

enum rc job_periods_timeline(struct train_job *job)
{
    const uint64_t before = job->resume.steps_count, last = before + train_most_steps(job) - 1;
    const char *text = job->opts.timeline_steps, *colon = strchr(text, ':');
    uint64_t from = 0, to = 0;
    char first[32] = "";

    job->timeline_steps = (struct span_steps){ 0, UINT32_MAX };
    if (text[0] == '\0')
        return RC_OK;
    if (job->opts.timeline[0] == '\0')
        return rc_raise(RC_INVAL,
                        "--timeline-steps %s: there is no timeline to keep them in; needs --timeline FILE.json", text);
    if (colon && (size_t)(colon - text) < sizeof first)
        memcpy(first, text, (size_t)(colon - text));
    if (!colon || !text_to_u64(first, &from) || !text_to_u64(colon + 1, &to))
        return rc_raise(RC_INVAL, "--timeline-steps %s: is no FIRST:LAST, two whole numbers such as 0:99", text);
    if (from > to)
        return rc_raise(RC_INVAL, "--timeline-steps %s: the first step is after the last; %llu:%llu would be right",
                        text, (unsigned long long)to, (unsigned long long)from);
    if (from < before || to > last)
        return rc_raise(RC_INVAL, "--timeline-steps %s: the steps of this run are %llu to %llu", text,
                        (unsigned long long)before, (unsigned long long)last);
    job->timeline_steps = (struct span_steps){ (uint32_t)from, (uint32_t)to };
    return RC_OK;
}

enum rc job_periods_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    struct train_opts *o = &job->opts;
    enum rc rc = RC_OK;

    if (!(job->mode->module.caps & MODE_SERVERS))
        return o->stop_at_step > 0 ? refuse_stop(job) : RC_OK;
    if (o->stop_at_step > 0)
        TRY(check_stop(job, opt_given(group, n_groups, "steps")));
    TRY(check_periods(job));
    job->exchange.periods = (struct periods){ o->push_every, o->pull_every };
    job->exchange.stop_at = o->stop_at_step;
out:
    return rc;
}

enum rc job_periods_check_resume(const struct train_job *job)
{
    const struct periods *p = &job->exchange.periods;
    const unsigned long long n_steps = job->resume.steps_count, n_updates = job->resume.kept.n_updates;
    const unsigned long long n = job->exchange.stop_at;

    if (n > 0 && n_updates + (unsigned long long)job->n_workers > n)
        return rc_raise(RC_INVAL,
                        "--stop-at-step %llu: %s has %llu updates, and each of %d workers begins with one more; %llu "
                        "would be the least",
                        n, job->opts.resume, n_updates, job->n_workers, n_updates + (unsigned long long)job->n_workers);
    if (n == 0 && (n_steps % at_least_1(p->push_every) != 0 || n_steps % at_least_1(p->pull_every) != 0))
        return rc_raise(RC_INVAL,
                        "--resume %s: ended after %llu steps, within a period of --push-every or --pull-every",
                        job->opts.resume, n_steps);
    return RC_OK;
}

size_t job_periods_n_steps(const struct train_job *job)
{
    const uint64_t n = job->exchange.stop_at;

    if (n > 0)
        return (n - job->resume.kept.n_updates) * at_least_1(job->exchange.periods.push_every);
    return job->opts.steps - job->resume.steps_count;
}

bool job_periods_may_stop(const struct train_job *job, size_t n_steps)
{
    const struct periods *p = &job->exchange.periods;
    const uint64_t n = job->resume.steps_count + n_steps;

    return job->opts.save[0] == '\0' || (n % at_least_1(p->push_every) == 0 && n % at_least_1(p->pull_every) == 0);
}

size_t job_periods_bytes(const struct train_job *job)
{
    return job->exchange.periods.push_every > 1 ? job->n_params * sizeof(float) : 0;
}

/* With --stop-at-step: the updates that the servers have made in this run. Pushes of lost workers are among them, which
 * the counts of the workers left do not have. */
static uint64_t all_pushes(const struct train_job *job, const struct train_result *r)
{
    uint64_t n = 0;

    if (job->exchange.stop_at > 0)
        return r->final.kept.n_updates - job->resume.kept.n_updates;
    for (int w = 0; w < r->n_workers; w++)
        n += r->rank[w].counts.n_pushes;
    return n;
}

const char *job_steps_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    enum { MOST_SHOWN = 8 };
    size_t n = 0;

    if (elastic_is_on(job))
        return elastic_text(out, n_bytes, job, r);
    out[0] = '\0';
    if (job->exchange.stop_at == 0)
        return out;
    for (int w = 0; w < r->n_workers && w < MOST_SHOWN && n < n_bytes; w++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%llu", w > 0 ? ", " : "",
                              (unsigned long long)r->rank[w].steps_count);
    if (n < n_bytes)
        (void)snprintf(out + n, n_bytes - n, "%s: %llu updates, of --stop-at-step %llu in all",
                       r->n_workers > MOST_SHOWN ? ", ..." : "", (unsigned long long)all_pushes(job, r),
                       (unsigned long long)job->exchange.stop_at);
    return out;
}

const char *job_periods_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const struct periods *p = &job->exchange.periods;
    uint64_t n_pulls = 0;

    out[0] = '\0';
    if (!periods_are_on(p))
        return out;
    for (int w = 0; w < r->n_workers; w++)
        n_pulls += r->rank[w].counts.n_pulls;
    (void)snprintf(out, n_bytes, "push every %llu steps, pull every %llu: %llu pushes, %llu pulls by all workers",
                   (unsigned long long)at_least_1(p->push_every), (unsigned long long)at_least_1(p->pull_every),
                   (unsigned long long)all_pushes(job, r), (unsigned long long)n_pulls);
    return out;
}

void record_periods(struct record *r, const struct train_job *job, const struct train_result *result)
{
    if (job->mode->module.caps & MODE_SERVERS)
        record_u64(r, "push_steps_count", all_pushes(job, result));
    else
        record_null(r, "push_steps_count");
}

void record_periods_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i)
{
    const struct train_rank_info *info = &result->rank[i];
    const bool is_worker = i < result->n_workers, pushes = is_worker && job->mode->module.caps & MODE_SERVERS;

    record_f64(r, "steps_count", is_worker ? (double)info->steps_count : NAN);
    record_f64(r, "push_steps_count", pushes ? (double)info->counts.n_pushes : NAN);
    record_f64(r, "pull_steps_count", pushes ? (double)info->counts.n_pulls : NAN);
}
