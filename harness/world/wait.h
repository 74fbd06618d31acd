/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h - the one place where a real-world rank waits: spin, then yield, then sleep.
 *
 * A hand-over between cores costs 0.1 to 0.3 us spinning and tens of us through the kernel. But a
 * rank that spins on a core that another rank needs slows both. So a wait spins only if the world
 * allows it (world_may_spin()), and never for long.
 *
 * Two forms: a doorbell, which another thread or process rings; and a backoff, for conditions that
 * can only be polled (MPI_Test). Not for sim: virtual time does not pass here.
 */
#ifndef HARNESS_WORLD_WAIT_H
#define HARNESS_WORLD_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* No sleep of a waiting rank is longer. So each wait sees a failure, and ticks, within that time. */
#define WAIT_SLICE_NS UINT64_C(20000000)

/* Call between two polls of a spin. Frees shared parts of the core for its other hardware thread, and the bus for
 * writers. 40 to 140 cycles on x86; does nothing if no such instruction is known. Cannot fail. */
static inline void wait_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

struct doorbell { /* all zero: never rung, no sleeper, between threads */
    _Atomic uint32_t n_rings;
    _Atomic uint32_t n_sleepers;
    bool between_processes; /* in memory that several processes map; set before the first use */
};

/* Wakes every thread that waits on d. Any thread; never blocks. Release order: a woken thread sees what was written
 * before. */
void doorbell_ring(struct doorbell *d);
/* The count to pass to doorbell_wait(); read it before testing the condition. */
uint32_t doorbell_seen(const struct doorbell *d);
/* Returns once d was rung after `seen` was read (true), or timeout_ns passed (false). */
bool doorbell_wait(struct doorbell *d, uint32_t seen, bool may_spin, uint64_t timeout_ns);

/* Spins, no longer than before a sleep, until each of count[n] has reached `wanted`; true: they have. Counts are taken
 * modulo 2^32. What was written before a count was raised (release) can be read then. */
bool wait_spin_counts(const _Atomic uint32_t *count, int n, uint32_t wanted);
/* The same without a spin: have they? */
bool wait_counts_reached(const _Atomic uint32_t *count, int n, uint32_t wanted);

struct backoff {
    uint32_t n_polls;
    bool may_spin;
};

/* Waits a little before the next poll: at first a spin's pause, then a yield, then sleeps that double up to
 * max_sleep_ns. */
void backoff_pause(struct backoff *b, uint64_t max_sleep_ns);

/* Sleeps for that time; no signal shortens it. Cannot fail. */
void wait_sleep(uint64_t ns);

/* CLOCK_MONOTONIC in ns. Cannot fail. */
uint64_t wait_clock_ns(void);
/* The offset from this host's clock to another host's, by one round trip: the request left at start_ns, the answer
 * holds remote_ns and arrived at end_ns. Assumes that both ways take equally long, so the error is at most half the
 * round trip. Pure. */
int64_t wait_clock_offset(uint64_t start_ns, uint64_t remote_ns, uint64_t end_ns);

#endif
