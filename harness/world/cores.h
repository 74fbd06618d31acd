/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cores.h - which cores this process may use, and a disjoint share of them for one rank.
 *
 * A core is a physical core; where the system does not show cores, a hardware thread. "Allowed" is
 * what the main thread of this process may run on: a launcher, a container or taskset narrows it.
 * So the main thread of a process whose other threads call this is never bound itself. Not for
 * ranks of several hosts at once: each host has its own cores.
 */
#ifndef HARNESS_WORLD_CORES_H
#define HARNESS_WORLD_CORES_H

#include "harness/base/rc.h"

/* The hardware threads a process may use, in a form that can be sent to another rank. */
enum { CORES_MAX_THREADS = 4096, CORES_SET_WORDS = CORES_MAX_THREADS / 64 };
struct core_set {
    unsigned long long word[CORES_SET_WORDS]; /* bit i of word k: hardware thread 64 k + i */
};

/* Bind the calling thread to group `slot` of n_slots equal, disjoint groups of the allowed cores;
 * 0 <= slot < n_slots. *n_own_cores = cores of that group; 0, and nothing bound, when there are
 * fewer cores than slots. Cores that do not divide evenly stay unused. RC_IO: the system refused. */
enum rc cores_bind_self(int slot, int n_slots, int *n_own_cores) MUST_CHECK;

/* The hardware threads of the allowed cores that cores_bind_self() leaves to no group of n_slots; may be none. */
void cores_left_over(int n_slots, struct core_set *out);
/* The hardware threads that the calling thread may run on; all zero where the system does not tell. */
void cores_thread_set(struct core_set *out);
/* Let the calling thread run on `set`; an empty set, or one that the system refuses, changes nothing. */
void cores_bind_self_to(const struct core_set *set);

/* Number of allowed cores, at least 1. Cannot fail (1 where the system does not tell). */
int cores_allowed_count(void);

/* The allowed hardware threads of this process; all zero where the system does not tell. */
void cores_allowed_set(struct core_set *out);

/* Number of cores of this host that have a hardware thread in set. Cannot fail (0: does not tell). */
int cores_in_set(const struct core_set *set);

#endif
