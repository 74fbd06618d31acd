/* SPDX-License-Identifier: Apache-2.0 */
/* drill.c - see job.h. */
#include "harness/train/job.h"

#include <math.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/text.h"
#include "harness/exchange/exchange.h"
#include "harness/net/transport.h"
#include "harness/train/rank_state.h"
#include "harness/train/rank_steps.h"

/* --- options --- */

static enum rc resolve_stall(struct train_opts *o)
{
    if (isnan(o->stall_warn_s))
        o->stall_warn_s = o->stall_abort_s / 2;
    if (o->stall_warn_s > o->stall_abort_s)
        return rc_raise(RC_INVAL, "--stall-warn-s %g: is longer than --stall-abort-s %g", o->stall_warn_s,
                        o->stall_abort_s);
    return RC_OK;
}

/* "N", "N:M" */
static bool parse_drill_step(struct train_drill *drill, const char *text)
{
    const char *colon = strchr(text, ':');
    char step[32];
    uint64_t part;

    if (!colon)
        return text_to_u64(text, &drill->step);
    if ((size_t)(colon - text) >= sizeof step || !text_to_u64(colon + 1, &part) || part >= TRAIN_MAX_BATCH)
        return false;
    (void)snprintf(step, sizeof step, "%.*s", (int)(colon - text), text);
    drill->nth_part = part + 1;
    return text_to_u64(step, &drill->step);
}

static enum rc parse_drill_at(struct train_drill *drill, const char *text)
{
    static const struct {
        const char *name;
        enum peer_phase phase;
    } known[] = { { "start", PHASE_START }, { "probe", PHASE_PROBE }, { "end", PHASE_END } };

    if (strcmp(text, "random") == 0) {
        drill->phase = PHASE_STEP;
        drill->is_drawn = true;
        return RC_OK;
    }
    if (strncmp(text, "step:", 5) == 0 && parse_drill_step(drill, text + 5)) {
        drill->phase = PHASE_STEP;
        return RC_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].name) == 0) {
            drill->phase = known[i].phase;
            return RC_OK;
        }
    if (strncmp(text, "step:", 5) == 0)
        return rc_raise(RC_INVAL, "--drill-at step:N: N is a whole number, as in step:1, and not \"%s\"", text + 5);
    return rc_raise(RC_INVAL, "--drill-at %s: is not start, probe, step:N, random or end", text);
}

/* --leave-rank */
static enum rc check_leave(const struct train_job *job)
{
    const struct train_drill *d = &job->drill;

    if (!job->opts.elastic)
        return rc_raise(RC_INVAL, "--leave-rank %d: the others continue without it only with --elastic; add --elastic",
                        d->rank);
    if (d->rank >= job->n_workers || job->n_workers == 1)
        return rc_raise(RC_INVAL, "--leave-rank %d: worker 0 and servers cannot leave; workers 1 to %d can", d->rank,
                        job->n_workers - 1);
    if (d->phase != PHASE_STEP)
        return rc_raise(RC_INVAL, "--leave-rank %d: a worker leaves between two steps; needs --drill-at step:N",
                        d->rank);
    return RC_OK;
}

enum rc job_drill_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    struct train_opts *o = &job->opts;
    const bool kills = opt_given(group, n_groups, "kill-rank"), hangs = opt_given(group, n_groups, "hang-rank");
    const bool leaves = opt_given(group, n_groups, "leave-rank");
    const uint64_t rank = leaves ? o->leave_rank : hangs ? o->hang_rank : o->kill_rank;
    const char *name = leaves ? "leave" : hangs ? "hang" : "kill";
    enum rc rc;

    TRY(resolve_stall(o));
    job->drill = (struct train_drill){ .rank = -1, .hangs = hangs, .leaves = leaves };
    TRY(parse_drill_at(&job->drill, o->drill_at));
    if (opt_given(group, n_groups, "kill-step")) {
        job->drill.phase = PHASE_STEP;
        job->drill.step = o->kill_step;
    }
    if ((kills || hangs || leaves) && rank >= o->stages * (uint64_t)job->n_ranks)
        FAIL(RC_INVAL, "--%s-rank %llu: ranks are 0 to %d", name, (unsigned long long)rank,
             (int)o->stages * job->n_ranks - 1);
    if (job->drill.nth_part > (o->stages > 1 ? o->accumulate : 0))
        FAIL(RC_INVAL, "--drill-at %s: %s", o->drill_at,
             o->stages > 1 ? "has a micro-batch from --accumulate up; they count from 0"
                           : "only a stage of --stages is in a micro-batch when it begins one; step:N");
    if (kills || hangs || leaves)
        job->drill.rank = (int)rank;
    if (leaves)
        TRY(check_leave(job));
out:
    return rc;
}

static enum rc check_worker(const struct train_job *job, const char *option, uint64_t rank)
{
    if (rank < (uint64_t)job->n_workers)
        return RC_OK;
    return rc_raise(RC_INVAL, "--%s %llu: workers are 0 to %d", option, (unsigned long long)rank, job->n_workers - 1);
}

