/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - a job: its world, its collectives, its errors. */
#include "harness/lib/job.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

#ifndef GRADMARK_VERSION
#error "define GRADMARK_VERSION: the version of the project, as a string"
#endif

_Static_assert(GM_NOMEM == (int)RC_NOMEM && GM_INVAL == (int)RC_INVAL && GM_IO == (int)RC_IO, "gm_error is rc");
_Static_assert(GM_TIMEOUT == (int)RC_TIMEOUT && GM_PEER == (int)RC_PEER && GM_BUG == (int)RC_BUG, "gm_error is rc");
_Static_assert(GM_UNSUPPORTED == (int)RC_UNSUPPORTED && GM_MISMATCH == (int)RC_MISMATCH, "gm_error is rc");

const char *gm_error_name(int error)
{
    static const struct {
        int error;
        const char *name;
    } all[] = { { GM_OK, "GM_OK" },
                { GM_NOMEM, "GM_NOMEM" },
                { GM_INVAL, "GM_INVAL" },
                { GM_IO, "GM_IO" },
                { GM_TIMEOUT, "GM_TIMEOUT" },
                { GM_PEER, "GM_PEER" },
                { GM_UNSUPPORTED, "GM_UNSUPPORTED" },
                { GM_MISMATCH, "GM_MISMATCH" },
                { GM_BUG, "GM_BUG" } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].error == error)
            return all[i].name;
    return "no gm_error";
}

const char *gm_message(void)
{
    return rc_message();
}

const char *gm_version(void)
{
    return GRADMARK_VERSION;
}

int gm_has_mpi(void)
{
    return GRADMARK_HAVE_MPI;
}

/* Of the process: two jobs would take turns with MPI's error handlers, and the one that initialised MPI would finalise
 * it under the other. Stays set after the job of a gang: rank 0 listens no more. */
static atomic_flag job_is_open = ATOMIC_FLAG_INIT;

enum { MAX_TIMEOUT_S = 86400 };

/* --- open and close ----------------------------------------------------------------------------------------------- */

static bool is_in_gang(void)
{
    return world_may_be_gang(world_of_launcher());
}

/* RC_UNSUPPORTED: processes that could not find each other. RC_INVAL: a communicator, where the launcher has none. */
static enum rc check_alone(const void *mpi_comm, const struct launcher *launcher)
{
    if (mpi_comm && is_in_gang())
        return rc_raise(RC_INVAL,
                        "gm_init: an MPI communicator was given, but %s started this process; pass NULL, or start it "
                        "by mpirun",
                        launcher->name ? launcher->name : "gradmark launch");
    if (gm_has_mpi() || is_in_gang())
        return RC_OK;
    if (mpi_comm)
        return rc_raise(RC_UNSUPPORTED,
                        "gm_init: an MPI communicator was given, but libgradmark was built without MPI");
    if (launcher->name && launcher->n_ranks > 1)
        return rc_raise(RC_UNSUPPORTED,
                        "gm_init: %s started %d processes, but libgradmark was built without MPI: each of them would "
                        "be a job of its own",
                        launcher->name, launcher->n_ranks);
    return RC_OK;
}

/* The environment's, or GM_TIMEOUT_S. */
static enum rc find_timeout(int *out_ms)
{
    const char *text = getenv("GRADMARK_TIMEOUT_S");
    char *end = NULL;

    *out_ms = GM_TIMEOUT_S * 1000;
    if (!text || text[0] == '\0')
        return RC_OK;
    const long seconds = strtol(text, &end, 10);
    if (*end != '\0' || seconds < 1 || seconds > MAX_TIMEOUT_S)
        return rc_raise(RC_INVAL, "gm_init: GRADMARK_TIMEOUT_S=%.40s: a whole number of seconds from 1 to %d is needed",
                        text, MAX_TIMEOUT_S);
    *out_ms = (int)seconds * 1000;
    return RC_OK;
}

static enum rc open_world(struct gm_job *job, const void *mpi_comm)
{
    const struct world_opts opts = { .one_thread = true, .mpi_comm = mpi_comm, .timeout_ms = job->timeout_ms };
    const struct launcher launcher = world_launcher();
    const struct world_ops *ops;
    const char *name;
    enum rc rc;

