/* SPDX-License-Identifier: Apache-2.0 */
/* reducer_mutants.c - a right ring, then one thing done wrong. */
#include "allreduce/suite/reducer_mutants.h"

#include <stdlib.h>
#include <string.h>

#include "allreduce/reducer.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct reducer reducer_ring;

struct mutant {
    struct reduction base;
    struct reduction *ring;
    float last; /* bug-stale: what the run before left */
};

static struct mutant *self(struct reduction *r)
{
    return (struct mutant *)r;
}

static enum rc open_ring(struct reduction **out, const struct reduce_env *env, size_t max_elems)
{
    struct mutant *m = calloc(1, sizeof *m);
    enum rc rc;

    if (!m)
        return rc_raise(RC_NOMEM, "no memory for a mutant");
    TRY(reducer_open(&m->ring, &reducer_ring, env, max_elems));
    *out = &m->base;
    m = NULL;
out:
    free(m);
    return rc;
}

static void close_ring(struct reduction **r)
{
    reducer_close(&self(*r)->ring);
    free(*r);
    *r = NULL;
}

static enum rc run_reverse(struct reduction *r, float *data, size_t n)
{
    const enum rc rc = reducer_run(self(r)->ring, data, n);

    for (size_t i = 0; rc == RC_OK && data && i < n / 2; i++) {
        const float other = data[i];
        data[i] = data[n - 1 - i];
        data[n - 1 - i] = other;
    }
    return rc;
}

static enum rc run_losetail(struct reduction *r, float *data, size_t n)
{
    const float own = data && n > 0 ? data[n - 1] : 0;
    const enum rc rc = reducer_run(self(r)->ring, data, n);

    if (rc == RC_OK && data && n > 0)
        data[n - 1] = own;
    return rc;
}

static enum rc run_chatty(struct reduction *r, float *data, size_t n)
{
    struct transport *t = r->env.transport;
    const int p = t->world->n_ranks, rank = t->world->rank;
    char out = 1, in = 0;
    struct xfer tx = { .peer = (rank + 1) % p, .tag = 1, .ptr = &out, .n_bytes = 1 };
    struct xfer rx = { .peer = (rank + p - 1) % p, .tag = 1, .ptr = &in, .n_bytes = 1 };
    enum rc rc;

    TRY(reducer_run(self(r)->ring, data, n));
    if (p > 1)
        TRY(transport_exchange(t, &tx, &rx, r->env.timeout_ms));
out:
    return rc;
}

static enum rc run_overrun(struct reduction *r, float *data, size_t n)
{
    const enum rc rc = reducer_run(self(r)->ring, data, n);

    if (rc == RC_OK && data)
        data[n] = 0;
    return rc;
}

static enum rc run_stale(struct reduction *r, float *data, size_t n)
{
    const enum rc rc = reducer_run(self(r)->ring, data, n);

    if (rc == RC_OK && data && n > 0) {
        const float fresh = data[0];
        data[0] = self(r)->last != 0 ? self(r)->last : fresh;
        self(r)->last = fresh;
    }
    return rc;
}

static enum rc run_average(struct reduction *r, float *data, size_t n)
{
    const enum rc rc = reducer_run(self(r)->ring, data, n);

    for (size_t i = 0; rc == RC_OK && data && i < n; i++)
        data[i] /= (float)r->env.transport->world->n_ranks;
    return rc;
}

/* One rank's sum differs in the last bit: only a comparison between ranks shows it. */
static enum rc run_drift(struct reduction *r, float *data, size_t n)
{
    const enum rc rc = reducer_run(self(r)->ring, data, n);
    uint32_t bits;

    if (rc == RC_OK && data && n == 97 && r->env.transport->world->rank == 1 && data[0] != (float)(int)data[0]) {
        memcpy(&bits, &data[0], sizeof bits);
        bits ^= 1;
        memcpy(&data[0], &bits, sizeof bits);
    }
    return rc;
}

static struct cost predict_ring(const void *opts, int rank, int n_ranks, size_t n_elems)
{
    return reducer_ring.predict(opts, rank, n_ranks, n_elems);
}

static struct cost path_of_ring(const void *opts, int n_ranks, size_t n_elems)
{
    return reducer_ring.critical_path(opts, n_ranks, n_elems);
}

/* Says that it sends a whole vector, as "n_elems for n_bytes" mistakes do. */
static struct cost predict_wrong(const void *opts, int rank, int n_ranks, size_t n_elems)
{
    struct cost cost = reducer_ring.predict(opts, rank, n_ranks, n_elems);

    cost.bytes /= sizeof(float);
    return cost;
}

static enum rc run_right(struct reduction *r, float *data, size_t n)
{
    return reducer_run(self(r)->ring, data, n);
}

#define MUTANT(name_, run_, predict_)                                                                             \
    {                                                                                                             \
        .module.name = name_, .open = open_ring, .run = run_, .predict = predict_, .critical_path = path_of_ring, \
        .close = close_ring                                                                                       \
    }

const struct reducer *const *reducer_mutants(void)
{
    static const struct reducer mutant[] = {
        MUTANT("bug-reverse", run_reverse, predict_ring), MUTANT("bug-losetail", run_losetail, predict_ring),
        MUTANT("bug-chatty", run_chatty, predict_ring),   MUTANT("bug-overrun", run_overrun, predict_ring),
        MUTANT("bug-stale", run_stale, predict_ring),     MUTANT("bug-average", run_average, predict_ring),
        MUTANT("bug-drift", run_drift, predict_ring),     MUTANT("bug-predict", run_right, predict_wrong),
    };
    static const struct reducer *const all[] = { &mutant[0], &mutant[1], &mutant[2], &mutant[3], &mutant[4],
                                                 &mutant[5], &mutant[6], &mutant[7], NULL };
    return all;
}
