/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opaque_loss_test.c WORLD COLLECTIVE SCENE [OPTION] - an algorithm of another library (A9) whose rank 1 does not come
 * to the second sum: what the other ranks say, and that they say it.
 *
 *     absent  it comes no more, but lives: RC_TIMEOUT after the time limit, or RC_PEER where another rank's time was up
 *             a moment before
 *     fails   its body returns an error: RC_PEER, with that error
 *     hangs   it is silent, in a run whose ranks are watched: RC_PEER, naming it
 *     dies    it ends without a word: RC_PEER, naming it
 *     loss    the same where losses are reported (world.W8), and the others make their sums without it
 *
 * Three ranks. In world mpi the first that fails, or whose death the launcher notices, ends all of them: there the
 * result is what is printed.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/opt.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* LIMIT_MS: of the sum that must fail by it, and of what an algorithm does when it is opened for that; else LONG_MS. */
enum { N_ELEMS = 1000, N_RANKS = 3, WHO = 1, LIMIT_MS = 10000, LONG_MS = 60000 };

struct scene {
    const char *name;
    enum rc rc;
    const char *says;
    enum rc later; /* of ranks that were not the first */
    enum on_loss on_loss;
    struct peer_opts stall;
};

static void tell_nobody(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static const struct scene scenes[] = {
    { .name = "absent", .rc = RC_TIMEOUT, .says = "", .later = RC_PEER },
    { .name = "fails", .rc = RC_PEER, .says = "rank 1 failed: planted" },
    { .name = "hangs",
      .rc = RC_PEER,
      .says = "rank 1",
      .stall = { .warn_ns = 5000000000, .abort_ns = 15000000000, .tell = tell_nobody } },
    { .name = "dies", .rc = RC_PEER, .says = "rank 1" },
    { .name = "loss", .rc = RC_PEER, .says = "rank 1", .on_loss = ON_LOSS_REPORT },
};

struct job {
    const struct scene *scene;
    const struct collective_ops *ops;
    const void *opts;
    atomic_int n_told, n_later, n_wrong; /* ranks that ended as the scene says, or as later ones; what went wrong */
};

static enum rc sum(struct collective *c, bool *is_right)
{
    const int p = c->env.transport->world->n_ranks;
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = N_ELEMS };
    float data[N_ELEMS];
    enum rc rc;

    for (int i = 0; i < N_ELEMS; i++)
        data[i] = (float)(i + c->env.transport->world->rank);
    TRY(collective_run(c, &call, data));
    *is_right = true;
    for (int i = 0; i < N_ELEMS; i++)
        *is_right = *is_right && data[i] == (float)(p * i + p * (p - 1) / 2);
out:
    return rc;
}

static enum rc open_sums(struct collective **out, const struct job *job, struct transport *t, int timeout_ms)
{
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = t,
                                        .timeout_ms = timeout_ms,
                                        .opts = job->opts,
                                        .types = COLL_ALLREDUCE,
                                        .max_elems = N_ELEMS };

    t->fails_together = true;
    return collective_open(out, job->ops, &env);
}

static enum rc open_transport(struct transport **out, struct world *w)
{
    const struct transport_ops *ops = NULL;
    enum rc rc;

    TRY(transport_find(&ops, transport_auto(&w->ops->module, 0)));
    TRY(transport_open(out, ops, w));
out:
    return rc;
}

/* Rank WHO does what the scene says, once all have made the first sum. */
static enum rc leave(struct world *w, const struct scene *scene)
{
    if (strcmp(scene->name, "fails") == 0)
        return rc_raise(RC_IO, "planted");
    if (strcmp(scene->name, "hangs") == 0)
        world_hang(w);
    if (strcmp(scene->name, "absent") != 0)
        world_die(w);
    while (world_check(w) == RC_OK) /* until another rank has failed */
        world_pause(w, 10000000);
    return RC_OK;
}

static enum rc sum_of_survivors(struct world *w, const struct job *job, bool *is_right)
{
    struct transport *t = NULL;
    struct collective *c = NULL;
    struct world *left = NULL;
    enum rc rc;

