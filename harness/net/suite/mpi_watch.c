/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_watch.c - MPI's functions with a look at what they do; see mpi_watch.h. */
#include "harness/net/suite/mpi_watch.h"

#include <stdio.h>

#include "harness/base/rc.h"

struct mpi_watch mpi_watch = { .granted_level = MPI_THREAD_MULTIPLE };

#define COUNT(name, params, args, out)                \
    int MPI_##name params                             \
    {                                                 \
        const int code = PMPI_##name args;            \
        mpi_watch.n_comms += *(out) != MPI_COMM_NULL; \
        return code;                                  \
    }
COUNT(Comm_dup, (MPI_Comm c, MPI_Comm *out), (c, out), out)
COUNT(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *out), (c, color, key, out), out)
COUNT(Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *out), (c, type, key, info, out), out)

#define BEGIN(name, params, args)                   \
    int MPI_##name params                           \
    {                                               \
        atomic_fetch_add(&mpi_watch.n_requests, 1); \
        return PMPI_##name args;                    \
    }
BEGIN(Ibarrier, (MPI_Comm c, MPI_Request *r), (c, r))
BEGIN(Iallreduce, (const void *in, void *out, int n, MPI_Datatype d, MPI_Op op, MPI_Comm c, MPI_Request *r),
      (in, out, n, d, op, c, r))
BEGIN(Iallgather, (const void *in, int n, MPI_Datatype d, void *out, int k, MPI_Datatype e, MPI_Comm c, MPI_Request *r),
      (in, n, d, out, k, e, c, r))

/* A message to or from p begins. */
static void watch_message(const void *p)
{
    const char *from = mpi_watch.caller_bytes, *at = p;

    if (from && at >= from && at < from + mpi_watch.n_caller_bytes)
        mpi_watch.n_forbidden++;
    atomic_fetch_add(&mpi_watch.n_requests, 1);
}

int MPI_Isend(const void *p, int n, MPI_Datatype d, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    watch_message(p);
    mpi_watch.n_isends++;
    return PMPI_Isend(p, n, d, to, tag, c, r);
}

int MPI_Issend(const void *p, int n, MPI_Datatype d, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    watch_message(p);
    return PMPI_Issend(p, n, d, to, tag, c, r);
}

int MPI_Irecv(void *p, int n, MPI_Datatype d, int from, int tag, MPI_Comm c, MPI_Request *r)
{
    watch_message(p);
    return PMPI_Irecv(p, n, d, from, tag, c, r);
}

int MPI_Imrecv(void *p, int n, MPI_Datatype d, MPI_Message *m, MPI_Request *r)
{
    watch_message(p);
    return PMPI_Imrecv(p, n, d, m, r);
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    const bool is_begun = *request != MPI_REQUEST_NULL;
    const int code = PMPI_Test(request, done, status);

    if (is_begun && *request == MPI_REQUEST_NULL)
        atomic_fetch_sub(&mpi_watch.n_requests, 1);
    return code;
}

int MPI_Comm_idup(MPI_Comm c, MPI_Comm *out, MPI_Request *request)
{
    mpi_watch.n_comms++;
    atomic_fetch_add(&mpi_watch.n_requests, 1);
    return PMPI_Comm_idup(c, out, request);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    mpi_watch.n_comms--;
    return PMPI_Comm_free(comm);
}

#define FORBID(name, params, args) \
    int MPI_##name params          \
    {                              \
        mpi_watch.n_forbidden++;   \
        return PMPI_##name args;   \
    }
FORBID(Init_thread, (int *n, char ***v, int wanted, int *granted), (n, v, wanted, granted))
FORBID(Finalize, (void), ())
FORBID(Abort, (MPI_Comm c, int code), (c, code))

int MPI_Query_thread(int *level)
{
    const int code = PMPI_Query_thread(level);

    *level = *level < mpi_watch.granted_level ? *level : mpi_watch.granted_level;
    return code;
}

/* --- of the test program ------------------------------------------------------------------------------------------ */

int mpi_watch_expect(bool ok, const char *what, int line)
{
    if (!ok)
        fprintf(stderr, "rank %d, line %d: not so: %s (last error: %s)\n", mpi_watch.rank, line, what, rc_message());
    return !ok;
}

/* The caller's handler, of errors that no test makes. */
static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    fprintf(stderr, "the caller's error handler was called with %d\n", *code);
    mpi_watch.n_forbidden++;
}

void mpi_watch_begin(void)
{
    int level;

    PMPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    PMPI_Comm_rank(MPI_COMM_WORLD, &mpi_watch.rank);
    PMPI_Comm_create_errhandler(on_error, &mpi_watch.handler);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, mpi_watch.handler);
}

int mpi_watch_end(void)
{
    MPI_Errhandler found;
    int n_failures = 0;

    PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    n_failures += EXPECT(found == mpi_watch.handler);
    n_failures += EXPECT(mpi_watch.n_forbidden == 0);
    PMPI_Errhandler_free(&found);
    PMPI_Errhandler_free(&mpi_watch.handler);
    PMPI_Finalize();
    return n_failures;
}
