/* SPDX-License-Identifier: Apache-2.0 */
/* threads_test.cu - the threads of a block, as coroutines (words_test.cuh). */
#include "harness/compute/cuda/on_host/threads_test.cuh"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

struct on_host_index threadIdx, blockIdx, gridDim;

/* All shared memory of the program. */
extern char __start_on_host_shared[], __stop_on_host_shared[];

enum { MAX_THREADS = 1024, LANES = 32, STACK_BYTES = 1 << 18, VALUE_BYTES = 16 };

enum state { READY, AT_BARRIER, AT_SHUFFLE, ENDED };

struct coroutine {
    ucontext_t context; /* how it begins; then it waits for the next block in a loop */
    jmp_buf at;         /* where it goes on: no system call, unlike swapcontext */
    bool has_begun;
    char *stack;
    enum state state;
    unsigned n_shuffles;
    void *fake_stack;
};

struct block {
    struct coroutine thread[MAX_THREADS];
    /* What lanes give, for this shuffle and the next: nobody is two ahead of another. */
    char value[2][MAX_THREADS][VALUE_BYTES];
    ucontext_t unused;
    jmp_buf scheduler;
    void *scheduler_fake;
    const void *scheduler_stack;
    size_t n_scheduler_stack_bytes;
    unsigned n_threads, current;
    bool is_running;
    void (*run)(const void *body);
    const void *body;
};

static bool loses_barriers;
static struct block *block;                                   /* of this process: launches run one after the other */
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER; /* ranks that are threads have a device each */

[[noreturn]] static void die(const char *why)
{
    fprintf(stderr, "on_host: %s\n", why);
    abort();
}

/* Tell the address sanitizer whose stack is next. */
static void leaving(void **fake, const void *stack, size_t n_bytes)
{
#if defined __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(fake, stack, n_bytes);
#else
    (void)fake;
    (void)stack;
    (void)n_bytes;
#endif
}

static void entered(void *fake, const void **from, size_t *n_bytes)
{
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, from, n_bytes);
#else
    (void)fake;
    (void)from;
    (void)n_bytes;
#endif
}

static void pause_in(enum state state)
{
    struct coroutine *me = &block->thread[block->current];

    me->state = state;
    leaving(&me->fake_stack, block->scheduler_stack, block->n_scheduler_stack_bytes);
    if (_setjmp(me->at) == 0)
        _longjmp(block->scheduler, 1);
    entered(me->fake_stack, &block->scheduler_stack, &block->n_scheduler_stack_bytes);
}

static void thread_main()
{
    entered(NULL, &block->scheduler_stack, &block->n_scheduler_stack_bytes);
    for (;;) { /* one round a block */
        block->run(block->body);
        pause_in(ENDED);
    }
}

static void resume(unsigned k)
{
    struct coroutine *thread = &block->thread[k];

    block->current = threadIdx.x = k;
    leaving(&block->scheduler_fake, thread->stack, STACK_BYTES);
    if (_setjmp(block->scheduler) == 0) {
        if (thread->has_begun)
            _longjmp(thread->at, 1);
        thread->has_begun = true;
        swapcontext(&block->unused, &thread->context);
    }
    entered(block->scheduler_fake, NULL, NULL);
}

/* If all of threads [first, first + n) that have not ended are in state `where`, make them runnable. */
static bool release(unsigned first, unsigned n, enum state where)
{
    unsigned n_there = 0;

    for (unsigned k = first; k < first + n; k++) {
        if (block->thread[k].state != where && block->thread[k].state != ENDED)
            return false;
        n_there += block->thread[k].state == where;
    }
    if (where == AT_SHUFFLE && n_there != n && n_there > 0)
        die("a lane ended before its warp's shuffle");
    for (unsigned k = first; k < first + n; k++)
        if (block->thread[k].state == where)
            block->thread[k].state = READY;
    return n_there > 0;
}

