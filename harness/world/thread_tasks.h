/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_tasks.h - tasks as threads, and events as doorbells: for worlds whose ranks run in real time (threads, mpi).
 *
 * Such a world gives each rank a struct thread_tasks, which all worlds of the rank (splits) point to; its check() calls
 * thread_tasks_check().
 */
#ifndef HARNESS_WORLD_THREAD_TASKS_H
#define HARNESS_WORLD_THREAD_TASKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "harness/world/cores.h"
#include "harness/world/task.h"

struct thread_task;

struct thread_tasks {           /* of one rank */
    _Atomic int n_running;      /* without the main task */
    atomic_bool stopped;        /* world.K4 */
    pthread_t main;             /* the thread of the main task */
    pthread_mutex_t lock;       /* protects why */
    char why[RC_MESSAGE_BYTES]; /* the first reason; does not change once stopped is set */
    struct thread_task *first;  /* not joined yet; used by the main task only */
    bool knows_cores;           /* all and spare are set; else the first task that needs them sets them, which is
                                   slow */
    bool are_bound;             /* unless knows_cores: ranks have the cores of shares; else spare stays empty */
    struct core_shares shares;
    struct core_set all, spare; /* hardware threads that this host's ranks may use; those of them that no rank owns */
};

extern const struct task_ops thread_task_ops;

/* Cannot fail; knows no cores yet. The caller is the main task's thread, or sets `main` there. */
void thread_tasks_init(struct thread_tasks *g);
/* Stop and join the tasks that are left; their errors are lost. */
void thread_tasks_end(struct thread_tasks *g);
void thread_tasks_fini(struct thread_tasks *g); /* likewise; g is not used any more */
/* Lets the calling thread run on every core that this host's ranks may use, until thread_tasks_return(). Threads that a
 * library starts meanwhile inherit that, as in a separate program. *own: where it ran. For the main task. Cannot
 * fail. */
void thread_tasks_roam(struct thread_tasks *g, struct core_set *own);
void thread_tasks_return(const struct core_set *own);
/* RC_PEER once the rank's tasks were stopped. Cheap. */
enum rc thread_tasks_check(struct thread_tasks *g) MUST_CHECK;

#endif