    TRY(check_alone(mpi_comm, &launcher));
    job->is_of_gang = is_in_gang();
    TRY(world_choose(&ops, "auto", job->is_of_gang || (gm_has_mpi() && (mpi_comm || launcher.name))));
    TRY(world_open(&job->world, ops, &opts));
    name = transport_auto(&ops->module, 0);
    if (!name)
        FAIL(RC_BUG, "gm_init: no transport runs in world %s", ops->module.name);
    TRY(transport_find(&job->transport_ops, name));
out:
    return rc;
}

static void close_parts(struct gm_job *job)
{
    collective_close(&job->collective);
    transport_close(&job->transport);
    compute_close(&job->compute);
    if (job->notes)
        (void)fclose(job->notes);
}

int gm_init(struct gm_job **out, const void *mpi_comm)
{
    struct gm_job *job = NULL;
    enum rc rc;

    if (!out)
        return rc_raise(RC_INVAL, "gm_init: out is NULL, an address for the job is needed");
    if (atomic_flag_test_and_set(&job_is_open))
        return rc_raise(RC_INVAL, is_in_gang() ? "gm_init: a job is open in this process, or was; under gradmark "
                                                 "launch a process has one job"
                                               : "gm_init: a job is open in this process; gm_finalize() ends it before "
                                                 "another begins");
    job = calloc(1, sizeof *job);
    if (!job)
        FAIL(RC_NOMEM, "gm_init: no memory");
    TRY(find_timeout(&job->timeout_ms));
    TRY(open_world(job, mpi_comm));
    TRY(compute_open(&job->compute, &compute_cpu, NULL));
    TRY(signature_transport_open(&job->transport, job->transport_ops, job->world));
    job->transport->fails_together = true;
    *out = job;
    return GM_OK;
out:
    if (job)
        close_parts(job);
    if (job && job->world) {
        char message[RC_MESSAGE_BYTES];
        (void)snprintf(message, sizeof message, "%s", rc_message());
        world_abort(job->world, rc);
        (void)!world_close(&job->world);
        (void)rc_raise(rc, "%s", message);
    }
    if (!job || !job->is_of_gang)
        atomic_flag_clear(&job_is_open);
    free(job);
    return rc;
}

int gm_finalize(struct gm_job **job)
{
    enum rc rc = RC_OK;

    if (!job || !*job)
        return GM_OK;
    if (!(*job)->has_failed)
        (void)!job_agree(*job, &(struct signature){ .function = CALL_FINALIZE }); /* world_close() returns a failure */
    close_parts(*job);
    rc = world_close(&(*job)->world);
    if (!(*job)->is_of_gang)
        atomic_flag_clear(&job_is_open);
    free(*job);
    *job = NULL;
    return rc;
}

int gm_rank(const struct gm_job *job)
{
    return job->world->rank;
}

int gm_size(const struct gm_job *job)
{
    return job->world->n_ranks;
}

int gm_local_rank(const struct gm_job *job)
{
    return job->world->host_rank;
}

int gm_local_size(const struct gm_job *job)
{
    return job->world->n_host_ranks;
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

enum rc job_ended(struct gm_job *job, enum rc rc)
{
    if (rc == RC_OK || rc == RC_INVAL)
        return rc;
    if (!job->has_failed)
        world_abort(job->world, rc);
    job->has_failed = true;
    return rc;
}

enum rc job_check(struct gm_job *job, const char *function)
{
    enum rc rc = RC_OK;

    if (!job)
        FAIL(RC_INVAL, "%s: the job is NULL; gm_init() makes one", function);
    if (job->has_failed)
        FAIL(RC_PEER, "%s: the job has failed before; gm_finalize() tells why", function);
    TRY(job_ended(job, world_check(job->world)));
out:
    return rc;
}

/* --- collectives -------------------------------------------------------------------------------------------------- */

/* Of up to n elements; equal on all ranks. */
static enum rc open_collective(struct gm_job *job, size_t n)
{
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = job->transport,
                                        .compute = job->compute,
                                        .timeout_ms = job->timeout_ms,
                                        .types = COLL_ALLREDUCE | COLL_ALLGATHER | COLL_BROADCAST,
                                        .max_elems = n > 2 * job->max_elems ? n : 2 * job->max_elems };
    const struct collective_ops *ops;
    enum rc rc = RC_OK;

    if (job->collective && n <= job->max_elems)
        return RC_OK;
    collective_close(&job->collective);
    TRY(collective_find(&ops, &collective_kind, collective_kind.default_name));
    TRY(collective_open(&job->collective, ops, &env));
    job->max_elems = env.max_elems;
out:
    return rc;
}

