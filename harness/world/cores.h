/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cores.h - which cores this process may use, and a disjoint share of them for one rank.
 *
 * A core is a physical core; if the system does not show cores, a hardware thread. "Allowed" are the
 * cores that the main thread of this process may use: a launcher, a container or taskset can narrow them.
 * So if other threads of a process call this, its main thread is never bound itself. Not for
 * ranks of several hosts at once: each host has its own cores.
 */
#ifndef HARNESS_WORLD_CORES_H
#define HARNESS_WORLD_CORES_H

#include "harness/base/rc.h"

#include <stddef.h>

/* The hardware threads a process may use, in a form that can be sent to another rank. */
enum { CORES_MAX_THREADS = 4096, CORES_SET_WORDS = CORES_MAX_THREADS / 64 };
struct core_set {
    unsigned long long word[CORES_SET_WORDS]; /* bit i of word k: hardware thread 64 k + i */
};

/* The owners of the allowed cores, in the order of the topology. Worker w has n_each cores from w n_each on, for any
 * number of workers. Server s has the one core n_workers n_each + s. */
struct core_shares {
    int n_workers, n_each; /* n_each 0: fewer cores than workers; no rank has any */
    int n_servers;         /* 0: there is no core for each of them; they share */
};

/* n_each: the cores of a worker, fewer if there are not enough; 0: an equal part of all, which leaves servers only the
 * remainder. n_workers >= 1. Cannot fail. */
struct core_shares cores_share_out(int n_cores, int n_workers, int n_each, int n_servers);
/* Binds the calling thread to n allowed cores from `first` on, which all exist; n >= 1. RC_IO: the system refused. */
enum rc cores_bind_self(int first, int n) MUST_CHECK;
/* The same within the cores of set. The system grants them even if a launcher chose others for this process. */
enum rc cores_bind_self_within(const struct core_set *set, int first, int n) MUST_CHECK;

/* The hardware threads of the allowed cores that no rank owns; may be empty. */
void cores_left_over(const struct core_shares *shares, struct core_set *out);
/* The hardware threads that the calling thread may use; all zero if unknown. */
void cores_thread_set(struct core_set *out);
/* Lets the calling thread run on `set`. An empty set, or one that the system refuses, changes nothing. */
void cores_bind_self_to(const struct core_set *set);

/* Number of allowed cores, at least 1. Cannot fail (1 if unknown). */
int cores_allowed_count(void);

/* The allowed hardware threads of this process; all zero if unknown. */
void cores_allowed_set(struct core_set *out);

/* Number of cores of this host with a hardware thread in set. Cannot fail (0: unknown). */
int cores_in_set(const struct core_set *set);

/* All last-level caches of this host together (several dies or sockets have one each); 0 if unknown. Reads the
 * topology: some ms. Cannot fail. */
size_t caches_last_level_bytes(void);

#endif
