/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_test.cu - device.h without a GPU: memory of the host, loops for cuBLAS.
 *
 * As lazy as the contract allows: what is queued runs only when somebody waits for it, a stream no further than
 * asked, and the other stream only where an order says so. So a wait or an order that is missing shows as a wrong
 * result. Or, with eager_copies, copies run at once, so that one which overtakes what it must not does so. Device
 * memory cannot be touched by the host (it is protected while nothing runs), but where the address sanitizer watches:
 * there it is plain memory with guards around it.
 */
#include <assert.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness/compute/cuda/on_host/threads_test.cuh"

extern "C" {
#include "harness/compute/cuda/device.h"
#include "harness/compute/cuda/on_host/device_test.cuh"
#include "harness/compute/cuda/on_host/on_host_test.h"
}

static struct on_host_limits limits = { (size_t)1 << 30, 1, 0, 0, NULL, 0, 0, 0, 0, 0, 0 };

void on_host_set_n_devices(int n)
{
    limits.n_devices = n;
}

void on_host_set(const struct on_host_limits *l)
{
    limits = *l;
    on_host_lose_barriers(l->lose_barriers != 0);
}

/* --- memory --- */

#if defined __SANITIZE_ADDRESS__
static const bool protects = false;
#else
static const bool protects = true;
#endif

static size_t whole_pages(size_t n_bytes)
{
    return (n_bytes + 4095) / 4096 * 4096;
}

static void open_memory(struct cuda_device *d, bool open)
{
    if (protects && d->is_open != open)
        for (size_t i = 0; i < d->n_memory; i++)
            if (mprotect(d->memory[i].at, whole_pages(d->memory[i].n_bytes), open ? PROT_READ | PROT_WRITE : PROT_NONE))
                abort();
    d->is_open = open;
}

