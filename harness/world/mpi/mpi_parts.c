/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_parts.c - parts of an mpi world: splits, and worlds of survivors.
 *
 * A split is one of MPI's communicator. Survivors cannot have that of all ranks split, nor one of their own, since each
 * way to make one needs all: they have messages of their own in the communicator that they had (mpi_p2p.h), by tags
 * that no other part of it has. Splits of such a part are made likewise.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/mpi/mpi_attach.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_p2p.h"
#include "harness/world/mpi/mpi_world.h"
#include "harness/world/mpi/world_mpi.h"
#include "harness/world/process/process_peers.h"
#include "harness/world/wait.h"

enum { MAX_PARTS = 32767 / N_P2P_TAGS - 1, MAX_SLEEP_NS = 1000000 };

static struct mpi_world *self(struct world *w)
{
    return (struct mpi_world *)w;
}

enum rc mpi_find_host_ranks(struct mpi_world *m)
{
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, m->base.rank, MPI_INFO_NULL, &m->host_comm));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(m->host_comm, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_rank(m->host_comm, &m->base.host_rank));
    TRY_MPI_ALONE(MPI_Comm_size(m->host_comm, &m->base.n_host_ranks));
    m->base.host_first_rank = m->base.rank;
    TRY_MPI_ALONE(MPI_Bcast(&m->base.host_first_rank, 1, MPI_INT, 0, m->host_comm));
out:
    return rc;
}

enum rc mpi_find_hosts(struct mpi_world *m)
{
    enum rc rc;

    m->self->host_of = calloc((size_t)m->base.n_ranks, sizeof *m->self->host_of);
    TRY(mpi_agree_on_memory(m, m->self->host_of != NULL));
    TRY_MPI_ALONE(MPI_Allgather(&m->base.host_first_rank, 1, MPI_INT, m->self->host_of, 1, MPI_INT, m->comm));
out:
    return rc;
}

/* --- parts without MPI -------------------------------------------------------------------------------------------- */

struct claim { /* what a rank asks of a split */
    int color, key, rank;
    int n_made_parts;
};

/* A part of w, whose rank i is rank member[i] of w; part_number: not that of another part with one of these ranks. */
static enum rc make_part(struct world **out, struct world *w, const int *member, int n_ranks, int part_number)
{
    const int *host_of = self(w)->self->host_of;
    struct mpi_world *part = malloc(sizeof *part);
    enum rc rc = RC_OK;

    if (!part)
        return rc_raise(RC_NOMEM, "no memory for a part of %d ranks", n_ranks);
    *part = *self(w);
    part->host_comm = MPI_COMM_NULL;
    part->number = calloc((size_t)n_ranks, sizeof *part->number);
    part->comm_rank = calloc((size_t)n_ranks, sizeof *part->comm_rank);
    if (!part->number || !part->comm_rank)
        FAIL(RC_NOMEM, "no memory for a part of %d ranks", n_ranks);
    if (part_number > MAX_PARTS)
        FAIL(RC_INVAL, "%d worlds of survivors are more than their messages have tags for", part_number);
    const int own_host = host_of[world_number(w, w->rank)];
    part->base.n_host_ranks = part->base.host_rank = 0;
    for (int i = n_ranks - 1; i >= 0; i--) {
        part->number[i] = world_number(w, member[i]);
        part->comm_rank[i] = self(w)->comm_rank ? self(w)->comm_rank[member[i]] : member[i];
        if (member[i] == w->rank)
            part->base.rank = i;
        if (host_of[part->number[i]] != own_host)
            continue;
        part->base.n_host_ranks++;
        part->base.host_rank += member[i] < w->rank;
        part->base.host_first_rank = i;
    }
    part->base.number = part->number;
    part->base.n_ranks = n_ranks;
    part->base.n_busy_host_ranks = part->base.n_host_ranks;
    part->first_tag = part_number * N_P2P_TAGS;
    self(w)->self->n_made_parts = part_number;
    *out = &part->base;
    part = NULL;
out:
    if (part) {
        free(part->number);
        free(part->comm_rank);
        free(part);
    }
    return rc;
}

/* Does the rank of a get the lower rank in the new world, if both have the same color? */
static int compare_claims(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;

    return a->key != b->key ? (a->key < b->key ? -1 : 1) : a->rank - b->rank;
}

