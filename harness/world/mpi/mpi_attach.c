/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_attach.c - failures and the end of a run in a caller's MPI; the contract is in mpi_attach.h. */
#include "harness/world/mpi/mpi_attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_p2p.h"
#include "harness/world/wait.h"

enum { TAG_NOTICE = 1, FIRST_CAPACITY = 16 };

#define LOOK_NS UINT64_C(2000000)
#define MAX_SLEEP_NS UINT64_C(1000000)

/* For the notice of any rank. */
static enum rc listen(struct mpi_attach *a)
{
    enum rc rc = RC_OK;

    TRY_MPI(a->lock, MPI_Irecv(&a->incoming, sizeof a->incoming, MPI_BYTE, MPI_ANY_SOURCE, TAG_NOTICE, a->comm,
                               &a->incoming_request));
out:
    return rc;
}

/* Return errors of the caller's communicator, and of calls without one, which count as those of MPI_COMM_WORLD. */
static enum rc replace_handlers(struct mpi_attach *a, const MPI_Comm *caller)
{
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &a->global_handler));
    TRY_MPI_ALONE(MPI_Comm_get_errhandler(*caller, &a->caller_handler));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(*caller, MPI_ERRORS_RETURN));
out:
    return rc;
}

/* The wait for the others since started_ns, in step `what` of the run: RC_TIMEOUT, and the run is given up
 * (world.M6). */
static enum rc check_limit(struct mpi_attach *a, uint64_t started_ns, const char *what)
{
    if (a->limit_ns == 0 || wait_clock_ns() - started_ns <= a->limit_ns)
        return RC_OK;
    a->is_given_up = true;
    return rc_raise(RC_TIMEOUT, "world mpi: not all ranks came to its %s within %.6g s", what,
                    1e-9 * (double)a->limit_ns);
}

/* The request of a collective of all ranks. */
static enum rc await_all(struct mpi_attach *a, MPI_Request *request, const char *what)
{
    const uint64_t started_ns = wait_clock_ns();
    struct backoff backoff = { .may_spin = false };
    int done = 0;
    enum rc rc = RC_OK;

    for (;;) {
        TRY_MPI(a->lock, MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        TRY(check_limit(a, started_ns, what));
        mpi_lock_pause(a->lock, &backoff, MAX_SLEEP_NS);
    }
out:
    return rc;
}

/* RC_NOMEM on all ranks alike. */
static enum rc alloc_lists(struct mpi_attach *a)
{
    MPI_Request request;
    enum rc rc = RC_OK;

    a->notice = malloc((size_t)a->n_ranks * sizeof *a->notice);
    a->flags = calloc((size_t)a->n_ranks, sizeof *a->flags);
    a->is_ready = a->notice && a->flags && mpi_attach_reserve(a, FIRST_CAPACITY) == RC_OK;
    TRY_MPI(a->lock, MPI_Iallreduce(&a->is_ready, &a->all_are_ready, 1, MPI_INT, MPI_MIN, a->comm, &request));
    TRY(await_all(a, &request, "begin")); /* who gave up before this rank came does not answer */
    if (!a->all_are_ready || !a->notice)
        FAIL(RC_NOMEM, "world mpi: no memory for %d ranks", a->n_ranks);
    for (int r = 0; r < a->n_ranks; r++)
        a->notice[r] = MPI_REQUEST_NULL;
out:
    return rc;
}

enum rc mpi_attach_init(struct mpi_attach *a, struct mpi_lock *lock, const MPI_Comm *caller, int timeout_ms)
{
    MPI_Request request;
    enum rc rc;

