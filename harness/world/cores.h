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

/* Who has which of the allowed cores, counted in the order of the topology: worker w has n_each cores from w n_each on,
 * whatever the number of workers, server s the one core n_workers n_each + s. */
struct core_shares {
    int n_workers, n_each; /* n_each 0: fewer cores than workers; nobody has any */
    int n_servers;         /* 0: there is no core for each of them; they share */
};

/* n_each: the cores of a worker, or fewer where so many are not there for each; 0: an equal part of all, which leaves
 * servers none but those that do not divide evenly. n_workers >= 1. Cannot fail. */
struct core_shares cores_share_out(int n_cores, int n_workers, int n_each, int n_servers);
/* Bind the calling thread to n of the allowed cores, from `first` on, all of them there; n >= 1. RC_IO: the system
 * refused. */
enum rc cores_bind_self(int first, int n) MUST_CHECK;
/* The same, of the cores of set, which the system grants where a launcher chose others for this process. */
enum rc cores_bind_self_within(const struct core_set *set, int first, int n) MUST_CHECK;

/* The hardware threads of the allowed cores that are nobody's; may be none. */
void cores_left_over(const struct core_shares *shares, struct core_set *out);
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
