/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integrity.c - --verify-every K: are the parameters of all workers still equal, to the bit? A silent corruption in a
 * memory, a processor or a network card makes one worker's parameters differ; see integrity.h.
 */
#include "harness/train/integrity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/exchange/exchange.h"
#include "harness/train/job_exchange.h"
#include "harness/train/rank_state.h"

/* --- hashes, and who is corrupt --- */

/* A step that can be undone: multiplying by an odd number, and a shift that carries high bits down. */
static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

uint64_t integrity_hash(const float *x, size_t n)
{
    uint64_t hash = n, word = 0;
    size_t i = 0;

    for (; i + 2 <= n; i += 2) {
        memcpy(&word, x + i, sizeof word);
        hash = mixed(hash, word);
    }
    if (i < n) {
        uint32_t last;
        memcpy(&last, x + i, sizeof last);
        hash = mixed(hash, last);
    }
    return mixed(hash, 0);
}

static bool are_equal(const uint64_t *a, const uint64_t *b, size_t n_segments)
{
    return memcmp(a, b, n_segments * sizeof *a) == 0;
}

static size_t first_difference(const uint64_t *a, const uint64_t *b, size_t n_segments)
{
    size_t s = 0;

    while (s + 1 < n_segments && a[s] == b[s])
        s++;
    return s;
}

/* A rank whose parameters more than half have; -1: there is none. */
static int find_majority(const uint64_t *hash, int n_ranks, size_t n_segments)
{
    int candidate = 0, lead = 0, n_same = 0; /* Boyer and Moore 1981 */

    for (int r = 0; r < n_ranks; r++) {
        if (lead == 0)
            candidate = r;
        lead += are_equal(hash + (size_t)candidate * n_segments, hash + (size_t)r * n_segments, n_segments) ? 1 : -1;
    }
    for (int r = 0; r < n_ranks; r++)
        n_same += are_equal(hash + (size_t)candidate * n_segments, hash + (size_t)r * n_segments, n_segments);
    return 2 * n_same > n_ranks ? candidate : -1;
}

void integrity_judge(struct train_checks *out, const uint64_t *hash, int n_ranks, size_t n_segments,
                     uint64_t step_index)
{
    const int majority = find_majority(hash, n_ranks, n_segments), right = majority >= 0 ? majority : 0;
    const uint64_t *of_right = hash + (size_t)right * n_segments;

    out->n_corruptions = 0;
    for (int r = 0; r < n_ranks; r++) {
        const uint64_t *own = hash + (size_t)r * n_segments;
        if (are_equal(own, of_right, n_segments))
            continue;
        if (out->n_corruptions < TRAIN_MAX_CORRUPTIONS)
            out->corruption[out->n_corruptions] =
                (struct train_corruption){ .rank = majority >= 0 ? r : right,
                                           .other_rank = majority >= 0 ? -1 : r,
                                           .step_index = step_index,
                                           .segment = first_difference(own, of_right, n_segments) };
        out->n_corruptions++;
        if (majority < 0) /* who else is wrong cannot be told either */
            break;
    }
}

enum rc integrity_check(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const unsigned long long every = o->verify_every, average_every = o->average_every, save_every = o->save_every;
    char fitting[48];

    if (every == 0)
        return RC_OK;
    if (average_every > 0 && every % average_every != 0) {
        text_near_multiples(fitting, sizeof fitting, every, average_every);
        return rc_raise(RC_INVAL,
                        "--verify-every %llu: is no multiple of --average-every %llu; in between workers have no "
                        "parameters in common; use %s",
                        every, average_every, fitting);
    }
    if (save_every > 0 && save_every % every != 0) {
        text_near_multiples(fitting, sizeof fitting, save_every, every);
        return rc_raise(RC_INVAL,
                        "--save-every %llu: is no multiple of --verify-every %llu; a checkpoint would hold what nobody "
                        "has compared; use %s",
                        save_every, every, fitting);
    }
    return RC_OK;
}

