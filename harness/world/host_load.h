/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_load.h - what the cores of this host and this process have done so far, as the system tells.
 *
 * Two readings with a run between them tell what else ran on the machine meanwhile (measure/disturbance.h). A frequency
 * is that of cpufreq's scaling_cur_freq alone: the "cpu MHz" of /proc/cpuinfo is the nominal one on many machines, and
 * stays as it is whatever the core does.
 */
#ifndef HARNESS_WORLD_HOST_LOAD_H
#define HARNESS_WORLD_HOST_LOAD_H

#include <stdint.h>

struct host_load {
    uint64_t now_ns;     /* wait_clock_ns() */
    double own_s;        /* processor time of this process, user and system */
    int n_cores;         /* hardware threads of the host; 0: the system does not tell, nor the next two */
    double busy_s;       /* sum over them since the system started, without steal; else NaN */
    double steal_s;      /* in which they wanted to run and a hypervisor ran something else; else NaN */
    double frequency_hz; /* now, of the core that the caller runs on; NaN: the system does not tell */
};

/* Read it. root: "", or a folder that holds copies of /proc and /sys. Reads files. Cannot fail. */
void host_load_read(struct host_load *out, const char *root);

/* The date by this host's clock: ns since 1970, UTC. Not for measuring: it may be set at any time. Cannot fail. */
uint64_t host_date_ns(void);

enum { HOST_KERNEL_BYTES = 40 };
/* What tells the running system from any other, also where several hosts are namespaces of one: the boot id. "": the
 * system does not tell. Cannot fail. */
void host_kernel_id(char out[HOST_KERNEL_BYTES], const char *root);

#endif