enum rc job_faults_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    const bool flips = opt_given(group, n_groups, "flip-bit"), slows = opt_given(group, n_groups, "slow-rank");
    struct train_opts *o = &job->opts;
    struct train_faults *f = &job->faults;
    enum rc rc = RC_OK;

    *f = (struct train_faults){ .flip_rank = -1, .slow_rank = -1 };
    if (flips) {
        TRY(check_worker(job, "flip-bit", o->flip_bit));
        f->flip_rank = (int)o->flip_bit;
        f->flip_step = o->flip_step;
    }
    if (slows) {
        TRY(check_worker(job, "slow-rank", o->slow_rank));
        f->slow_rank = (int)o->slow_rank;
        f->slow_ratio = o->slow_ratio;
    }
out:
    return rc;
}

static enum rc check_step(const char *option, uint64_t step, uint64_t first, uint64_t last)
{
    if (step >= first && step <= last)
        return RC_OK;
    return rc_raise(RC_INVAL, "%s%llu: the %s step is %llu", option, (unsigned long long)step,
                    step > last ? "last" : "first", (unsigned long long)(step > last ? last : first));
}

enum rc job_drill_check(struct train_job *job)
{
    struct train_drill *d = &job->drill;
    const uint64_t first = job->resume.steps_count, last = first + job->n_steps - 1;
    const bool was_kill_step = job->opts.kill_step != UINT64_MAX;
    enum rc rc = RC_OK;

    if (d->rank >= 0 && d->is_drawn)
        d->step = first + rng_u64(job->opts.seed, RNG_DRILL, (uint64_t)d->rank) % job->n_steps;

    if (d->rank >= 0 && d->phase == PHASE_STEP)
        TRY(check_step(was_kill_step ? "--kill-step " : "--drill-at step:", d->step, first, last));
    if (job->faults.flip_rank >= 0)
        TRY(check_step("--flip-step ", job->faults.flip_step, first, last));
out:
    return rc;
}

enum rc job_on_loss_resolve(struct train_job *job)
{
    const bool reports = job->opts.elastic || strcmp(job->opts.on_loss, "report") == 0;

    job->on_loss = reports ? ON_LOSS_REPORT : ON_LOSS_ABORT;
    if (job->opts.elastic) /* elastic.h has what it does not go with */
        return RC_OK;
    if (reports && job->n_workers == 1 && job->exchange.n_replicas == 0)
        return rc_raise(RC_INVAL, "--on-loss report: needs at least 2 workers, as one has to remain");
    return RC_OK;
}

int train_message_limit_ms(const struct train_job *job)
{
    if (job->world->module.caps & WORLD_VIRTUAL_TIME)
        return WAIT_FOREVER; /* the engine finds those that wait for each other, and a step may take hours */
    return (int)(2000.0 * job->opts.stall_abort_s);
}

/* --- a rank that fails --- */

void rank_drill(const struct rank *r, enum peer_phase phase, uint64_t step, int64_t micro_batch)
{
    const struct train_drill *d = &r->job->drill;
    const int number = rank_number(r);

    if (d->rank != number || d->leaves || d->phase != phase ||
        (phase == PHASE_STEP && (d->step != step || (int64_t)d->nth_part != micro_batch + 1)))
        return;
    if (d->hangs)
        world_hang(r->world);
    else
        world_die(r->world);
}

/*
 * --slow-rank: a worker that computes at a part of its speed. It pauses behind what it has computed, so
 * that both together take 1 / ratio as long; where it sends gradients while it computes others, behind each of them. A
 * pause that the system makes longer than it was to be is made up for by the next.
 */

static bool slows(const struct train_job *job)
{
    return job->faults.slow_rank >= 0;
}

static bool is_slowed(const struct rank *r)
{
    return r->job->faults.slow_rank == r->world->rank;
}

static enum rc begin_slowed(struct rank *r, size_t step)
{
    (void)step;
    r->slowed.since_ns = world_now_ns(r->world);
    r->slowed.waited_ns = 0;
    return RC_OK;
}

/* The rank has computed since then, or since the last call, except for its waits: pause in proportion. */
static enum rc slow_down(struct rank *r, size_t step)
{
    struct slowed *s = &r->slowed;
    enum rc rc = RC_OK;

    (void)step;
    if (!is_slowed(r))
        return RC_OK;
    TRY(compute_sync(r->compute)); /* compute.C2: what is counted has taken its time */
    const uint64_t now_ns = world_now_ns(r->world), waited_ns = exchange_cost(r->exchange).waited_ns;
    const uint64_t computed_ns = now_ns - s->since_ns - (waited_ns - s->waited_ns);
    s->owed_ns += (int64_t)((double)computed_ns * (1 / r->job->faults.slow_ratio - 1));
    s->since_ns = now_ns;
    s->waited_ns = waited_ns;
    if (s->owed_ns > 0) {
        world_pause(r->world, (uint64_t)s->owed_ns);
        s->since_ns = world_now_ns(r->world);
        s->owed_ns -= (int64_t)(s->since_ns - now_ns);
    }
out:
    return rc;
}

const struct step_hook hook_slow_rank = { .name = "slow-rank",
                                          .wanted = slows,
                                          .at = { [BEFORE_STEP] = begin_slowed, [COMPUTED_PART] = slow_down } };