static enum rc run(struct gm_job *job, const struct signature *s, const struct collective_call *call, float *data)
{
    enum rc rc;

    TRY(open_collective(job, call->n_elems));
    TRY(signature_begin(job->transport, s));
    TRY(collective_run(job->collective, call, data));
    TRY(compute_sync(job->compute));
    TRY(signature_end(job->transport, job->timeout_ms));
out:
    return job_ended(job, rc);
}

enum rc job_agree(struct gm_job *job, const struct signature *s)
{
    enum rc rc;

    TRY(signature_begin(job->transport, s));
    TRY(signature_end(job->transport, job->timeout_ms));
out:
    return job_ended(job, rc);
}

enum rc job_sum(struct gm_job *job, enum gm_function function, float *data, const float *input, size_t n)
{
    const struct signature s = { .function = function, .n = n };

    job->n_combined++;
    return run(job, &s, &(struct collective_call){ .type = COLL_ALLREDUCE, .n_elems = n, .input = input }, data);
}

struct combined { /* a function with an op */
    const char *name;
    enum gm_function of[2]; /* by op */
};

static enum rc combine(struct gm_job *job, const struct combined *c, float *data, const float *input, size_t n,
                       enum gm_op op)
{
    enum rc rc;

    TRY(job_check(job, c->name));
    if (op != GM_SUM && op != GM_AVERAGE)
        FAIL(RC_INVAL, "%s: op is %d; there are GM_SUM and GM_AVERAGE", c->name, (int)op);
    TRY(job_sum(job, c->of[op], data, input, n));
    for (size_t i = 0; op == GM_AVERAGE && i < n; i++)
        data[i] /= (float)job->world->n_ranks;
out:
    return rc;
}

int gm_allreduce(struct gm_job *job, float *data, size_t n, enum gm_op op)
{
    const struct combined c = { "gm_allreduce", { CALL_ALLREDUCE_SUM, CALL_ALLREDUCE_AVERAGE } };

    return combine(job, &c, data, NULL, n, op);
}

int gm_allreduce_into(struct gm_job *job, const float *in, size_t n, float *out, enum gm_op op)
{
    const struct combined c = { "gm_allreduce_into", { CALL_ALLREDUCE_INTO_SUM, CALL_ALLREDUCE_INTO_AVERAGE } };
    const uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;

    if (n > 0 && (!in || !out || (a > b ? a - b : b - a) < n * sizeof(float)))
        return rc_raise(RC_INVAL, "gm_allreduce_into: in and out are %s; use gm_allreduce() for a sum in place",
                        in && out ? "parts of one array" : "needed both");
    return combine(job, &c, out, in, n, op);
}

int gm_broadcast(struct gm_job *job, float *data, size_t n, int root)
{
    const struct signature s = { .function = CALL_BROADCAST, .with = root, .n = n };
    enum rc rc;

    TRY(job_check(job, "gm_broadcast"));
    if (root < 0 || root >= job->world->n_ranks)
        FAIL(RC_INVAL, "gm_broadcast: root is %d; the ranks are 0 to %d", root, job->world->n_ranks - 1);
    job->n_broadcasts++;
    TRY(run(job, &s, &(struct collective_call){ .type = COLL_BROADCAST, .root = root, .n_elems = n }, data));
out:
    return rc;
}

int gm_allgather(struct gm_job *job, const float *in, size_t n, float *out)
{
    const struct signature s = { .function = CALL_ALLGATHER, .n = n };
    enum rc rc;

    TRY(job_check(job, "gm_allgather"));
    job->n_combined++;
    if (n > 0)
        memcpy(out + (size_t)job->world->rank * n, in, n * sizeof *in);
    TRY(run(job, &s, &(struct collective_call){ .type = COLL_ALLGATHER, .n_elems = n * (size_t)job->world->n_ranks },
            out));
out:
    return rc;
}

int gm_barrier(struct gm_job *job)
{
    enum rc rc;

    TRY(job_check(job, "gm_barrier"));
    TRY(job_agree(job, &(struct signature){ .function = CALL_BARRIER }));
    TRY(job_ended(job, world_barrier(job->world)));
out:
    return rc;
}
