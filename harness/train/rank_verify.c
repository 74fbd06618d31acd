/* SPDX-License-Identifier: Apache-2.0 */
/* rank_verify.c - between two steps: are the parameters of all workers equal? (integrity.h) */
#include <stdlib.h>

#include "harness/exchange/exchange.h"
#include "harness/train/integrity.h"
#include "harness/train/rank_state.h"

enum rc rank_verify_meet(struct rank *r)
{
    if (r->job->opts.verify_every == 0 || r->job->n_servers == 0)
        return RC_OK;
    return world_split(r->world, rank_is_worker(r) ? 0 : -1, r->world->rank, &r->workers);
}

/* Those that compare. */
static struct world *checking(const struct rank *r)
{
    return r->workers ? r->workers : r->world;
}

void rank_verify_close(struct rank *r)
{
    void *checked = r->checked;

    if (checked)
        compute_host_close(r->compute, &checked);
    free(r->hash);
    world_split_close(&r->workers);
}

enum rc rank_verify_open(struct rank *r)
{
    const size_t n_segments = r->job->n_segments;
    void *copy = NULL;
    enum rc rc = RC_OK;

    if (r->job->opts.verify_every == 0 || !rank_is_worker(r))
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

/* Y1 */
bool rank_verify_is_due(const struct rank *r, size_t step)
{
    const uint64_t every = r->job->opts.verify_every, n_done = r->job->resume.steps_count + step + 1;

    return every > 0 && (n_done % every == 0 || step + 1 == r->job->n_steps);
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
    r->is_corrupted = true;
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

enum rc rank_verify(struct rank *r, size_t step)
{
    bool is_different = false;
    enum rc rc = RC_OK;

    if (!rank_verify_is_due(r, step))
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
