/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_threads.h - ranks that are threads of a test: how tensors get from stage to stage (engine/stage.h), and how the
 * ranks of a group exchange activations (engine/stage.h). Tests only.
 */
#ifndef MODELS_SUITE_RANK_THREADS_H
#define MODELS_SUITE_RANK_THREADS_H

#include <pthread.h>

#include "models/engine/stage.h"

enum { THREADS_MOST_SHARDS = 5, THREADS_MOST_PARTS = 5 };

/* A tensor between two stages: it is copied when both are there, out of the sender's memory and into the receiver's;
 * of a late line, values as late as models.P3 allows: when the sender waits for that. */
struct thread_parcel {
    const float *from;
    float *to;
    size_t n_from, n_to;
    bool is_there, is_awaited; /* by the sender */
    int n_ended;               /* waits for it, of two */
};

struct thread_line { /* between stage i and i + 1 */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_late;
    struct thread_parcel parcel[N_STAGE_WAYS][THREADS_MOST_PARTS];
};
#define THREAD_LINE_INIT                                                       \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }

struct thread_stage {                    /* a rank's place in a pipeline */
    struct thread_line *before, *behind; /* NULL: there is none */
};
struct stage_pipe thread_pipe(struct thread_stage *own); /* of one gradient; borrows *own */

struct thread_group {
    pthread_barrier_t all; /* of n_shards: the test's to open */
    int n_shards;
    const float *own[THREADS_MOST_SHARDS];
    float *whole[THREADS_MOST_SHARDS];
    size_t n_elems[THREADS_MOST_SHARDS];
};

struct thread_shard { /* a rank's place in a group */
    struct thread_group *group;
    int number;
    size_t n_sent_elems; /* out: to the others */
};
struct dense_shard thread_shard_env(struct thread_shard *own); /* borrows *own. RC_BUG: pieces do not match */

#endif
