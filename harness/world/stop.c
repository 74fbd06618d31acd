/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.c - a process that receives SIGINT, SIGTERM or SIGHUP ends early and keeps its results; the ranks of a run end
 * after the same step; see stop.h. How ranks agree (world.Z1): one that begins a step first shows that it has, and
 * then looks whether the run stops. One that decides first shows all others that the run stops, and then reads how
 * far each is. These four are sequentially consistent: whoever begins a step without having seen that the run stops
 * is seen by who decides.
 */
#include "harness/world/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/world.h"

enum { POLL_NS = 1000000 };

/* Of the process: a signal is sent to all of it. Read by all its threads, so atomic; a handler may write what is lock
 * free. */
static struct {
    atomic_ullong first; /* received: its number, and above N_NUMBER_BITS when it came, ms; 0: none. One word: who reads
                            that there was one reads when */
    atomic_bool ends_at_second;
    atomic_bool is_of_launcher;
} received;

enum { N_NUMBER_BITS = 8 };
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a handler may write it");

/* The handler's, where it comes upon the thread that called stop_catch() (world.Z5). */
static unsigned char handler_stack[STOP_STACK_BYTES];

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { N_STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };

/* Calls only what may be called in a handler, as do the next two. */
static unsigned long long now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* can't fail: the clock exists, the pointer is valid */
    return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
}

static void end_process(int number)
{
    struct sigaction action = { .sa_flags = 0 };

    action.sa_handler = SIG_DFL;
    (void)sigaction(number, &action, NULL);
    (void)raise(number); /* when the handler has returned */
}

/* Two may come at once, each in a thread of its own, or one while the other is noted. */
static void note_signal(int number)
{
    const unsigned long long came_ms = now_ms();
    unsigned long long first = 0;

    if (atomic_compare_exchange_strong(&received.first, &first, came_ms << N_NUMBER_BITS | (unsigned)number))
        return;
    if (atomic_load(&received.ends_at_second) && came_ms >= (first >> N_NUMBER_BITS) + STOP_AGAIN_MS)
        end_process(number);
}

static void set_handlers(void (*handler)(int), void (*instead_of)(int))
{
    for (int i = 0; i < N_STOP_SIGNALS; i++) {
        struct sigaction now, action = { .sa_flags = SA_RESTART | SA_ONSTACK };
        action.sa_handler = handler;
        if (sigaction(stop_signals[i], NULL, &now) == 0 && now.sa_handler == instead_of)
            (void)sigaction(stop_signals[i], &action, NULL);
    }
}

static void catch_signals(void)
{
    const stack_t stack = { .ss_sp = handler_stack, .ss_size = sizeof handler_stack };

    (void)sigaltstack(&stack, NULL); /* without it the handler is on the thread's own */
    set_handlers(note_signal, SIG_DFL);
}

void stop_catch(void)
{
    catch_signals();
}

void stop_catch_first(void)
{
    atomic_store(&received.ends_at_second, true);
    catch_signals();
}

void stop_release(void)
{
    set_handlers(SIG_DFL, note_signal);
    atomic_store(&received.ends_at_second, false);
    atomic_store(&received.is_of_launcher, false);
    atomic_store(&received.first, 0);
}

void stop_by_launcher(int number)
{
    atomic_store(&received.is_of_launcher, true); /* before the signal: who reads that reads this */
    (void)kill(getpid(), number);
}

bool stop_wanted(void)
{
    return stop_signal() != 0;
}

int stop_signal(void)
{
    return (int)(atomic_load_explicit(&received.first, memory_order_relaxed) & ((1u << N_NUMBER_BITS) - 1));
}

const char *stop_signal_name(int number)
{
    return number == SIGINT ? "SIGINT" : number == SIGHUP ? "SIGHUP" : "SIGTERM";
}

bool stop_is_of_launcher(void)
{
    return atomic_load(&received.is_of_launcher);
}

/* --- the ranks of a run --- */

static bool is_in_cell(const struct peers *p, int r, int of)
{
    return !p->cell || p->cell[r] == p->cell[of];
}

/* Show all ranks whose seats are here that the run stops. */
static void show_stop(struct peers *p, int number)
{
    for (int r = 0; r < p->n_ranks; r++) {
        int none = 0;
        if (is_in_cell(p, r, p->own))
            (void)atomic_compare_exchange_strong(&p->seat[r].stop_signal, &none, number);
    }
}

/* One that is lost or has left begins no step: what it had begun is not waited for. */
static bool has_ended(const struct peer_seat *s)
{
    const int state = atomic_load(&s->state);

    return state == PEER_LOST || state == PEER_LEFT;
}

