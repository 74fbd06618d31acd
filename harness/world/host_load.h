/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_load.h - the work of this host's cores and of this process so far, as the system reports it.
 *
 * Two readings around a run show what else ran on the machine meanwhile (measure/disturbance.h). The frequency comes
 * only from cpufreq's scaling_cur_freq: on many machines the "cpu MHz" of /proc/cpuinfo is the nominal one, and never
 * changes.
 */
#ifndef HARNESS_WORLD_HOST_LOAD_H
#define HARNESS_WORLD_HOST_LOAD_H

#include <stdint.h>

struct host_load {
    uint64_t now_ns;     /* wait_clock_ns() */
    double own_s;        /* processor time of this process, user and system */
    int n_cores;         /* hardware threads of the host; 0: unknown, as are the next two */
    double busy_s;       /* sum over the cores since the system started, without steal; else NaN */
    double steal_s;      /* time that they waited for a core while a hypervisor ran something else; else NaN */
    double frequency_hz; /* current, of the caller's core; NaN: unknown */
};

/* Reads it from files. root: "", or a folder with copies of /proc and /sys. Cannot fail. */
void host_load_read(struct host_load *out, const char *root);

enum { HOST_LOAD_WINDOW_NS = 200000000 }; /* a fifth of a second: for a warning before a measurement */
/* Two readings, with window_ns < 1 s between them, in which the caller sleeps. Cannot fail. */
void host_load_watch(struct host_load *before, struct host_load *after, uint64_t window_ns, const char *root);

/* The date by this host's clock: ns since 1970, UTC. Not for measuring: it may be set at any time. Cannot fail. */
uint64_t host_date_ns(void);

enum { HOST_KERNEL_BYTES = 40 };
/* The boot id, which identifies the running system, even if several hosts are namespaces of one. "": unknown. Cannot
 * fail. */
void host_kernel_id(char out[HOST_KERNEL_BYTES], const char *root);
/* Identifies a namespace of this process, as "pid" or "net". 0: unknown. Cannot fail. */
uint64_t host_namespace_id(const char *kind);

#endif