static enum rc split_without_mpi(struct world *w, int color, int key, struct world **out)
{
    const struct claim own = { color, key, w->rank, self(w)->self->n_made_parts };
    struct claim *all = calloc((size_t)w->n_ranks, sizeof *all);
    int *member = calloc((size_t)w->n_ranks, sizeof *member);
    int n_members = 0, n_made_parts = 0;
    enum rc rc;

    if (!all || !member)
        FAIL(RC_NOMEM, "no memory to split %d ranks", w->n_ranks);
    TRY(world_allgather(w, &own, all, sizeof own));
    qsort(all, (size_t)w->n_ranks, sizeof *all, compare_claims);
    for (int i = 0; i < w->n_ranks; i++) {
        if (all[i].color == color)
            member[n_members++] = all[i].rank;
        n_made_parts = all[i].n_made_parts > n_made_parts ? all[i].n_made_parts : n_made_parts;
    }
    if (color >= 0)
        TRY(make_part(out, w, member, n_members, n_made_parts + 1));
out:
    free(all);
    free(member);
    return rc;
}

/* --- splits ------------------------------------------------------------------------------------------------------- */

/* base.number of a part that MPI has made. */
static enum rc set_numbers(struct mpi_world *part, struct world *w)
{
    const int own = world_number(w, w->rank);
    enum rc rc;

    part->number = calloc((size_t)part->base.n_ranks, sizeof *part->number);
    TRY(mpi_agree_on_memory(part, part->number != NULL));
    part->base.number = NULL; /* those of w; a loss of one of its ranks is no matter here */
    TRY_MPI_ALONE(MPI_Allgather(&own, 1, MPI_INT, part->number, 1, MPI_INT, part->comm));
    part->base.number = part->number;
out:
    return rc;
}

enum rc mpi_split(struct world *w, int color, int key, struct world **out)
{
    struct mpi_attach *attach = self(w)->self->attach;
    struct mpi_world *part = NULL;
    const int takes_part = color >= 0;
    int n_busy_ranks = 0;
    enum rc rc = RC_OK;

    if (self(w)->comm_rank)
        return split_without_mpi(w, color, key, out);
    part = malloc(sizeof *part);
    if (!part)
        FAIL(RC_NOMEM, "no memory to split %d ranks", w->n_ranks);
    *part = *self(w);
    part->comm = part->host_comm = MPI_COMM_NULL;
    part->number = NULL;
    TRY(attach ? mpi_attach_reserve(attach, 2) : RC_OK);
    TRY(mpi_is_p2p(w) ? mpi_p2p_meet(w) : mpi_barrier(w)); /* sleep here until all arrive: Comm_split spins */
    TRY_MPI_ALONE(MPI_Allreduce(&takes_part, &n_busy_ranks, 1, MPI_INT, MPI_SUM, self(w)->host_comm));
    TRY_MPI_ALONE(MPI_Comm_split(self(w)->comm, takes_part ? color : MPI_UNDEFINED, key, &part->comm));
    if (!takes_part)
        goto out;
    if (attach)
        mpi_attach_keep(attach, part->comm, true);
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(part->comm, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_rank(part->comm, &part->base.rank));
    TRY_MPI_ALONE(MPI_Comm_size(part->comm, &part->base.n_ranks));
    TRY(mpi_find_host_ranks(part));
    if (attach)
        mpi_attach_keep(attach, part->host_comm, false);
    TRY(w->on_loss == ON_LOSS_REPORT ? set_numbers(part, w) : RC_OK);
    part->base.n_busy_host_ranks = n_busy_ranks;
    *out = &part->base;
    part = NULL;
out:
    if (part)
        free(part->number);
    free(part);
    return rc;
}

void mpi_split_close(struct world **w)
{
    struct mpi_world *m = self(*w);

    world_mpi_comm_close(*w, &m->host_comm);
    if (!m->comm_rank)
        world_mpi_comm_close(*w, &m->comm);
    free(m->comm_rank);
    free(m->number);
    free(m);
    *w = NULL;
}

/* --- survivors ---------------------------------------------------------------------------------------------------- */

struct decision { /* of the lowest rank that is not lost */
    int part_number, n_ranks;
    int member[]; /* [w->n_ranks]; n_ranks of them are set: ranks of w */
};

static size_t decision_bytes(const struct world *w)
{
    return sizeof(struct decision) + (size_t)w->n_ranks * sizeof(int);
}