    *a = (struct mpi_attach){ .lock = lock,
                              .limit_ns = (uint64_t)timeout_ms * UINT64_C(1000000),
                              .comm = MPI_COMM_NULL,
                              .first.rank = -1,
                              .incoming_request = MPI_REQUEST_NULL,
                              .caller_handler = MPI_ERRHANDLER_NULL,
                              .global_handler = MPI_ERRHANDLER_NULL };
    pthread_mutex_init(&a->mutex, NULL);
    pthread_mutex_init(&a->left_mutex, NULL);
    cores_thread_set(&a->caller_cores);
    TRY(replace_handlers(a, caller));
    TRY_MPI(lock, MPI_Comm_idup(*caller, &a->comm, &request)); /* asleep until all are here */
    TRY(await_all(a, &request, "begin"));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(a->comm, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_rank(a->comm, &a->rank));
    TRY_MPI_ALONE(MPI_Comm_size(a->comm, &a->n_ranks));
    TRY(alloc_lists(a));
    TRY(listen(a));
out:
    return rc;
}

/* --- communicators and requests that wait for the end ------------------------------------------------------------- */

enum rc mpi_attach_reserve(struct mpi_attach *a, int n)
{
    if (a->n_kept + n <= a->capacity)
        return RC_OK;
    const int capacity = 2 * (a->n_kept + n);
    struct mpi_kept_comm *kept = realloc(a->kept, (size_t)capacity * sizeof *kept);
    if (!kept)
        return rc_raise(RC_NOMEM, "world mpi: no memory for %d communicators", capacity);
    a->kept = kept;
    a->capacity = capacity;
    return RC_OK;
}

void mpi_attach_keep(struct mpi_attach *a, MPI_Comm comm, bool is_bootstrap)
{
    a->kept[a->n_kept++] = (struct mpi_kept_comm){ comm, is_bootstrap };
}

void mpi_attach_leave(struct mpi_attach *a, struct mpi_left *left)
{
    pthread_mutex_lock(&a->left_mutex);
    left->next = a->left;
    a->left = left;
    pthread_mutex_unlock(&a->left_mutex);
}

/* Free what MPI has ended; is anything left? After the body. An error ends a request too. */
static bool free_ended(struct mpi_attach *a)
{
    for (struct mpi_left **link = &a->left; *link;) {
        struct mpi_left *left = *link;
        int done = 0;
        mpi_lock_take(a->lock);
        const int code = MPI_Test(&left->request, &done, MPI_STATUS_IGNORE);
        mpi_lock_give(a->lock);
        if (code == MPI_SUCCESS && !done) {
            link = &left->next;
            continue;
        }
        *link = left->next;
        free(left->memory);
        free(left);
    }
    return a->left != NULL;
}

/* Receive one message that nobody waited for, if there is one, with its bytes: without room for a long message Open MPI
 * 4.1.4 damages memory. Over INT_MAX bytes, or without memory: without its bytes, which MPI calls an error. */
static enum rc discard_message(struct mpi_attach *a, MPI_Comm comm)
{
    void *bytes = NULL;
    MPI_Request request;
    MPI_Message matched;
    MPI_Status status;
    int found = 0, n_bytes = 0;
    enum rc rc = RC_OK;

    TRY_MPI(a->lock, MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &matched, &status));
    if (!found)
        return RC_OK;
    TRY_MPI(a->lock, MPI_Get_count(&status, MPI_BYTE, &n_bytes));
    bytes = n_bytes > 0 ? malloc((size_t)n_bytes) : NULL;
    TRY_MPI(a->lock, MPI_Imrecv(bytes, bytes ? n_bytes : 0, MPI_BYTE, &matched, &request));
    rc = mpi_p2p_finish(a, &request);
    if (rc == RC_MISMATCH)
        rc = RC_OK;
out:
    if (rc == RC_OK) /* else MPI may still write to it */
        free(bytes);
    return rc;
}

/* world.M3: no rank is through before all sends of all ranks have ended, which are those that were received (world.M2).
 * T. Hoefler, C. Siebert, A. Lumsdaine, Scalable communication protocols for dynamic sparse data exchange, PPoPP
 * 2010. */
