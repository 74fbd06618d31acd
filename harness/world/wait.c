/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - doorbells on a futex, and backoff for polled conditions. */
#include "harness/world/wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* SPIN_NS: about what a sleep and the wake-up by the kernel cost; spinning for so long before each sleep never wastes
 * more than half (Karlin et al., Empirical studies of competitive spinning, SOSP 1991). N_READS: between two looks at
 * the clock; with a pause after each they take 0.2 to 0.8 us. N_FREE_POLLS: 40 to 100 us of MPI_Test and pauses. */
enum { SPIN_NS = 100000, N_READS = 16, N_YIELDS = 8, N_FREE_POLLS = 1000, N_POLLS_BEFORE_SLEEP = 64 };

uint64_t wait_clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* can't fail: the clock exists, the pointer is valid */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t wait_clock_offset(uint64_t start_ns, uint64_t remote_ns, uint64_t end_ns)
{
    return (int64_t)(remote_ns - (start_ns + (end_ns - start_ns) / 2));
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
}

void wait_sleep(uint64_t ns)
{
    struct timespec left = time_of(ns);

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* The kernel finds the sleepers of one process faster. */
static int futex_op(const struct doorbell *d, int op)
{
    return d->between_processes ? op : op | FUTEX_PRIVATE_FLAG;
}

void doorbell_ring(struct doorbell *d)
{
    /* Sequentially consistent with doorbell_sleep(): either the sleeper reads the new count, or this
     * thread reads that there is a sleeper. */
    atomic_fetch_add(&d->n_rings, 1);
    if (atomic_load(&d->n_sleepers) > 0)
        syscall(SYS_futex, &d->n_rings, futex_op(d, FUTEX_WAKE), INT_MAX, NULL, NULL, 0);
}

uint32_t doorbell_seen(const struct doorbell *d)
{
    return atomic_load_explicit(&d->n_rings, memory_order_acquire);
}

static void doorbell_sleep(struct doorbell *d, uint32_t seen, uint64_t timeout_ns)
{
    const struct timespec limit = time_of(timeout_ns);

    atomic_fetch_add(&d->n_sleepers, 1);
    if (atomic_load(&d->n_rings) == seen) /* an early return (signal, race) is a spurious wake-up */
        syscall(SYS_futex, &d->n_rings, futex_op(d, FUTEX_WAIT), seen, &limit, NULL, 0);
    atomic_fetch_sub(&d->n_sleepers, 1);
}

/* By the clock: how many reads fit into a time differs between processors by several times. */
static bool doorbell_spin(const struct doorbell *d, uint32_t seen)
{
    const uint64_t started_ns = wait_clock_ns();

    do {
        for (int i = 0; i < N_READS; i++) {
            if (doorbell_seen(d) != seen)
                return true;
            wait_relax();
        }
    } while (wait_clock_ns() - started_ns < SPIN_NS);
    return false;
}

bool doorbell_wait(struct doorbell *d, uint32_t seen, bool may_spin, uint64_t timeout_ns)
{
    if (may_spin && doorbell_spin(d, seen))
        return true;
    for (int i = 0; i < N_YIELDS; i++) {
        if (doorbell_seen(d) != seen)
            return true;
        sched_yield();
    }
    const uint64_t started_ns = wait_clock_ns();
    uint64_t waited_ns = 0;
    while (doorbell_seen(d) == seen && waited_ns < timeout_ns) {
        doorbell_sleep(d, seen, timeout_ns - waited_ns);
        waited_ns = wait_clock_ns() - started_ns;
    }
    return doorbell_seen(d) != seen;
}

bool wait_counts_reached(const _Atomic uint32_t *count, int n, uint32_t wanted)
{
    for (int i = 0; i < n; i++)
        if ((int32_t)(atomic_load_explicit(&count[i], memory_order_acquire) - wanted) < 0)
            return false;
    return true;
}

bool wait_spin_counts(const _Atomic uint32_t *count, int n, uint32_t wanted)
{
    const uint64_t started_ns = wait_clock_ns();

    do {
        for (int i = 0; i < N_READS; i++) {
            if (wait_counts_reached(count, n, wanted))
                return true;
            wait_relax();
        }
    } while (wait_clock_ns() - started_ns < SPIN_NS);
    return false;
}

void backoff_pause(struct backoff *b, uint64_t max_sleep_ns)
{
    const uint32_t n_free_polls = b->may_spin ? N_FREE_POLLS : 0;

    b->n_polls++;
    if (b->n_polls <= n_free_polls) {
        wait_relax();
        return;
    }
    const uint32_t n_after = b->n_polls - n_free_polls;
    if (n_after <= N_POLLS_BEFORE_SLEEP) {
        sched_yield();
        return;
    }
    const uint32_t n_doublings = n_after - N_POLLS_BEFORE_SLEEP < 20 ? n_after - N_POLLS_BEFORE_SLEEP : 20;
    uint64_t sleep_ns = UINT64_C(1000) << n_doublings;
    if (sleep_ns > max_sleep_ns)
        sleep_ns = max_sleep_ns;
    const struct timespec pause = time_of(sleep_ns);
    nanosleep(&pause, NULL);
}
