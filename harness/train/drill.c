/* SPDX-License-Identifier: Apache-2.0 */
/* drill.c - faults on purpose, and how they are carried out in a training: --inject, --on-loss; see job.h. */
#include "harness/train/job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/text.h"
#include "harness/exchange/exchange.h"
#include "harness/net/transport.h"
#include "harness/train/rank_state.h"

/* --- options --- */

#define LEAST_SPEED 0.01 /* of a slow worker: 1 % */

/* --- --inject --- */

enum fault_kind { FAULT_KILL, FAULT_STALL, FAULT_LEAVE, FAULT_FLIP, FAULT_SLOW };
static const char *const fault_names[] = { "kill", "stall", "leave", "flip", "rank", NULL };

enum { WORD_BYTES = 64 };

struct fault {
    char word[WORD_BYTES]; /* "kill:2@5" */
    enum fault_kind kind;
    uint64_t rank;
    char rest[WORD_BYTES]; /* "@5", "=0.6" or "" */
};

static enum rc parse_fault(struct fault *out, const char *word, size_t n)
{
    char name[WORD_BYTES], rank[WORD_BYTES], choices[160];
    const size_t n_name = strcspn(word, ":,");
    int k = 0;

    if (n >= WORD_BYTES)
        return rc_raise(RC_INVAL, "--inject %.*s...: is too long; as in kill:2@5", WORD_BYTES - 1, word);
    (void)snprintf(out->word, sizeof out->word, "%.*s", (int)n, word);
    (void)snprintf(name, sizeof name, "%.*s", (int)n_name, out->word);
    while (fault_names[k] && strcmp(fault_names[k], name) != 0)
        k++;
    if (!fault_names[k]) {
        text_say_choices(choices, sizeof choices, name, fault_names);
        return rc_raise(RC_INVAL, "--inject %s: no such fault%s", out->word, choices);
    }
    out->kind = (enum fault_kind)k;
    const char *at = out->word + n_name + (out->word[n_name] == ':');
    const size_t n_rank = strcspn(at, "@=");
    (void)snprintf(rank, sizeof rank, "%.*s", (int)n_rank, at);
    (void)snprintf(out->rest, sizeof out->rest, "%s", at + n_rank);
    if (!text_to_plain_u64(rank, &out->rank) || (out->rest[0] && (out->rest[0] == '=') != (out->kind == FAULT_SLOW)))
        return rc_raise(RC_INVAL,
                        "--inject %s: faults are written as in kill:2@5, stall:2, leave:2@5, flip:2@5 or "
                        "rank:2=0.6",
                        out->word);
    return RC_OK;
}

/* The fault behind *at, which is then behind it; *is_there: there is one. */
static enum rc next_fault(struct fault *out, bool *is_there, const char **at)
{
    const char *word = *at;
    const size_t n = strcspn(word, ",");

    *is_there = *word != '\0';
    *at = word + n + (word[n] == ',');
    return *is_there ? parse_fault(out, word, n) : RC_OK;
}

/* "N", "N:M" */
static bool parse_step(struct train_drill *drill, const char *text)
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

static enum rc parse_when(struct train_drill *drill, const struct fault *f)
{
    static const struct {
        const char *name;
        enum peer_phase phase;
    } known[] = { { "start", PHASE_START }, { "probe", PHASE_PROBE }, { "end", PHASE_END } };
    const char *when = f->rest[0] == '@' ? f->rest + 1 : "1";

    drill->phase = PHASE_STEP;
    drill->is_drawn = strcmp(when, "random") == 0;
    if (drill->is_drawn || parse_step(drill, when))
        return RC_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(when, known[i].name) == 0) {
            drill->phase = known[i].phase;
            return RC_OK;
        }
    return rc_raise(RC_INVAL, "--inject %s: \"%s\" is not start, probe, a step, random or end, as in kill:2@5", f->word,
                    when);
}

static enum rc check_leave(const struct train_job *job, const struct fault *f)
{
    const struct train_drill *d = &job->drill;

    if (!job->opts.elastic)
        return rc_raise(RC_INVAL, "--inject %s: the others continue without it only with --elastic; add --elastic",
                        f->word);
    if (d->rank == 0 || d->rank >= job->n_workers)
        return rc_raise(RC_INVAL, "--inject %s: worker 0 and servers cannot leave; workers 1 to %d can", f->word,
                        job->n_workers - 1);
    if (d->phase != PHASE_STEP)
        return rc_raise(RC_INVAL, "--inject %s: a worker leaves between two steps; use leave:R@N", f->word);
    return RC_OK;
}

static enum rc resolve_drill(struct train_job *job, const struct fault *f)
{
    const struct train_opts *o = &job->opts;
    struct train_drill *d = &job->drill;
    const bool was_given = d->rank >= 0;
    enum rc rc;