    TRY(world_survivors(w, &left));
    TRY(open_transport(&t, left));
    TRY(open_sums(&c, job, t, LONG_MS));
    TRY(sum(c, is_right));
    TRY(world_barrier(left));
out:
    collective_close(&c);
    transport_close(&t);
    world_split_close(&left);
    return rc;
}

static void judge(struct job *job, const struct world *w, enum rc rc)
{
    if (rc == job->scene->rc && strstr(rc_message(), job->scene->says)) {
        atomic_fetch_add(&job->n_told, 1);
        return;
    }
    if (rc != RC_OK && rc == job->scene->later) {
        atomic_fetch_add(&job->n_later, 1);
        return;
    }
    atomic_fetch_add(&job->n_wrong, 1);
    fprintf(stderr, "%s, rank %d: %s: %s; should be %s: ...%s...\n", job->scene->name, w->rank, rc_name(rc),
            rc_message(), rc_name(job->scene->rc), job->scene->says);
}

/* The second sum, of all ranks but one; the third says the same. */
static enum rc sum_without(struct collective *c, struct job *job)
{
    char message[RC_MESSAGE_BYTES];
    bool is_right = false;
    const enum rc rc = sum(c, &is_right);

    snprintf(message, sizeof message, "%s", rc_message());
    judge(job, c->env.transport->world, rc);
    if (rc != RC_OK && (sum(c, &is_right) != rc || strcmp(message, rc_message()) != 0)) {
        atomic_fetch_add(&job->n_wrong, 1);
        fprintf(stderr, "%s: then \"%s\"\n", message, rc_message());
    }
    return rc == RC_OK ? RC_OK : rc_raise(rc, "%s", message);
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct transport *t = NULL;
    struct collective *c = NULL;
    bool is_right = false;
    enum rc rc;

    TRY(open_transport(&t, w));
    TRY(open_sums(&c, job, t, LONG_MS));
    TRY(sum(c, &is_right));
    TRY(world_barrier(w));
    if (strcmp(job->scene->name, "absent") == 0) {
        collective_close(&c);
        TRY(open_sums(&c, job, t, LIMIT_MS));
        TRY(world_barrier(w));
    }
    if (w->rank == WHO) {
        rc = leave(w, job->scene);
        goto out;
    }
    rc = sum_without(c, job);
    if (job->scene->on_loss == ON_LOSS_REPORT)
        TRY(sum_of_survivors(w, job, &is_right));
out:
    if (rc != RC_OK) /* as a rank of a training does: before it closes */
        world_abort(w, rc);
    atomic_fetch_add(&job->n_wrong, w->rank != WHO && !is_right);
    collective_close(&c);
    transport_close(&t);
    return rc;
}

static enum rc read_options(const void **out, union module_values *values, const struct collective_ops *ops, int n,
                            char **option)
{
    static const struct module_kind *const kinds[] = { &collective_kind, NULL };
    struct opt_group group[MAX_MODULE_GROUPS];
    enum rc rc;

    TRY(opt_parse(group, module_opt_groups(group, kinds, values), NULL, n, option));
    *out = module_options(values, kinds, &ops->module);
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct job job = { .scene = NULL };
    const struct world_ops *world;
    union module_values values;
    enum rc rc;

    for (size_t i = 0; argc >= 4 && i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(argv[3], scenes[i].name) == 0)
            job.scene = &scenes[i];
    if (!job.scene)
        return 2;
    TRY(world_find(&world, argv[1]));
    TRY(collective_find(&job.ops, &collective_kind, argv[2]));
    TRY(read_options(&job.opts, &values, job.ops, argc - 4, argv + 4));
    const bool is_launched = world->module.caps & WORLD_LAUNCHED;
    const struct world_opts opts = { .on_loss = job.scene->on_loss, .stall = job.scene->stall };
    rc = world_run(world, &opts, is_launched ? 0 : N_RANKS, body, &job);
    if (job.scene->on_loss == ON_LOSS_ABORT)
        rc = rc == RC_OK ? rc_raise(RC_BUG, "the run did not fail") : RC_OK;
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    const int n_told = atomic_load(&job.n_told);
    return rc != RC_OK || atomic_load(&job.n_wrong) > 0 || n_told == 0 ||
           n_told + atomic_load(&job.n_later) != N_RANKS - 1;
}