/* RC_OK while this rank may take part: the run has not failed, and it is not lost. */
static enum rc check_run(struct world *w)
{
    world_tick(w);
    return process_peers_check(self(w)->self->peers);
}

/* The lowest rank of w that is not lost. This rank is not. */
static int leader_of(const struct world *w)
{
    int r = 0;

    while (r < w->rank && world_is_lost(w, r))
        r++;
    return r;
}

/* Wait for all ranks of w that are not lost, and decide. Ranks below this one are lost. */
static enum rc decide(struct world *w, struct decision *d)
{
    struct backoff backoff = { .may_spin = false };
    bool *has_come = calloc((size_t)w->n_ranks, sizeof *has_come);
    int n_due = 1;
    enum rc rc;

    if (!has_come)
        FAIL(RC_NOMEM, "no memory for %d survivors", w->n_ranks);
    d->part_number = self(w)->self->n_made_parts;
    while (n_due > 0) {
        TRY(check_run(w));
        n_due = 0;
        for (int r = w->rank + 1; r < w->n_ranks; r++) {
            int n_made_parts = 0;
            if (has_come[r] || world_is_lost(w, r))
                continue;
            rc = mpi_p2p_try_recv(w, &n_made_parts, sizeof n_made_parts, r, TAG_ARRIVE, &has_come[r]);
            if (rc != RC_OK && !world_is_lost(w, r))
                goto out;
            d->part_number = n_made_parts > d->part_number ? n_made_parts : d->part_number;
            n_due += !has_come[r];
        }
        if (n_due > 0)
            mpi_lock_pause(&self(w)->self->lock, &backoff, MAX_SLEEP_NS);
    }
    d->part_number++;
    for (int r = w->rank; r < w->n_ranks; r++)
        if (r == w->rank || (has_come[r] && !world_is_lost(w, r)))
            d->member[d->n_ranks++] = r;
    rc = RC_OK;
out:
    free(has_come);
    return rc;
}

/* A member that is lost meanwhile needs no answer: it is one of the new world, whose collectives end. */
static enum rc announce(struct world *w, const struct decision *d)
{
    enum rc rc = RC_OK;

    for (int i = 1; i < d->n_ranks; i++) {
        rc = mpi_p2p_send(w, d, decision_bytes(w), d->member[i], TAG_DECIDE, UNTIL_PEER_LOST);
        if (rc != RC_OK && !world_is_lost(w, d->member[i]))
            return rc;
    }
    return RC_OK;
}

/* RC_PEER and a lost leader: it is to be asked of the next. */
static enum rc ask(struct world *w, int leader, struct decision *d)
{
    const int n_made_parts = self(w)->self->n_made_parts;
    enum rc rc;

    TRY(mpi_p2p_send(w, &n_made_parts, sizeof n_made_parts, leader, TAG_ARRIVE, UNTIL_PEER_LOST));
    TRY(mpi_p2p_recv(w, d, decision_bytes(w), leader, TAG_DECIDE, UNTIL_PEER_LOST));
out:
    return rc;
}

/* The ranks of w that are not among the survivors are lost, which this one may be the last to learn. */
static enum rc await_losses(struct world *w, const struct decision *d)
{
    struct backoff backoff = { .may_spin = false };
    enum rc rc = RC_OK;

    for (int r = 0, i = 0; r < w->n_ranks; r++) {
        if (i < d->n_ranks && d->member[i] == r) {
            i++;
            continue;
        }
        while (!world_is_lost(w, r)) {
            TRY(check_run(w));
            mpi_lock_pause(&self(w)->self->lock, &backoff, MAX_SLEEP_NS);
        }
    }
out:
    return rc;
}

enum rc mpi_survivors(struct world *w, struct world **out)
{
    struct decision *d = calloc(1, decision_bytes(w));
    enum rc rc;

    if (!d)
        FAIL(RC_NOMEM, "no memory for %d survivors", w->n_ranks);
    for (;;) {
        TRY(check_run(w));
        const int leader = leader_of(w);
        if (leader == w->rank) {
            TRY(decide(w, d));
            TRY(announce(w, d));
            break;
        }
        rc = ask(w, leader, d);
        if (rc == RC_OK)
            break;
        if (!world_is_lost(w, leader))
            goto out;
    }
    TRY(check_run(w));
    TRY(await_losses(w, d));
    TRY(make_part(out, w, d->member, d->n_ranks, d->part_number));
out:
    free(d);
    return rc;
}