    if (was_given)
        FAIL(RC_INVAL,
             "--inject %s: rank %d fails already, and a run has one kill, stall or leave; leave out one of the two",
             f->word, d->rank);
    if (f->rank >= o->stages * (uint64_t)job->n_ranks)
        FAIL(RC_INVAL, "--inject %s: ranks are 0 to %d", f->word, (int)o->stages * job->n_ranks - 1);
    *d =
        (struct train_drill){ .rank = (int)f->rank, .hangs = f->kind == FAULT_STALL, .leaves = f->kind == FAULT_LEAVE };
    TRY(parse_when(d, f));
    if (d->nth_part > 0 && o->stages == 1)
        FAIL(RC_INVAL, "--inject %s: only a run with --stages has micro-batches to fail in; leave out the \":%llu\"",
             f->word, (unsigned long long)d->nth_part - 1);
    if (d->nth_part > o->accumulate)
        FAIL(RC_INVAL, "--inject %s: there is no micro-batch %llu; use 0 to %llu, or a larger --accumulate", f->word,
             (unsigned long long)d->nth_part - 1, (unsigned long long)o->accumulate - 1);
    if (d->leaves)
        TRY(check_leave(job, f));
out:
    return rc;
}

/* NULL: a bit can be flipped where a fault flips it. */
static const char *why_no_flip(const struct train_job *job)
{
    if (job->n_servers > 0 && !consistency_waits_for_all(&job->exchange.consistency))
        return "workers have different parameters in this mode; use --consistency sync or --mode allreduce";
    if (job->n_servers == 0 && !(job->mode->module.caps & MODE_SYNCHRONOUS))
        return "flips a bit of the sum of all workers' gradients, and this mode makes no sum; use --mode allreduce";
    if (job->omitted & OMIT_AVERAGE)
        return "--omit average sums no gradients; leave out one of the two";
    if (job->opts.average_every > 0)
        return "--average-every sums no gradients; leave out one of the two";
    if (!job->compute->touches_memory)
        return "a hollow run has no gradients; use --compute cpu";
    if (job->profile)
        return "model replay repeats recorded times; it has no gradients";
    return NULL;
}

static enum rc resolve_fault(struct train_job *job, const struct fault *f)
{
    struct train_faults *faults = &job->faults;
    const bool flips = f->kind == FAULT_FLIP;
    const char *why = flips ? why_no_flip(job) : NULL;

    if (why)
        return rc_raise(RC_INVAL, "--inject %s: %s", f->word, why);
    if (f->rank >= (uint64_t)job->n_workers)
        return rc_raise(RC_INVAL, "--inject %s: workers are 0 to %d", f->word, job->n_workers - 1);
    if (flips ? faults->flip_rank >= 0 : faults->slow_rank >= 0)
        return rc_raise(RC_INVAL, "--inject %s: such a fault is given already; leave out one of the two", f->word);
    if (flips) {
        faults->flip_rank = (int)f->rank;
        faults->flip_step = 1;
        if (f->rest[0] && !text_to_u64(f->rest + 1, &faults->flip_step))
            return rc_raise(RC_INVAL, "--inject %s: name the step, as in flip:2@30", f->word);
        return RC_OK;
    }
    faults->slow_rank = (int)f->rank;
    if (!f->rest[0] || !text_to_f64(f->rest + 1, &faults->slow_ratio) ||
        !(faults->slow_ratio >= LEAST_SPEED && faults->slow_ratio <= 1))
        return rc_raise(RC_INVAL, "--inject %s: name its speed, from 0.01 to 1, as in rank:2=0.6", f->word);
    return RC_OK;
}

enum rc job_faults_resolve(struct train_job *job)
{
    const char *at = job->opts.inject;
    struct fault f;
    bool is_there;
    enum rc rc;

    job->drill = (struct train_drill){ .rank = -1 };
    job->faults = (struct train_faults){ .flip_rank = -1, .slow_rank = -1 };
    for (;;) {
        TRY(next_fault(&f, &is_there, &at));
        if (!is_there)
            break;
        TRY(f.kind <= FAULT_LEAVE ? resolve_drill(job, &f) : resolve_fault(job, &f));
    }
out:
    return rc;
}

static enum rc check_step(const char *fault, int rank, uint64_t step, uint64_t first, uint64_t last)
{
    if (step >= first && step <= last)
        return RC_OK;
    return rc_raise(RC_INVAL, "--inject %s:%d@%llu: the %s step is %llu", fault, rank, (unsigned long long)step,
                    step > last ? "last" : "first", (unsigned long long)(step > last ? last : first));
}

enum rc job_faults_check(struct train_job *job)
{
    struct train_drill *d = &job->drill;
    const uint64_t first = job->resume.steps_count, last = first + job->n_steps - 1;
    enum rc rc = RC_OK;

    if (d->rank >= 0 && d->is_drawn)
        d->step = first + rng_u64(job->opts.seed, RNG_DRILL, (uint64_t)d->rank) % job->n_steps;

    if (d->rank >= 0 && d->phase == PHASE_STEP)
        TRY(check_step(fault_names[d->hangs    ? FAULT_STALL
                                   : d->leaves ? FAULT_LEAVE
                                               : FAULT_KILL],
                       d->rank, d->step, first, last));
    if (job->faults.flip_rank >= 0)
        TRY(check_step("flip", job->faults.flip_rank, job->faults.flip_step, first, last));
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
 * --inject rank:R=X: a worker that computes at a part of its speed. It pauses behind what it has computed, so
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
