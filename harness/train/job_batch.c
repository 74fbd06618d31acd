/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_batch.c - which samples each worker has, and how many per step: --split, --accumulate, --global-batch; see
 * job_batch.h.
 */
#include "harness/train/job_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/exchange/collective.h"

/* --- --split --- */

enum rc job_split_parse(struct train_job *job)
{
    const char *text = job->opts.split;
    enum rc rc;

    TRY(split_parse(&job->split_opts, text));
    if (job->split_opts.kind == SPLIT_IID)
        return RC_OK;
    if (job->split_opts.kind == SPLIT_UNEQUAL && job->n_workers > 1 && job->split_opts.n_shares != job->n_workers)
        FAIL(RC_INVAL, "--split %.80s: has %d shares for %d workers; use a share for each", text,
             job->split_opts.n_shares, job->n_workers);
out:
    return rc;
}

enum rc job_split_resolve(struct train_job *job)
{
    enum rc rc = RC_OK;

    if (job->split_opts.kind == SPLIT_IID)
        return RC_OK;
    for (int w = 0; w < job->n_workers; w++)
        if (job_batch_of(job, w) == 0)
            FAIL(RC_INVAL,
                 "--split %.80s: of the %llu samples of a round worker %d has less than one; a larger --batch",
                 job->opts.split, (unsigned long long)job->opts.batch * (unsigned long long)job->n_workers, w);
    if (job->split_opts.kind == SPLIT_UNEQUAL &&
        !(job->batch_of = malloc((size_t)job->n_workers * sizeof *job->batch_of)))
        FAIL(RC_NOMEM, "no memory for the batches of %d workers", job->n_workers);
    for (int w = 0; job->batch_of && w < job->n_workers; w++)
        job->batch_of[w] = job_batch_of(job, w);
    TRY(split_open(&job->split, job->dataset, &job->split_opts, job->n_workers, job->opts.seed));
out:
    return rc;
}

enum rc job_split_check_resume(const struct train_job *job)
{
    const struct checkpoint *c = &job->resume;
    const uint64_t of_round = job->opts.batch * (uint64_t)job->n_workers;

    const bool omits_shard = job->omitted & OMIT_SHARD;

    if ((job->split_opts.kind == SPLIT_IID && !omits_shard) || c->samples_count == c->steps_count * of_round)
        return RC_OK;
    return rc_raise(
        RC_INVAL,
        "--resume %s: its %llu steps took %llu samples, not %llu in each as here, so the place of each worker in %s "
        "%.40s is not known; use the batch and the workers of that run",
        job->opts.resume, (unsigned long long)c->steps_count, (unsigned long long)c->samples_count,
        (unsigned long long)of_round, omits_shard ? "the data of --omit" : "its part of --split",
        omits_shard ? job->opts.omit : job->opts.split);
}

size_t job_batch_of(const struct train_job *job, int worker)
{
    if (job->split_opts.kind != SPLIT_UNEQUAL)
        return job->opts.batch;
    return split_part_of(&job->split_opts, job->n_workers, worker, job->opts.batch * (size_t)job->n_workers);
}

size_t job_most_batch(const struct train_job *job)
{
    size_t most = 0;

    for (int w = 0; w < (job->split_opts.kind == SPLIT_UNEQUAL ? job->n_workers : 1); w++)
        most = job_batch_of(job, w) > most ? job_batch_of(job, w) : most;
    return most;
}

static uint64_t samples_before(const struct train_job *job, size_t step)
{
    return job->resume.samples_count + (uint64_t)step * (uint64_t)job->n_workers * job->opts.batch;
}

uint64_t job_first_sample(const struct train_job *job, int worker, size_t step)
{
    if (job->omitted & OMIT_SHARD)
        return (job->resume.steps_count + (uint64_t)step) * job->opts.batch;
    if (job->split_opts.kind != SPLIT_IID) /* train.J1 */
        return (job->resume.steps_count + (uint64_t)step) * job_batch_of(job, worker);
    return samples_before(job, step) + (uint64_t)worker * job->opts.batch; /* train.L1 */
}

uint64_t job_batch_stride(const struct train_job *job, int worker)
{
    if (job->opts.elastic && job->n_workers > 1) /* who takes which is not known before */
        return 0;
    return job_first_sample(job, worker, 1) - job_first_sample(job, worker, 0);
}