static enum rc empty_comms(struct mpi_attach *a)
{
    struct backoff backoff = { .may_spin = false };
    const uint64_t started_ns = wait_clock_ns();
    MPI_Request request;
    bool is_through = false;
    int all_are = 0;
    enum rc rc = RC_OK;

    while (!all_are) {
        if (!free_ended(a) && !is_through) {
            TRY_MPI(a->lock, MPI_Ibarrier(a->comm, &request));
            is_through = true;
        }
        for (int i = 0; i < a->n_kept; i++)
            TRY(discard_message(a, a->kept[i].comm));
        if (is_through)
            TRY_MPI(a->lock, MPI_Test(&request, &all_are, MPI_STATUS_IGNORE));
        if (!all_are) {
            TRY(check_limit(a, started_ns, "end"));
            mpi_lock_pause(a->lock, &backoff, MAX_SLEEP_NS);
        }
    }
out:
    return rc;
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Keep the first failure this rank knows of. */
static void record(struct mpi_attach *a, const struct mpi_failure *failure)
{
    pthread_mutex_lock(&a->mutex);
    if (!atomic_load(&a->failed)) {
        a->first = *failure;
        a->is_own = failure->rank == a->rank;
        atomic_store(&a->failed, true); /* publishes both */
    }
    pthread_mutex_unlock(&a->mutex);
}

/* Send this rank's own failure to the others, where this thread may; else the main task does, at its next look. */
static void tell(struct mpi_attach *a)
{
    if (!mpi_lock_admits(a->lock) || atomic_exchange(&a->has_told, true))
        return;
    for (int r = 0; r < a->n_ranks; r++) {
        mpi_lock_take(a->lock);
        if (r != a->rank &&
            MPI_Isend(&a->first, sizeof a->first, MPI_BYTE, r, TAG_NOTICE, a->comm, &a->notice[r]) != MPI_SUCCESS)
            a->notice[r] = MPI_REQUEST_NULL;
        mpi_lock_give(a->lock);
    }
}

void mpi_attach_fail(struct mpi_attach *a, enum rc why, const char *message, uint64_t now_ns)
{
    struct mpi_failure failure = { .rank = a->rank, .rc = why, .failed_ns = now_ns };

    (void)snprintf(failure.message, sizeof failure.message, "%s", message);
    record(a, &failure);
    if (a->is_own)
        tell(a);
}

void mpi_attach_hear(struct mpi_attach *a, const struct mpi_failure *failure)
{
    record(a, failure);
}

static void look(struct mpi_attach *a)
{
    const uint64_t now_ns = wait_clock_ns();
    int done = 0;

    if (now_ns - atomic_load_explicit(&a->looked_ns, memory_order_relaxed) < LOOK_NS || !mpi_lock_admits(a->lock))
        return;
    atomic_store_explicit(&a->looked_ns, now_ns, memory_order_relaxed);
    mpi_lock_take(a->lock);
    if (a->incoming_request != MPI_REQUEST_NULL)
        (void)MPI_Test(&a->incoming_request, &done, MPI_STATUS_IGNORE);
    mpi_lock_give(a->lock);
    if (done)
        record(a, &a->incoming);
}

enum rc mpi_attach_check(struct mpi_attach *a)
{
    if (!atomic_load_explicit(&a->failed, memory_order_acquire)) {
        look(a);
        if (!atomic_load_explicit(&a->failed, memory_order_acquire))
            return RC_OK;
    }
    if (a->is_own)
        tell(a);
    return rc_raise(RC_PEER, "rank %d failed: %s", a->first.rank, a->first.message);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* flags[r] := rank r failed by itself. When all ranks are here; who is not may ask for a meeting meanwhile
 * (world.M4). */
static enum rc meet_at_end(struct mpi_attach *a)
{
    const uint64_t started_ns = wait_clock_ns();
    struct backoff backoff = { .may_spin = false };
    MPI_Request request;
    int done = 0;
    enum rc rc = RC_OK, refused = RC_OK;

