/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_substitute.c - a library with NCCL's symbols whose sums are real, over host memory, among threads of a process
 * and among processes of a host: a file that all of them map has a place for the addends of each rank.
 *
 * Sums are made in the order of ranks, as the reducer "root" makes them. Calls behave as those of a communicator that
 * does not block: what takes time is in progress until ncclCommGetAsyncError() has said otherwise. The work is queued
 * on emulated streams (emulated_stream.h), and no step of it waits. A rank that aborts tells the others nothing, as
 * over a GPU's own links. What NCCL forbids ends the process with a line. Tests only.
 */
#include "allreduce/suite/nccl_substitute.h"

#include <fcntl.h>
#include <math.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/compute/suite/emulated_stream.h"

ncclResult_t ncclGroupStart(void); /* nccl.h has no prototypes of these two in C */
ncclResult_t ncclGroupEnd(void);

enum { MOST_RANKS = 8, CHUNK_ELEMS = 4096, MOST_IN_GROUP = 4096 };

struct shared { /* by all ranks of a communicator */
    atomic_int n_joined;
    atomic_uint_fast64_t n_put[MOST_RANKS], n_summed[MOST_RANKS]; /* chunks, of each rank */
    size_t n_elems[MOST_RANKS];                                   /* of the chunk that it has put */
    int kind[MOST_RANKS];                                         /* likewise: enum sum_kind */
    float slot[MOST_RANKS][CHUNK_ELEMS];
};

struct sum;

struct ncclComm {
    struct shared *shared;
    int rank, n_ranks, n_groups, n_in_flight;
    uint64_t n_chunks;
    ncclResult_t failed;                /* ncclSuccess: not yet */
    bool is_through;                    /* with its last call */
    bool is_ended;                      /* aborted or destroyed; freed once nothing is in flight */
    struct sum *waiting[MOST_IN_GROUP]; /* of the last group: queued when it is through with that */
    int n_waiting;
};

enum sum_kind { SUM_TO_ALL, SUM_TO_ROOT, SPREAD_FROM_ROOT };

struct sum { /* one ncclAllReduce(), ncclReduce() or ncclBroadcast() */
    enum sum_kind kind;
    int root;
    struct ncclComm *comm;
    struct emulated_stream *stream;
    const void *from;
    void *to;
    size_t n_elems, n_done;
    int group;
    bool has_put;
};

struct fault {
    int rank, n;
    char what[16];
};

static atomic_int n_live, n_init, n_abort, n_destroy;
static _Thread_local struct sum *group[MOST_IN_GROUP];
static _Thread_local int n_in_group, depth;

int nccl_substitute_count(const char *what)
{
    return atomic_load(strcmp(what, "live") == 0    ? &n_live
                       : strcmp(what, "init") == 0  ? &n_init
                       : strcmp(what, "abort") == 0 ? &n_abort
                                                    : &n_destroy);
}

static void forbid(bool is_wrong, const char *what)
{
    if (!is_wrong)
        return;
    fprintf(stderr, "nccl_substitute: %s\n", what);
    abort();
}

/* Is this rank to fail so? n: which group; 0: in none. */
static bool is_to_fail(int rank, const char *what, int n)
{
    const char *text = getenv("NCCL_SUBSTITUTE_FAULT");
    struct fault f = { .rank = -1 };

    return text && sscanf(text, "%d:%15[a-z]:%d", &f.rank, f.what, &f.n) >= 2 && f.rank == rank &&
           strcmp(f.what, what) == 0 && (n == 0 || f.n == n);
}

static bool go_on(void *sum);

static void queue_waiting(struct ncclComm *c)
{
    for (int i = 0; i < c->n_waiting; i++) {
        c->n_in_flight++;
        c->waiting[i]->stream->call(c->waiting[i]->stream, go_on, c->waiting[i]);
    }
    c->n_waiting = 0;
}

/* --- communicators --- */

/* The file of the last unique id that this process made: others may want it until the process ends. */
static char last_path[sizeof(ncclUniqueId)];
static pthread_mutex_t last_path_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((destructor)) static void unlink_last(void)
{
    if (last_path[0])
        (void)unlink(last_path);
}