/* In huge pages where there are some: to protect a large block and to open it again is then a matter of a few. */
static void map_memory(struct memory *m)
{
    const bool is_huge = m->n_bytes >= HUGE_PAGE_BYTES;

    m->n_mapped_bytes = whole_pages(m->n_bytes) + (is_huge ? HUGE_PAGE_BYTES : 0);
    void *map = mmap(NULL, m->n_mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        abort();
    m->at = m->map = static_cast<char *>(map);
    if (is_huge) {
        m->at = m->map + (HUGE_PAGE_BYTES - reinterpret_cast<uintptr_t>(map) % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
        (void)madvise(m->at, whole_pages(m->n_bytes), MADV_HUGEPAGE); /* advice: slower without */
    }
}

static bool is_broken(struct cuda_device *d)
{
    if (limits.broken && d->failed == NULL)
        d->failed = "memory";
    return limits.broken != 0;
}

void *cuda_device_alloc(struct cuda_device *d, size_t n_bytes)
{
    struct memory m = { NULL, n_bytes, NULL, 0 };

    if (is_broken(d))
        return NULL;
    if (n_bytes > cuda_device_available(d) || d->n_memory == MAX_BLOCKS_OF_MEMORY)
        return NULL;
    if (!protects)
        m.at = must(aligned_alloc(256, (n_bytes + 255) / 256 * 256));
    else
        map_memory(&m);
    memset(m.at, 0xff, n_bytes); /* NaN: whoever needs zeros must ask */
    if (protects && !d->is_open)
        mprotect(m.at, whole_pages(n_bytes), PROT_NONE);
    d->memory[d->n_memory++] = m;
    d->n_used_bytes += n_bytes;
    return m.at;
}

void cuda_device_free(struct cuda_device *d, void *at)
{
    cuda_device_drain(d);
    for (size_t i = 0; i < d->n_memory; i++)
        if (d->memory[i].at == at) {
            d->n_used_bytes -= d->memory[i].n_bytes;
            if (protects)
                munmap(d->memory[i].map, d->memory[i].n_mapped_bytes);
            else
                free(at);
            d->memory[i] = d->memory[--d->n_memory];
            return;
        }
    assert(at == NULL);
}

size_t cuda_device_available(struct cuda_device *d)
{
    if (is_broken(d))
        return SIZE_MAX;
    return d->n_used_bytes < limits.memory_bytes ? limits.memory_bytes - d->n_used_bytes : 0;
}

void cuda_device_id(struct cuda_device *d, char out[COMPUTE_DEVICE_ID_BYTES])
{
    snprintf(out, COMPUTE_DEVICE_ID_BYTES, "emulated:%02x", d->number);
}

void cuda_device_name(struct cuda_device *d, char *out, size_t n_bytes)
{
    (void)d;
    snprintf(out, n_bytes, "the CPU in place of a GPU");
}

void *cuda_device_pin(struct cuda_device *d, size_t n_bytes)
{
    return is_broken(d) ? NULL : malloc(n_bytes);
}

void cuda_device_unpin(struct cuda_device *d, void *memory)
{
    (void)d;
    free(memory);
}

/* --- what runs --- */

/* on_host_limits: does this GEMM take the other order of sums? */
static bool sums_backwards(struct cuda_device *d, const struct cuda_gemm *g)
{
    const uintptr_t bits =
        reinterpret_cast<uintptr_t>(g->a) | reinterpret_cast<uintptr_t>(g->b) | reinterpret_cast<uintptr_t>(g->c);
    const bool is_aligned = bits % 16 == 0, has_turn = d->n_gemms++ % 3 == 0;

    return (limits.gemm_by_alignment || limits.gemm_by_turn) && (limits.gemm_by_alignment ? !is_aligned : true) &&
           (limits.gemm_by_turn ? has_turn : true);
}

static void count_run(struct cuda_device *d, const char *kernel)
{
    int k = 0;

    while (k < MAX_KERNELS && d->kernel[k] != NULL && strcmp(d->kernel[k], kernel) != 0)
        k++;
    if (k == MAX_KERNELS)
        abort();
    d->kernel[k] = kernel;
    d->n_runs[k]++;
}

unsigned on_host_n_launches(struct cuda_device *d, const char *kernel)
{
    unsigned n = 0;

    for (int k = 0; k < MAX_KERNELS && d->kernel[k] != NULL; k++)
        n += strstr(d->kernel[k], kernel) != NULL ? d->n_runs[k] : 0;
    return n;
}

static void run_until(struct cuda_device *d, int stream, size_t turn);

static bool run_task(struct cuda_device *d, const struct task *w)
{
    if (w->kind == CALL)
        return w->step(w->arg);
    if (w->kind == LAUNCH)
        count_run(d, w->kernel);
    if (w->kind == LAUNCH)
        on_host_grid(w->meeting, d->n_launches++ % 2 != 0, w->n_blocks, w->n_threads, w->run, w->body);
    else if (w->kind == COPY)
        memcpy(w->to, w->from, w->n_bytes);
    else if (w->kind == ZERO)
        memset(w->to, 0, w->n_bytes);
    else if (w->kind == GEMM)
        on_host_gemm(&w->gemm, sums_backwards(d, &w->gemm));
    else if (w->kind == WAIT)
        run_until(d, w->stream, w->turn);
    else
        for (const struct task *k = w->graph->list.first; k != NULL; k = k->next)
            run_task(d, k);
    return true;
}

static void free_list(struct list *l)
{
    for (struct task *w = l->first, *next; w != NULL; w = next) {
        next = w->next;
        free(w->body);
        free(w);
    }
    l->first = NULL;
    l->end = &l->first;
}

/* Whether all was run; false: a CALL goes on, and the caller does not wait. */
static bool run_as_far(struct cuda_device *d, int stream, size_t turn, bool waits)
{
    struct stream *l = &d->stream[stream];
    const bool was_open = d->is_open;
    bool goes_on = true;

    open_memory(d, true);
    while (l->n_done < turn && goes_on) {
        struct task *w = l->list.first;
        if (!run_task(d, w)) {
            goes_on = waits;
            (void)sched_yield();
            continue;
        }
        l->list.first = w->next;
        if (l->list.first == NULL)
            l->list.end = &l->list.first;
        l->n_done++;
        free(w->body);
        free(w);
    }
    open_memory(d, was_open);
    return l->n_done >= turn;
}

static void run_until(struct cuda_device *d, int stream, size_t turn)
{
    (void)run_as_far(d, stream, turn, true);
}

/* --- what is queued --- */

static struct task *push(struct cuda_device *d, int stream, enum kind kind)
{
    struct task *w = static_cast<struct task *>(must(calloc(1, sizeof *w)));
    struct list *l = d->is_capturing && stream == CUDA_STREAM_COMPUTE ? &d->captured : &d->stream[stream].list;

    w->kind = kind;
    *l->end = w;
    l->end = &w->next;
    if (l != &d->captured)
        d->stream[stream].n_queued++;
    return w;
}

void on_host_queue(void *stream, const char *kernel, bool meeting, unsigned n_blocks, unsigned n_threads,
                   void (*run)(const void *body), const void *body, size_t n_bytes)
{
    struct task *w = push(static_cast<struct cuda_device *>(stream), CUDA_STREAM_COMPUTE, LAUNCH);

    w->kernel = kernel;
    w->meeting = meeting;
    w->n_blocks = n_blocks;
    w->n_threads = n_threads;
    w->run = run;
    w->body = must(malloc(n_bytes));
    memcpy(w->body, body, n_bytes);
}

void cuda_device_enter(struct cuda_device *d)
{
    (void)d;
}

cuda_stream cuda_device_stream(struct cuda_device *d)
{
    return d;
}

void cuda_device_copy(struct cuda_device *d, enum cuda_stream_id stream, void *to, const void *from, size_t n_bytes)
{
    struct task *w = push(d, stream, COPY);

    assert(!d->is_capturing);
    w->to = to;
    w->from = from;
    w->n_bytes = n_bytes;
    if (limits.eager_copies && stream == CUDA_STREAM_COPY)
        run_until(d, stream, d->stream[stream].n_queued);
}

void cuda_device_zero(struct cuda_device *d, void *memory, size_t n_bytes)
{
    struct task *w = push(d, CUDA_STREAM_COMPUTE, ZERO);

    w->to = memory;
    w->n_bytes = n_bytes;
}

void cuda_device_gemm(struct cuda_device *d, const struct cuda_gemm *g)
{
    struct task *w = push(d, CUDA_STREAM_COMPUTE, GEMM);

    assert(g->bf16 == (d->precision == PRECISION_BF16));
    assert(!g->bf16 ||
           ((reinterpret_cast<uintptr_t>(g->a) | reinterpret_cast<uintptr_t>(g->b)) % 16 == 0)); /* packed */
    w->gemm = *g;
    d->widest_gemm = g->N > d->widest_gemm ? g->N : d->widest_gemm;
}

int on_host_widest_gemm(struct cuda_device *d)
{
    const int widest = d->widest_gemm;

    d->widest_gemm = 0;
    return widest;
}

void cuda_device_order(struct cuda_device *d, enum cuda_stream_id later, enum cuda_stream_id earlier)
{
    const size_t turn = d->stream[earlier].n_queued;
    struct task *w = push(d, later, WAIT);

    assert(!d->is_capturing);
    w->stream = earlier;
    w->turn = limits.lose_orders ? 0 : turn;
}

void cuda_device_record(struct cuda_device *d, int k, enum cuda_stream_id stream)
{
    assert(!d->is_capturing);
    d->event_stream[k] = stream;
    d->event_turn[k] = d->stream[stream].n_queued;
}

void cuda_device_wait_event(struct cuda_device *d, enum cuda_stream_id later, int k)
{
    struct task *w = push(d, later, WAIT);

    w->stream = d->event_stream[k];
    w->turn = limits.lose_orders ? 0 : d->event_turn[k];
}

void cuda_device_wait(struct cuda_device *d, int k)
{
    assert(!d->is_capturing);
    if (!limits.lose_waits)
        run_until(d, d->event_stream[k], d->event_turn[k]);
}

/* Each task takes a microsecond. */
void cuda_device_stamp(struct cuda_device *d, int k)
{
    d->stamp_turn[k] = d->stream[CUDA_STREAM_COMPUTE].n_queued;
}

uint64_t cuda_device_stamp_ns(struct cuda_device *d, int from, int to)
{
    if (d->stamp_turn[to] > d->stream[CUDA_STREAM_COMPUTE].n_done)
        d->failed = "stamp";
    return 1000 * (d->stamp_turn[to] - d->stamp_turn[from]);
}

void cuda_device_drain(struct cuda_device *d)
{
    assert(!d->is_capturing);
    for (int k = 0; k < SIDE_STREAM; k++)
        run_until(d, k, d->stream[k].n_queued);
}

bool cuda_device_capture(struct cuda_device *d)
{
    assert(!d->is_capturing);
    d->is_capturing = limits.no_graphs == 0;
    return d->is_capturing;
}

struct cuda_graph *cuda_device_captured(struct cuda_device *d)
{
    struct cuda_graph *g = static_cast<struct cuda_graph *>(must(calloc(1, sizeof *g)));

    assert(d->is_capturing);
    d->is_capturing = false;
    g->list = d->captured;
    if (g->list.first == NULL)
        g->list.end = &g->list.first;
    d->captured.first = NULL;
    d->captured.end = &d->captured.first;
    return g;
}

void cuda_device_launch(struct cuda_device *d, struct cuda_graph *g)
{
    push(d, CUDA_STREAM_COMPUTE, GRAPH)->graph = g;
}

void cuda_graph_close(struct cuda_graph **g)
{
    if (*g != NULL)
        free_list(&(*g)->list);
    free(*g);
    *g = NULL;
}

size_t on_host_n_queued(struct cuda_device *d)
{
    return d->stream[CUDA_STREAM_COMPUTE].n_queued - d->stream[CUDA_STREAM_COMPUTE].n_done;
}

/* --- for side_test.cu --- */

void on_host_queue_call(struct cuda_device *d, bool (*step)(void *arg), void *arg)
{
    struct task *w = push(d, SIDE_STREAM, CALL);

    w->step = step;
    w->arg = arg;
    (void)run_as_far(d, SIDE_STREAM, d->stream[SIDE_STREAM].n_queued, false); /* at once: nothing else holds it back */
}

void on_host_queue_wait(struct cuda_device *d, int later, int earlier, size_t turn)
{
    struct task *w = push(d, later, WAIT);

    w->stream = earlier;
    w->turn = limits.lose_orders ? 0 : turn;
}

bool on_host_run(struct cuda_device *d, int stream, size_t turn, bool waits)
{
    return run_as_far(d, stream, turn, waits);
}

/* --- opened, closed, failing --- */

static int n_devices(void)
{
    return limits.n_devices > 0 ? limits.n_devices : 1;
}

enum rc cuda_device_count(int *out)
{
    *out = n_devices();
    return RC_OK;
}

void cuda_device_text(int device, char *out, size_t n_bytes)
{
    snprintf(out, n_bytes, "the CPU in place of a GPU, PCI emulated:%02x", device);
}

enum rc cuda_device_open(struct cuda_device **out, int device, enum precision precision)
{
    struct cuda_device *d;

    if (device < 0 || device >= n_devices())
        return rc_raise(RC_UNSUPPORTED, "no CUDA device %d: there are 0 to %d", device, n_devices() - 1);
    d = static_cast<struct cuda_device *>(must(calloc(1, sizeof *d)));
    for (int k = 0; k < N_STREAMS; k++)
        d->stream[k].list.end = &d->stream[k].list.first;
    d->captured.end = &d->captured.first;
    d->precision = precision;
    d->number = device;
    *out = d;
    return RC_OK;
}

void cuda_device_close(struct cuda_device **device)
{
    struct cuda_device *d = *device;

    *device = NULL;
    if (d == NULL)
        return;
    cuda_device_drain(d);
    if (d->n_memory > 0) {
        fprintf(stderr, "on_host: %zu blocks of device memory were not freed\n", d->n_memory);
        abort();
    }
    on_host_threads_end();
    free(d);
}

void cuda_device_check(struct cuda_device *d, const char *operation)
{
    if (limits.failing != NULL && strcmp(operation, limits.failing) == 0 && d->failed == NULL)
        d->failed = operation;
}

enum rc cuda_device_error(struct cuda_device *d)
{
    const char *failed = d->failed;

    d->failed = NULL;
    return failed != NULL ? rc_raise(RC_DEVICE, "cuda: %s: made to fail", failed) : RC_OK;
}