    a->has_failed = a->is_own;
    TRY_MPI(a->lock, MPI_Iallgather(&a->has_failed, 1, MPI_INT, a->flags, 1, MPI_INT, a->comm, &request));
    for (;;) {
        TRY_MPI(a->lock, MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        for (int i = 0; i < a->n_kept && refused == RC_OK; i++)
            if (a->kept[i].is_bootstrap)
                refused = mpi_p2p_refuse_meeting(a, a->kept[i].comm);
        TRY(check_limit(a, started_ns, "end"));
        mpi_lock_pause(a->lock, &backoff, MAX_SLEEP_NS);
    }
    rc = refused; /* not before the request, which reads has_failed, has ended */
out:
    return rc;
}

static bool is_earlier(const struct mpi_failure *f, const struct mpi_failure *than)
{
    return than->rank < 0 || f->failed_ns < than->failed_ns ||
           (f->failed_ns == than->failed_ns && f->rank < than->rank);
}

/* The notice in a->incoming is read. */
static void take_notice(struct mpi_attach *a, struct mpi_failure *first)
{
    a->flags[a->incoming.rank] = 0;
    if (is_earlier(&a->incoming, first))
        *first = a->incoming;
}

static bool is_notice_due(const struct mpi_attach *a)
{
    for (int r = 0; r < a->n_ranks; r++)
        if (a->flags[r])
            return true;
    return false;
}

/* *first := the earliest failure. Every rank that failed by itself sends this one a notice, and none comes twice. */
static enum rc read_notices(struct mpi_attach *a, struct mpi_failure *first)
{
    enum rc rc = RC_OK;

    first->rank = -1;
    if (a->is_own)
        *first = a->first;
    a->flags[a->rank] = 0;
    if (a->incoming_request == MPI_REQUEST_NULL) /* look() had one */
        take_notice(a, first);
    while (is_notice_due(a)) {
        if (a->incoming_request == MPI_REQUEST_NULL)
            TRY(listen(a));
        TRY(mpi_p2p_finish(a, &a->incoming_request));
        take_notice(a, first);
    }
    if (a->incoming_request != MPI_REQUEST_NULL) {
        TRY_MPI(a->lock, MPI_Cancel(&a->incoming_request));
        TRY(mpi_p2p_finish(a, &a->incoming_request));
    }
    for (int r = 0; r < a->n_ranks; r++)
        TRY(mpi_p2p_finish(a, &a->notice[r]));
out:
    return rc;
}

enum rc mpi_attach_end(struct mpi_attach *a)
{
    struct mpi_failure first;
    enum rc rc;

    if (a->is_own)
        tell(a);
    TRY(meet_at_end(a));
    TRY(read_notices(a, &first));
    TRY(empty_comms(a));
    if (first.rank >= 0)
        rc = rc_raise(first.rc, "rank %d: %s", first.rank, first.message);
out:
    return rc;
}

static void put_back_handler(MPI_Comm comm, MPI_Errhandler *handler)
{
    if (*handler == MPI_ERRHANDLER_NULL)
        return;
    MPI_Comm_set_errhandler(comm, *handler);
    MPI_Errhandler_free(handler);
}

void mpi_attach_fini(struct mpi_attach *a, const MPI_Comm *caller)
{
    for (int i = 0; i < a->n_kept && !a->is_given_up; i++)
        MPI_Comm_free(&a->kept[i].comm);
    if (a->comm != MPI_COMM_NULL && !a->is_given_up)
        MPI_Comm_free(&a->comm);
    put_back_handler(*caller, &a->caller_handler);
    put_back_handler(MPI_COMM_WORLD, &a->global_handler);
    if (a->is_given_up) /* world.M6 */
        return;
    free(a->kept);
    free(a->flags);
    free(a->notice);
    pthread_mutex_destroy(&a->left_mutex);
    pthread_mutex_destroy(&a->mutex);
}
