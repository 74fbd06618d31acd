/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h - several threads of control in one rank, and the events by which they wait for each other.
 *
 * A rank begins with one task, its main one, which runs the body given to world_run(). Tasks share the rank's memory
 * and its cores. In threads and mpi a task is a thread, in sim an actor on the rank's host.
 *
 * Invariants
 *   K1  world_spawn() runs fn(w, arg) once, beside the caller. fn can read what was written before it; what fn
 *       wrote can be read after world_join().
 *   K2  Each task has its own error record (rc.h). world_join() returns fn's code and makes fn's message the
 *       caller's.
 *   K3  An event counts: n posts let n waits return, in any order. A post releases, a wait acquires.
 *   K4  Every wait has a time limit. It ends before it with RC_PEER when a rank failed (world.W4, W5); and when a task
 *       of this rank ended with an error, or after world_stop_tasks(), until all tasks are joined. So does every wait
 *       for a message.
 *   K5  Collective operations, world_spawn(), world_join(), and opening and closing events are for the main task;
 *       world_split() for a main task without other tasks. All tasks are joined before the rank's body returns; those
 *       of a dead rank are stopped and joined for it.
 *   K6  A transport belongs to one task at a time. It is handed over by an event or by world_join(): the new owner's
 *       first call comes after it, the old one's last call before it. In mpi, a task beside the main one may own one
 *       only if world.has_tasks is true.
 *   K7  In sim a charge occupies one core of the rank, of cluster.n_cores_per_rank. n tasks that compute at once on
 *       c < n cores each advance at the rate c / n. world_pause() occupies none.
 */
#ifndef HARNESS_WORLD_TASK_H
#define HARNESS_WORLD_TASK_H

#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/world.h"

struct task { /* first member of each implementation's struct */
    struct world *world;
    const char *name;
};

struct event { /* likewise */
    struct world *world;
    const char *name;
};

enum task_core {                     /* the cores of a task's thread; no difference in sim */
                 TASK_ON_OWN_CORES,  /* on the cores of the rank's main task */
                 TASK_ON_SPARE_CORE, /* on the cores of this host that no rank owns; without such cores: as
                                        TASK_ON_OWN_CORES */
                 TASK_ANYWHERE,      /* on every core that this host's ranks may use */
};

struct task_opts {
    const char *name; /* for messages; a static string */
    enum task_core core;
    rank_main_fn *fn;
    void *arg; /* outlives the task */
};

struct task_ops {
    enum rc (*spawn)(struct task **out, struct world *w, const struct task_opts *opts);
    enum rc (*join)(struct task *t); /* frees t */
    void (*stop)(struct world *w, const char *why);
    enum rc (*event_open)(struct event **out, struct world *w, const char *name);
    void (*post)(struct event *e);
    enum rc (*wait)(struct event *e, uint64_t limit_ns);
    bool (*try_wait)(struct event *e);
    void (*event_close)(struct event *e);
};

/* Start a task of this rank; the owner joins it. RC_NOMEM. */
enum rc world_spawn(struct task **out, struct world *w, const struct task_opts *opts) MUST_CHECK;
/* Waits for its end, which may take any time: world.K2. NULL-safe (RC_OK), nulls. */
enum rc world_join(struct task **t) MUST_CHECK;
/* Ends the waits of all tasks of this rank with RC_PEER and the reason (world.K4): for a rank that failed and must join
 * its tasks. Does nothing if it has only the main task; the first reason is kept. */
void world_stop_tasks(struct world *w, const char *why);

/* An event of this rank without posts. name: for messages; a static string. RC_NOMEM. */
enum rc event_open(struct event **out, struct world *w, const char *name) MUST_CHECK;
/* Any task of the rank; never waits. */
void event_post(struct event *e);
/* Takes one post; waits for it at most limit_ns. RC_TIMEOUT: no post was taken. world.K4. */
enum rc event_wait(struct event *e, uint64_t limit_ns) MUST_CHECK;
/* Takes one post if there is one; never waits, and does not check for failures. */
bool event_try_wait(struct event *e);
/* Call when no task uses it any more. NULL-safe, nulls. */
void event_close(struct event **e);

#endif
