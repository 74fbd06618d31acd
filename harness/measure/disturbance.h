/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disturbance.h - how much of a machine other processes used during training, and when the run counts as disturbed.
 *
 * Invariants
 *   D1  Others' cores of a host are its busy cores, minus those of the run's own processes there. Each is measured over
 *       its own window (they do not start and end at the same moment). Never below 0.
 *   D2  Taken is others' cores plus stolen ones, over the cores that the run uses on that host. Others on cores that
 *       the run leaves idle count too: they share caches, memory and frequency with it.
 *   D3  A run is disturbed if taken exceeds DISTURBED_RATIO plus the resolution of the clock. Busy time is counted in
 *       ticks of 10 ms. So the resolution is DISTURBANCE_GRAIN_S of the time of each core that the run uses, and once
 *       more that much. A window below DISTURBANCE_MIN_S is too short: all values are NaN.
 *   D4  If the system does not report a value, it is NaN, and the run does not count as disturbed.
 */
#ifndef HARNESS_MEASURE_DISTURBANCE_H
#define HARNESS_MEASURE_DISTURBANCE_H

#include <stdbool.h>
#include <stddef.h>

/* A tenth: a run that loses this much is slower by about as much, more than most differences between modes. The
 * background load of a system (interrupts, daemons, the launching process) is lower. */
#define DISTURBED_RATIO 0.1
#define DISTURBANCE_GRAIN_S 0.02
#define DISTURBANCE_MIN_S 0.1
/* A core is marked if its frequency differs by more than this from the same point's other launches: its speed differs
 * as much. */
#define DISTURBED_FREQUENCY_RATIO 0.05

struct window_load { /* while a process trained */
    double window_s;
    double own_cores; /* its processor time / window_s */
    /* Of its host, if this process reads it; else n_host_cores is 0: */
    int n_host_cores;
    double busy_cores, steal_ratio; /* steal: share of the time of all cores of the host */
    double frequency_hz;
};

struct disturbance {          /* of a host, or of the worst host; NaN: not known */
    double steal_ratio;       /* of the time of its cores */
    double others_cores;      /* measure.D1 */
    double taken_ratio;       /* measure.D2 */
    double taken_limit_ratio; /* measure.D3 */
    double frequency_hz;
};

extern const struct disturbance DISTURBANCE_NOT_KNOWN;

/* The disturbance of a host, from the process that read it. The run's processes there have own_cores together, and use
 * n_used_cores > 0 of its cores. Pure. */
struct disturbance disturbance_of_host(const struct window_load *host, double own_cores, int n_used_cores);
/* Combine two hosts: the worse value of each figure. Taken and its limit are those of the host that exceeds its limit
 * by more. */
struct disturbance disturbance_worse(const struct disturbance *a, const struct disturbance *b);
/* measure.D3, D4 */
bool disturbance_is_too_much(const struct disturbance *d);
/* "yes", "no", "not_known". */
const char *disturbance_word(const struct disturbance *d);
/* "other programs used 0.83 cores, steal was 1.2 %: together 43 % of this run's cores (at most 12 % is allowed)". */
void disturbance_text(char *out, size_t n_bytes, const struct disturbance *d);

#endif
