/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disturbance.h - how much of a machine others took while a run trained, and from when on the run counts as disturbed.
 *
 * Invariants
 *   D1  Others' cores of a host are what was busy of it, less what the run's own processes there used, each over its
 *       own window (they do not begin and end at the same moment), and never below 0.
 *   D2  Taken is others' cores and stolen ones over the cores that the run uses on that host: others on cores that a
 *       run leaves idle count too, as they share caches, memory and frequency with it.
 *   D3  A run is disturbed where more is taken than DISTURBED_RATIO, and more than the clock tells: busy time is
 *       counted in ticks of 10 ms, so DISTURBANCE_GRAIN_S of the time of each core that the run uses, and as much once
 *       more, may be no more than that. A window below DISTURBANCE_MIN_S tells nothing: all is NaN.
 *   D4  Where the system does not tell, a figure is NaN, and the run is not said to be disturbed.
 */
#ifndef HARNESS_MEASURE_DISTURBANCE_H
#define HARNESS_MEASURE_DISTURBANCE_H

#include <stdbool.h>
#include <stddef.h>

/* A tenth: a run that loses as much is slower by about as much, which is more than most differences between modes;
 * and what a system does by itself (interrupts, daemons, who started the run) stays below. */
#define DISTURBED_RATIO 0.1
#define DISTURBANCE_GRAIN_S 0.02
#define DISTURBANCE_MIN_S 0.1
/* A core whose frequency differs by more from that of the same point's other launches: as much speed. */
#define DISTURBED_FREQUENCY_RATIO 0.05

struct window_load { /* while a process trained */
    double window_s;
    double own_cores; /* its processor time / window_s */
    /* Of its host, where this process is the one that asks; else n_host_cores is 0: */
    int n_host_cores;
    double busy_cores, steal_ratio; /* steal: of the time of all cores of the host */
    double frequency_hz;
};

struct disturbance {          /* of a host, or of the worst one; NaN: not known */
    double steal_ratio;       /* of the time of its cores */
    double others_cores;      /* D1 */
    double taken_ratio;       /* D2 */
    double taken_limit_ratio; /* D3 */
    double frequency_hz;
};

extern const struct disturbance DISTURBANCE_NOT_KNOWN;

/* Of a host, as the process that asked found it, where the processes of the run there have own_cores together, and use
 * n_used_cores > 0 of its cores. Pure. */
struct disturbance disturbance_of_host(const struct window_load *host, double own_cores, int n_used_cores);
/* Of two hosts: of each figure the worse one; taken and its limit are of the host where more is taken beyond it. */
struct disturbance disturbance_worse(const struct disturbance *a, const struct disturbance *b);
/* D3, D4 */
bool disturbance_is_too_much(const struct disturbance *d);
/* "yes", "no", "not_known". */
const char *disturbance_word(const struct disturbance *d);
/* "others used 0.83 cores, steal was 1.2 %: together 43 % of the cores of this run, the limit is 12 %". */
void disturbance_text(char *out, size_t n_bytes, const struct disturbance *d);

#endif