static bool release_any()
{
    bool any = release(0, block->n_threads, AT_BARRIER);

    for (unsigned k = 0; k < block->n_threads; k += LANES)
        any = release(k, LANES, AT_SHUFFLE) || any;
    return any;
}

static void start(unsigned k)
{
    struct coroutine *thread = &block->thread[k];

    thread->state = READY;
    thread->n_shuffles = 0;
    if (thread->stack != NULL)
        return;
    thread->stack = static_cast<char *>(
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (thread->stack == MAP_FAILED || getcontext(&thread->context) != 0)
        die("no memory for threads");
    thread->context.uc_stack.ss_sp = thread->stack;
    thread->context.uc_stack.ss_size = STACK_BYTES;
    thread->context.uc_link = NULL;
    makecontext(&thread->context, thread_main, 0);
}

static void meeting_block(bool descending)
{
    bool any = true;

    memset(__start_on_host_shared, 0xff, (size_t)(__stop_on_host_shared - __start_on_host_shared));
    for (unsigned k = 0; k < block->n_threads; k++)
        start(k);
    block->is_running = true;
    while (any) {
        for (unsigned i = 0; i < block->n_threads; i++) {
            const unsigned k = descending ? block->n_threads - 1 - i : i;
            if (block->thread[k].state == READY)
                resume(k);
        }
        any = release_any();
    }
    block->is_running = false;
    for (unsigned k = 0; k < block->n_threads; k++)
        if (block->thread[k].state != ENDED)
            die("threads of a block wait for one another without end");
}

static void launch(bool meeting, bool descending, unsigned n_blocks, unsigned n_threads, void (*run)(const void *body),
                   const void *body)
{
    if (block == NULL)
        block = static_cast<struct block *>(calloc(1, sizeof *block));
    if (block == NULL || n_threads > MAX_THREADS || n_threads % LANES != 0 || n_blocks == 0)
        die("a launch of no blocks, of too many threads or of part of a warp");
    gridDim.x = n_blocks;
    block->n_threads = n_threads;
    block->run = run;
    block->body = body;
    for (unsigned i = 0; i < n_blocks; i++) {
        blockIdx.x = descending ? n_blocks - 1 - i : i;
        if (meeting) {
            meeting_block(descending);
            continue;
        }
        for (threadIdx.x = 0; threadIdx.x < n_threads; threadIdx.x++)
            run(body);
    }
}

void on_host_grid(bool meeting, bool descending, unsigned n_blocks, unsigned n_threads, void (*run)(const void *body),
                  const void *body)
{
    pthread_mutex_lock(&launching);
    launch(meeting, descending, n_blocks, n_threads, run, body);
    pthread_mutex_unlock(&launching);
}

void on_host_threads_end()
{
    pthread_mutex_lock(&launching);
    for (unsigned k = 0; block != NULL && k < MAX_THREADS; k++)
        if (block->thread[k].stack != NULL)
            munmap(block->thread[k].stack, STACK_BYTES);
    free(block);
    block = NULL;
    pthread_mutex_unlock(&launching);
}

static void must_meet()
{
    if (block == NULL || !block->is_running)
        die("threads meet in a kernel that was launched by CUDA_LAUNCH; it needs CUDA_LAUNCH_BARRIER");
}

void on_host_barrier()
{
    must_meet();
    if (!loses_barriers)
        pause_in(AT_BARRIER);
}

void on_host_lose_barriers(bool lose)
{
    loses_barriers = lose;
}

void on_host_shuffle_down(void *out, const void *value, size_t n_bytes, int distance)
{
    must_meet();
    const unsigned me = block->current, lane = me % LANES, from = lane + (unsigned)distance;
    const unsigned turn = block->thread[me].n_shuffles++ % 2;

    if (n_bytes > VALUE_BYTES)
        die("a shuffle of more than 16 bytes");
    memcpy(block->value[turn][me], value, n_bytes);
    pause_in(AT_SHUFFLE);
    memcpy(out, block->value[turn][from < LANES ? me + (unsigned)distance : me], n_bytes);
}