ncclResult_t ncclGetVersion(int *version)
{
    const char *text = getenv("NCCL_SUBSTITUTE_VERSION");

    *version = text ? atoi(text) : NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const char *folder = getenv("TMPDIR");
    int fd;

    if (is_to_fail(0, "id", 0))
        return ncclSystemError;
    snprintf(id->internal, sizeof id->internal, "%s/nccl_substitute.XXXXXX", folder ? folder : "/tmp");
    fd = mkostemp(id->internal, O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) != 0)
        return ncclSystemError;
    (void)close(fd);
    (void)pthread_mutex_lock(&last_path_lock); /* hosts of one process make their ids at once */
    memcpy(last_path, id->internal, sizeof last_path);
    (void)pthread_mutex_unlock(&last_path_lock);
    return ncclSuccess;
}

static struct shared *map(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        (void)close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n_ranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    struct ncclComm *c;

    forbid(config->blocking != 0, "a communicator that blocks cannot be ended when a rank is lost");
    if (n_ranks > MOST_RANKS || is_to_fail(rank, "init", 0))
        return ncclInvalidArgument;
    c = calloc(1, sizeof *c);
    if (!c)
        return ncclSystemError;
    c->rank = rank;
    c->n_ranks = n_ranks;
    c->shared = map(id.internal);
    if (!c->shared) {
        free(c);
        return ncclSystemError;
    }
    atomic_fetch_add(&n_live, 1);
    atomic_fetch_add(&n_init, 1);
    if (!is_to_fail(rank, "absent", 0))
        atomic_fetch_add(&c->shared->n_joined, 1);
    *comm = c;
    return ncclInProgress;
}

static void end(struct ncclComm *c)
{
    if (!c->is_ended || c->n_in_flight > 0)
        return;
    while (c->n_waiting > 0)
        free(c->waiting[--c->n_waiting]);
    (void)munmap(c->shared, sizeof *c->shared);
    free(c);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *result)
{
    forbid(c->is_ended, "asked of a communicator that was ended");
    *result = c->failed;
    if (*result == ncclSuccess && (atomic_load(&c->shared->n_joined) < c->n_ranks || !c->is_through))
        *result = ncclInProgress;
    queue_waiting(c);
    c->is_through = true;
    return ncclSuccess;
}

static ncclResult_t busy(struct ncclComm *c)
{
    c->is_through = false;
    return ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
    forbid(c->is_ended || depth > 0, "finalize of a communicator that was ended, or inside a group");
    forbid(c->n_in_flight + c->n_waiting > 0, "finalize with sums in flight waits for other ranks");
    return busy(c);
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    forbid(c->is_ended || !c->is_through || c->n_in_flight > 0, "destroyed while it has work to do");
    atomic_fetch_add(&n_destroy, 1);
    atomic_fetch_sub(&n_live, 1);
    c->is_ended = true;
    end(c);
    return ncclSuccess;
}

#ifndef NCCL_SUBSTITUTE_WITHOUT_ABORT
ncclResult_t ncclCommAbort(ncclComm_t c)
{
    forbid(c->is_ended, "aborted twice");
    forbid(depth > 0, "abort inside a group waits for its end");
    atomic_fetch_add(&n_abort, 1);
    atomic_fetch_sub(&n_live, 1);
    c->is_ended = true;
    end(c);
    return ncclSuccess;
}
#endif

/* --- sums --- */

static bool all_have(const struct ncclComm *c, const atomic_uint_fast64_t *n, uint64_t n_wanted)
{
    for (int r = 0; r < c->n_ranks; r++)
        if (atomic_load(&n[r]) < n_wanted)
            return false;
    return true;
}

static size_t chunk_of(const struct sum *s)
{
    return s->n_elems - s->n_done < CHUNK_ELEMS ? s->n_elems - s->n_done : CHUNK_ELEMS;
}

static void put(struct sum *s)
{
    struct ncclComm *c = s->comm;
    const float *from = s->stream->host_address(s->from);

    memcpy(c->shared->slot[c->rank], from + s->n_done, chunk_of(s) * sizeof *from);
    c->shared->n_elems[c->rank] = chunk_of(s);
    c->shared->kind[c->rank] = (int)s->kind;
    atomic_store(&c->shared->n_put[c->rank], c->n_chunks + 1);
    s->has_put = true;
}

/* What element i of the chunk becomes on this rank; a sum to the root is of no use to others. */
static float result_of(const struct sum *s, size_t i)
{
    const struct ncclComm *c = s->comm;
    float sum = c->shared->slot[0][i];

    if (s->kind == SPREAD_FROM_ROOT)
        return c->shared->slot[s->root][i];
    for (int r = 1; r < c->n_ranks; r++)
        sum += c->shared->slot[r][i];
    return s->kind == SUM_TO_ROOT && c->rank != s->root ? NAN : sum;
}