float job_weight_of(const struct train_job *job, int worker)
{
    return train_updates_once(job) ? (float)((double)job_batch_of(job, worker) / (double)job->opts.batch) : 1.0f;
}

/* --- words --- */

static size_t n_labels_of(const struct train_job *job, int worker, unsigned char *seen)
{
    const struct dataset_part p = split_part(&job->split, worker);
    size_t n = 0;

    memset(seen, 0, job->dataset->n_classes);
    for (size_t k = 0; k < p.n_samples; k++) {
        const uint32_t label = job->dataset->ops->label(job->dataset, p.index[k]);
        n += seen[label] == 0;
        seen[label] = 1;
    }
    return n;
}

static void labels_text(char *out, size_t n_bytes, const struct train_job *job)
{
    unsigned char *seen = malloc(job->dataset->n_classes);
    size_t least = SIZE_MAX, most = 0;

    out[0] = '\0';
    for (int w = 0; seen && w < job->n_workers; w++) {
        const size_t n = n_labels_of(job, w, seen);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (seen)
        snprintf(out, n_bytes, "%s: of %zu labels a worker has %zu to %zu", job->opts.split, job->dataset->n_classes,
                 least, most);
    free(seen);
}

void job_split_text(char *out, size_t n_bytes, const struct train_job *job)
{
    enum { MOST_SHOWN = 8 };
    size_t n;

    out[0] = '\0';
    if (job->split_opts.kind == SPLIT_IID)
        return;
    if (job->split_opts.kind != SPLIT_UNEQUAL) {
        labels_text(out, n_bytes, job);
        return;
    }
    n = (size_t)snprintf(out, n_bytes, "unequal: workers have");
    for (int w = 0; w < job->n_workers && w < MOST_SHOWN && n < n_bytes; w++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s %zu", w > 0 ? "," : "", job_batch_of(job, w));
    if (n < n_bytes)
        snprintf(out + n, n_bytes - n, "%s of the %llu samples of a round", job->n_workers > MOST_SHOWN ? ", ..." : "",
                 (unsigned long long)job->opts.batch * (unsigned long long)job->n_workers);
}

void job_split_load_text(char *out, size_t n_bytes, const struct train_job *job, const double *compute_s,
                         const double *wait_s)
{
    int most = 0, least = 0;

    out[0] = '\0';
    if (job->split_opts.kind != SPLIT_UNEQUAL || !train_waits_for_all(job))
        return;
    for (int w = 1; w < job->n_workers; w++) {
        most = job_batch_of(job, w) > job_batch_of(job, most) ? w : most;
        least = job_batch_of(job, w) < job_batch_of(job, least) ? w : least;
    }
    if (job_batch_of(job, most) > job_batch_of(job, least))
        snprintf(out, n_bytes,
                 "worker %d has most to do and waits least: it computes %.4g us a step and waits %.4g; worker %d "
                 "computes %.4g and waits %.4g",
                 most, 1e6 * compute_s[most], 1e6 * wait_s[most], least, 1e6 * compute_s[least], 1e6 * wait_s[least]);
}

enum rc job_split_load(char *out, size_t n_bytes, const struct train_job *job, const struct train_summary *s)
{
    const size_t n = s->steps.n_workers;
    struct step_parts *parts = NULL;
    double *of = NULL; /* compute, then wait, of each */
    enum rc rc = RC_OK;

    out[0] = '\0';
    if (job->split_opts.kind != SPLIT_UNEQUAL || n < (size_t)job->n_workers)
        return RC_OK;
    parts = malloc(n * sizeof *parts);
    of = malloc(2 * n * sizeof *of);
    if (!parts || !of)
        FAIL(RC_NOMEM, "no memory for the parts of a step of %zu workers", n);
    TRY(steps_worker_parts(parts, &s->steps));
    for (size_t w = 0; w < n; w++) {
        of[w] = parts[w].compute_s;
        of[n + w] = parts[w].wait_s;
    }
    job_split_load_text(out, n_bytes, job, of, of + n);
out:
    free(parts);
    free(of);
    return rc;
}

/* --- --accumulate --- */

static enum rc refuse_parts(const struct train_job *job, int worker, size_t batch)
{
    const unsigned long long n = job->opts.accumulate;
    char whose[128] = "", fitting[48], right[80] = "a batch of one sample has no parts";

    if (job->split_opts.kind == SPLIT_UNEQUAL)
        snprintf(whose, sizeof whose, " that worker %d has of --split %.80s", worker, job->opts.split);
    text_near_divisors(fitting, sizeof fitting, n, batch);
    if (batch > 1)
        snprintf(right, sizeof right, "use %s", fitting);
    return rc_raise(RC_INVAL, "--accumulate %llu: the batch of %zu samples%s has no %llu equal parts; %s", n, batch,
                    whose, n, right);
}

enum rc job_accumulate_check(const struct train_job *job)
{
    const unsigned long long n = job->opts.accumulate;

    if (n <= 1)
        return RC_OK;
    if (job->opts.forward_only)
        return rc_raise(RC_INVAL,
                        "--accumulate %llu: --forward-only computes no gradients; --batch %llu is the same work", n,
                        job->opts.batch / n > 0 ? (unsigned long long)job->opts.batch / n : 1);
    for (int w = 0; w < (job->split_opts.kind == SPLIT_UNEQUAL ? job->n_workers : 1); w++)
        if (job_batch_of(job, w) % n != 0)
            return refuse_parts(job, w, job_batch_of(job, w));
    return RC_OK;
}

size_t job_micro_batch_of(const struct train_job *job, int worker)
{
    return job_batch_of(job, worker) / job->opts.accumulate;
}

size_t job_most_micro_batch(const struct train_job *job)
{
    return job_most_batch(job) / job->opts.accumulate;
}

struct batch_order job_batch_order(const struct train_job *job, int worker)
{
    return (struct batch_order){ .first = job_first_sample(job, worker, 0),
                                 .stride = job_batch_stride(job, worker),
                                 .n_micro_batches = job->opts.accumulate };
}

void job_batch_text(char *out, size_t n_bytes, const struct train_job *job)
{
    size_t n = (size_t)snprintf(out, n_bytes, "batch %llu each", (unsigned long long)job->opts.batch);

    if (job->opts.accumulate > 1)
        n +=
            (size_t)snprintf(out + n, n_bytes - n, ", in %llu micro-batches", (unsigned long long)job->opts.accumulate);
    if (job->opts.global_batch > 0)
        snprintf(out + n, n_bytes - n, ", %llu in all (strong scaling)", (unsigned long long)job->opts.global_batch);
}

/* --- --global-batch --- */

/* N does not divide among the workers: the nearest that do. */
static enum rc refuse_rest(unsigned long long n, unsigned long long n_workers)
{
    const unsigned long long below = n - n % n_workers, above = below + n_workers;
    char below_text[32] = "";

    if (below > 0)
        snprintf(below_text, sizeof below_text, "%llu or ", below);
    return rc_raise(RC_INVAL, "--global-batch %llu: is not divisible by %llu workers; use %s%llu, or other --workers",
                    n, n_workers, below_text, above);
}

enum rc global_batch_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    const unsigned long long n = job->opts.global_batch, n_workers = (unsigned long long)job->n_workers;

    if (n == 0)
        return RC_OK;
    if (opt_given(group, n_groups, "batch"))
        return rc_raise(
            RC_INVAL,
            "--global-batch %llu: --batch %llu is the batch of each worker (weak scaling); give one of the two", n,
            (unsigned long long)job->opts.batch);
    if (n % n_workers != 0)
        return refuse_rest(n, n_workers);
    if (n / n_workers > TRAIN_MAX_BATCH)
        return rc_raise(RC_INVAL, "--global-batch %llu: is %llu for each of %llu workers; a worker can have %d", n,
                        n / n_workers, n_workers, TRAIN_MAX_BATCH);
    job->opts.batch = n / n_workers;
    return RC_OK;
}

enum rc global_batch_explain(const struct train_job *job, enum rc resolved)
{
    static const char about[] = "--batch ";
    char why[RC_MESSAGE_BYTES];

    if (resolved == RC_OK || job->opts.global_batch == 0 || strncmp(rc_message(), about, strlen(about)) != 0)
        return resolved;
    (void)snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(resolved, "--global-batch %llu: of each worker, %.440s", (unsigned long long)job->opts.global_batch,
                    why);
}

bool global_batch_is_shared(const struct train_job *job)
{
    return job->opts.global_batch > 0 && job->n_workers > 1;
}

const char *scaling_text(bool is_strong)
{
    return is_strong ? "strong" : "weak";
}
