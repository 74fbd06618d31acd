/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_library.h - NCCL, loaded when the program runs, not linked, because most commands do not need it.
 * The types of its functions are checked against nccl.h when this is compiled.
 *
 * Search order: the file in the environment variable GRADMARK_NCCL_LIBRARY, and then no other; libnccl.so.2 where the
 * loader looks; libnccl.so.2 in the folder in which it was when this was built.
 */
#ifndef ALLREDUCE_NCCL_LIBRARY_H
#define ALLREDUCE_NCCL_LIBRARY_H

#include <nccl.h>

#include "harness/base/rc.h"

/* member | function | type */
#define NCCL_LIST(X)                                                                                              \
    X(version, ncclGetVersion, ncclResult_t (*)(int *))                                                           \
    X(unique_id, ncclGetUniqueId, ncclResult_t (*)(ncclUniqueId *))                                               \
    X(init, ncclCommInitRankConfig, ncclResult_t (*)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *))       \
    X(async_error, ncclCommGetAsyncError, ncclResult_t (*)(ncclComm_t, ncclResult_t *))                           \
    X(finalize, ncclCommFinalize, ncclResult_t (*)(ncclComm_t))                                                   \
    X(destroy, ncclCommDestroy, ncclResult_t (*)(ncclComm_t))                                                     \
    X(abort, ncclCommAbort, ncclResult_t (*)(ncclComm_t))                                                         \
    X(group_start, ncclGroupStart, ncclResult_t (*)(void))                                                        \
    X(group_end, ncclGroupEnd, ncclResult_t (*)(void))                                                            \
    X(all_reduce, ncclAllReduce,                                                                                  \
      ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t))      \
    X(reduce, ncclReduce,                                                                                         \
      ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t)) \
    X(broadcast, ncclBroadcast,                                                                                   \
      ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t))              \
    X(text, ncclGetErrorString, const char *(*)(ncclResult_t))                                                    \
    X(last_error, ncclGetLastError, const char *(*)(ncclComm_t))

struct nccl_library {
    char file[512]; /* the opened file */
    int version_code;
    ncclResult_t (*version)(int *);
    ncclResult_t (*unique_id)(ncclUniqueId *);
    ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
    ncclResult_t (*async_error)(ncclComm_t, ncclResult_t *);
    ncclResult_t (*finalize)(ncclComm_t);
    ncclResult_t (*destroy)(ncclComm_t);
    ncclResult_t (*abort)(ncclComm_t);
    ncclResult_t (*group_start)(void);
    ncclResult_t (*group_end)(void);
    ncclResult_t (*all_reduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
    ncclResult_t (*reduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t);
    ncclResult_t (*broadcast)(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    const char *(*text)(ncclResult_t);
    const char *(*last_error)(ncclComm_t);
};

/* It stays loaded until the process ends, because it has threads. RC_UNSUPPORTED: it was not found (names the places),
 * lacks a function, or is too old. */
enum rc nccl_library_open(struct nccl_library *out) MUST_CHECK;
/* "2.28.9" */
void nccl_version_text(char *out, size_t n_bytes, int version_code);

#endif