enum rc integrity_name_segments(struct train_job *job, const struct network *n)
{
    if (job->opts.verify_every == 0)
        return RC_OK;
    job->segment_name = calloc(job->n_segments, sizeof *job->segment_name);
    if (!job->segment_name)
        return rc_raise(RC_NOMEM, "no memory for the names of %zu segments", job->n_segments);
    for (size_t i = 0; i < job->n_segments; i++)
        job_tensor_name(job->segment_name[i], sizeof job->segment_name[i], job, n, i);
    return RC_OK;
}

void corruption_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_corruption *c)
{
    const unsigned long long step = c->step_index;
    const char *name = job->segment_name[c->segment];

    if (c->other_rank < 0)
        snprintf(out, n_bytes, "the parameters of rank %d are not those of the others after step %llu, first in %s",
                 c->rank, step, name);
    else
        snprintf(
            out, n_bytes,
            "the parameters of ranks %d and %d differ after step %llu, first in %s; which of them are right cannot "
            "be told",
            c->rank, c->other_rank, step, name);
}

const char *integrity_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const struct train_checks *c = &r->checks;
    char found[CORRUPTION_TEXT_BYTES] = "all workers equal";

    out[0] = '\0';
    if (job->opts.verify_every == 0 || c->n_done == 0)
        return out;
    if (c->n_corruptions > 0)
        corruption_text(found, sizeof found, job, &c->corruption[0]);
    snprintf(out, n_bytes, "%zu checks between steps, %.4g ms each, which is in the throughput but in no step; %s",
             c->n_done, 1e3 * c->spent_s / (double)c->n_done, found);
    return out;
}

enum rc integrity_check_result(const struct train_job *job, const struct train_result *r)
{
    const struct train_checks *c = &r->checks;
    const bool saves = job->opts.save[0] != '\0';
    char text[CORRUPTION_TEXT_BYTES], more[64] = "";

    if (c->n_corruptions == 0)
        return RC_OK;
    corruption_text(text, sizeof text, job, &c->corruption[0]);
    if (c->n_corruptions > 1)
        snprintf(more, sizeof more, ", nor are those of %d more", c->n_corruptions - 1);
    return rc_raise(RC_MISMATCH, "%s%s; the run ended there%s%s", text, more, saves ? ", and wrote nothing to " : "",
                    job->opts.save);
}

void record_integrity(struct record *r, const struct train_job *job, const struct train_result *result)
{
    if (job->opts.verify_every == 0)
        return;
    record_u64(r, "integrity_checks_count", result->checks.n_done);
    record_f64(r, "integrity_checks_s", result->checks.spent_s);
    record_i64(r, "corruptions_count", result->checks.n_corruptions);
}

static enum rc write_corruption(struct report *to, const struct train_job *job, const struct train_corruption *c)
{
    const uint64_t rank[2] = { (uint64_t)c->rank, (uint64_t)c->other_rank };
    char text[CORRUPTION_TEXT_BYTES];
    struct record *r = report_begin(to, "corruption");

    record_u64_array(r, "ranks", rank, c->other_rank < 0 ? 1 : 2);
    record_u64(r, "step_index", c->step_index);
    record_u64(r, "segment_index", c->segment);
    record_text(r, "segment", job->segment_name[c->segment]);
    corruption_text(text, sizeof text, job, c);
    record_text(r, "text", text);
    return report_end(to);
}

enum rc integrity_write(struct report *to, const struct train_job *job, const struct train_result *r)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < r->checks.n_corruptions && i < TRAIN_MAX_CORRUPTIONS; i++)
        TRY(write_corruption(to, job, &r->checks.corruption[i]));
out:
    return rc;
}

/* --- between two steps --- */

static bool is_checked(const struct train_job *job)
{
    return job->opts.verify_every > 0;
}

/* With servers, workers compare in a world of their own. */
static enum rc meet_workers(struct rank *r)
{
    if (r->job->n_servers == 0)
        return RC_OK;
    return world_split(r->world, rank_is_worker(r) ? 0 : -1, r->world->rank, &r->workers);
}

/* Those that compare. */
static struct world *checking(const struct rank *r)
{
    return r->workers ? r->workers : r->world;
}