static void add_up(struct sum *s)
{
    struct ncclComm *c = s->comm;
    float *to = s->stream->host_address(s->to);
    const size_t n = chunk_of(s);

    for (int r = 1; r < c->n_ranks; r++)
        forbid(c->shared->n_elems[r] != c->shared->n_elems[0] || c->shared->kind[r] != c->shared->kind[0],
               "ranks sum arrays of different lengths, or do different things");
    for (size_t i = 0; i < n; i++)
        to[s->n_done + i] = result_of(s, i);
    atomic_store(&c->shared->n_summed[c->rank], ++c->n_chunks);
    s->n_done += n;
    s->has_put = false;
}

/* A step of the stream. */
static bool go_on(void *arg)
{
    struct sum *s = arg;
    struct ncclComm *c = s->comm;
    bool fails = is_to_fail(c->rank, "late", s->group) || is_to_fail(c->rank, "remote", s->group);

    if (fails && !c->is_ended)
        c->failed = is_to_fail(c->rank, "late", s->group) ? ncclSystemError : ncclRemoteError;
    while (!c->is_ended && !fails && s->n_done < s->n_elems) {
        if (is_to_fail(c->rank, "hang", s->group))
            return false;
        if (!s->has_put && !all_have(c, c->shared->n_summed, c->n_chunks))
            return false;
        if (!s->has_put)
            put(s);
        if (!all_have(c, c->shared->n_put, c->n_chunks + 1))
            return false;
        add_up(s);
    }
    c->n_in_flight--;
    free(s);
    end(c);
    return true;
}

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

static ncclResult_t queue(const struct sum *wanted, ncclDataType_t type, ncclRedOp_t op)
{
    struct ncclComm *c = wanted->comm;
    struct sum *s = calloc(1, sizeof *s);

    forbid(c->is_ended || !c->is_through, "a sum of a communicator that is in progress or was ended");
    forbid(depth != 1 || n_in_group == MOST_IN_GROUP, "a sum outside a group");
    forbid(!s || type != ncclFloat32 || op != ncclSum || wanted->n_elems == 0, "a sum of something else than floats");
    if (n_in_group == 0)
        c->n_groups++;
    *s = *wanted;
    s->group = c->n_groups;
    if (is_to_fail(c->rank, "sum", c->n_groups)) {
        free(s);
        return ncclInvalidArgument;
    }
    group[n_in_group++] = s;
    return ncclSuccess;
}

static struct emulated_stream *stream_of(cudaStream_t stream)
{
    return (struct emulated_stream *)(void *)stream;
}

static struct sum sum_of(const void *from, void *to, size_t n_elems, ncclComm_t c, cudaStream_t stream)
{
    return (struct sum){ .comm = c, .stream = stream_of(stream), .from = from, .to = to, .n_elems = n_elems };
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t n_elems, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t stream)
{
    struct sum s = sum_of(from, to, n_elems, c, stream);

    s.kind = SUM_TO_ALL;
    return queue(&s, type, op);
}

ncclResult_t ncclReduce(const void *from, void *to, size_t n_elems, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t stream)
{
    struct sum s = sum_of(from, to, n_elems, c, stream);

    s.kind = SUM_TO_ROOT;
    s.root = root;
    return queue(&s, type, op);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t n_elems, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream)
{
    struct sum s = sum_of(from, to, n_elems, c, stream);

    s.kind = SPREAD_FROM_ROOT;
    s.root = root;
    return queue(&s, type, ncclSum);
}

ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t result = ncclSuccess;

    forbid(depth != 1, "a group that was not begun");
    depth = 0;
    for (int i = 0; i < n_in_group; i++) {
        struct sum *s = group[i];
        result = busy(s->comm);
        if (is_to_fail(s->comm->rank, "end", s->group)) {
            result = ncclUnhandledCudaError;
            free(s);
            continue;
        }
        s->comm->waiting[s->comm->n_waiting++] = s;
    }
    n_in_group = 0;
    return result;
}

/* --- words --- */

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const text[] = { "no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "in progress" };

    return result < ncclNumResults ? text[result] : "unknown";
}

const char *ncclGetLastError(ncclComm_t c)
{
    (void)c;
    return "the substitute was made to fail\nand says so in two lines";
}