/* world.Z1. Whoever is first decides for all. */
static int64_t decide(struct peers *p)
{
    int64_t most = 1, decided = 0;

    for (int r = 0; r < p->n_ranks; r++) {
        const int64_t n_begun = atomic_load(&p->seat[r].n_begun);
        if (n_begun > most && !has_ended(&p->seat[r]))
            most = n_begun;
    }
    return atomic_compare_exchange_strong(&p->seat[0].n_last, &decided, most) ? most : decided;
}

/* world.Z2: what the process of rank 0 decides. */
static enum rc await_decision(struct world *w, int64_t *n_last)
{
    const struct peers *p = w->peers;
    enum rc rc = RC_OK;

    if (p->is_cut_off)
        FAIL(RC_UNSUPPORTED,
             "%s: ended without results: the hosts of this run do not hear of each other, and so cannot agree after "
             "which step to stop",
             stop_signal_name(world_stop_signal(w)));
    while ((*n_last = atomic_load(&p->seat[0].n_last)) == 0) {
        TRY(world_check(w));
        world_pause(w, POLL_NS);
    }
out:
    return rc;
}

enum rc world_begin_step(struct world *w, int64_t n_begun, bool *out)
{
    struct peers *p = w->peers;
    int64_t n_last = 0;
    enum rc rc = RC_OK;

    *out = true;
    if (!p) /* in a caller's MPI, whose signals are its own */
        return RC_OK;
    atomic_store(&p->seat[p->own].n_begun, n_begun);
    const int shown = atomic_load(&p->seat[p->own].stop_signal), number = shown ? shown : stop_signal();
    if (number == 0)
        return RC_OK;
    show_stop(p, number);
    if (p->cell)
        TRY(await_decision(w, &n_last));
    else
        n_last = decide(p);
    *out = n_begun <= n_last;
out:
    return rc;
}

void world_set_stop(struct world *w, enum stop_rule rule)
{
    if (w->peers)
        atomic_store(&w->peers->stop_rule, rule);
}

/* Received by this process, and not for this rank alone; 0: none. */
static int shared_signal(const struct peers *p)
{
    const bool is_alone = atomic_load(&p->stop_rule) == STOP_ALONE && !stop_is_of_launcher();

    return is_alone ? 0 : stop_signal();
}

int world_own_signal(const struct world *w)
{
    return w->peers && shared_signal(w->peers) == 0 ? stop_signal() : 0;
}

bool world_stops_now(struct world *w)
{
    struct peers *p = w->peers;

    if (!p)
        return false;
    const int shown = atomic_load(&p->seat[p->own].stop_signal), number = shown ? shown : shared_signal(p);
    if (number != 0)
        show_stop(p, number);
    return number != 0;
}

int world_stop_signal(const struct world *w)
{
    return w->peers ? atomic_load(&w->peers->seat[w->peers->own].stop_signal) : 0;
}

/* The signal that any rank shows, or that this process has received; 0: none. */
static int find_stop(const struct peers *p)
{
    int number = shared_signal(p);

    for (int r = 0; r < p->n_ranks && number == 0; r++)
        number = atomic_load(&p->seat[r].stop_signal);
    return number;
}

bool stop_look(struct peers *p)
{
    const bool is_together = atomic_load(&p->stop_rule) == STOP_TOGETHER;
    const int number = (p->cell || !is_together) && !p->is_cut_off ? find_stop(p) : 0;

    if (number == 0 || atomic_load(&p->seat[0].n_last) > 0)
        return false;
    show_stop(p, number);
    if (!is_together) /* world.Z4: there is nothing to decide */
        return false;
    if (!is_in_cell(p, p->own, 0))
        return true;
    for (int r = 0; r < p->n_ranks; r++)
        if (atomic_load(&p->seat[r].stop_signal) == 0 && !has_ended(&p->seat[r]))
            return true;
    (void)decide(p);
    return false;
}

/* --- stacks for handlers: pages of the kernel, since a handler must not use the heap --- */

void stop_stack_init(struct stop_stack *out)
{
    void *memory = mmap(NULL, STOP_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *out = (struct stop_stack){ .memory = memory != MAP_FAILED ? memory : NULL };
}

void stop_stack_open(struct stop_stack *s)
{
    const stack_t stack = { .ss_sp = s->memory, .ss_size = STOP_STACK_BYTES };

    s->is_open = s->memory && sigaltstack(&stack, &s->before) == 0;
}

void stop_stack_close(void *stack)
{
    struct stop_stack *s = stack;

    if (s->is_open)
        (void)sigaltstack(&s->before, NULL);
    if (s->memory)
        (void)munmap(s->memory, STOP_STACK_BYTES);
    *s = (struct stop_stack){ .memory = NULL };
}