static void close_check(struct rank *r)
{
    void *checked = r->checked;

    if (checked)
        compute_host_close(r->compute, &checked);
    free(r->hash);
    world_split_close(&r->workers);
}

static enum rc open_check(struct rank *r)
{
    const size_t n_segments = r->job->n_segments;
    void *copy = NULL;
    enum rc rc = RC_OK;

    if (!rank_is_worker(r))
        return RC_OK;
    r->hash = calloc(n_segments, sizeof *r->hash);
    if (!r->hash)
        FAIL(RC_NOMEM, "no memory for the hashes of %zu segments", n_segments);
    if (!r->job->compute->host_memory)
        TRY(compute_host_open(r->compute, &copy, r->job->n_params * sizeof(float), "a copy of the parameters to hash"));
    r->checked = copy;
out:
    return rc;
}

/* train.Y1 */
static bool is_due(const struct rank *r, size_t step)
{
    const uint64_t every = r->job->opts.verify_every, n_done = r->job->resume.steps_count + step + 1;

    return n_done % every == 0 || step + 1 == r->job->n_steps;
}

static enum rc hash_params(struct rank *r)
{
    const float *param = r->param;
    enum rc rc;

    TRY(compute_sync(r->compute));
    if (r->checked) {
        TRY(compute_fetch(r->compute, r->checked, r->param, r->job->n_params * sizeof(float)));
        param = r->checked;
    }
    for (size_t i = 0; i < r->job->n_segments; i++)
        r->hash[i] = integrity_hash(param + r->job->segment[i].offset_elems, r->job->segment[i].n_elems);
out:
    return rc;
}

/* Segment by segment, once it is known that some rank differs. */
static enum rc find_corruptions(struct rank *r, uint64_t step_index)
{
    const size_t n_segments = r->job->n_segments;
    struct world *w = checking(r);
    const size_t n_ranks = (size_t)w->n_ranks;
    uint64_t *all = malloc(n_ranks * n_segments * sizeof *all);
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the hashes of %zu ranks x %zu segments", n_ranks, n_segments);
    TRY(world_allgather(w, r->hash, all, n_segments * sizeof *all));
    integrity_judge(&r->result.checks, all, w->n_ranks, n_segments, step_index);
    r->is_corrupted = r->has_ended = true;
out:
    free(all);
    return rc;
}

/* One number of each rank, as nearly always all are equal. */
static enum rc differs(struct rank *r, bool *out)
{
    const size_t n_words = r->job->n_segments * sizeof *r->hash / sizeof(float);
    const uint64_t own = integrity_hash((const float *)(const void *)r->hash, n_words);
    struct world *w = checking(r);
    uint64_t *all = malloc((size_t)w->n_ranks * sizeof *all);
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the hashes of %d ranks", w->n_ranks);
    TRY(world_allgather(w, &own, all, sizeof own));
    *out = false;
    for (int i = 0; i < w->n_ranks; i++)
        *out = *out || all[i] != own;
    /* The same on all ranks: where one differs from this one, each differs from one. */
out:
    free(all);
    return rc;
}

/* Collective over the workers, if a check is due. */
static enum rc check_params(struct rank *r, size_t step)
{
    bool is_different = false;
    enum rc rc = RC_OK;

    if (!is_due(r, step))
        return RC_OK;
    const uint64_t started_ns = world_now_ns(r->world);
    TRY(world_barrier(checking(r))); /* the others have ended their step, which hashing could slow */
    TRY(hash_params(r));
    TRY(differs(r, &is_different));
    if (is_different)
        TRY(find_corruptions(r, r->job->resume.steps_count + step));
    r->result.checks.n_done++;
    r->result.checks.spent_s += 1e-9 * (double)(world_now_ns(r->world) - started_ns);
out:
    return rc;
}

const struct step_hook hook_verify = { .name = "verify",
                                       .wanted = is_checked,
                                       .meet = meet_workers,
                                       .open = open_check,
                                       .at = { [AFTER_STEP] = check_params },
                                       .acts_behind = is_due,
                                       .close = close_check };
