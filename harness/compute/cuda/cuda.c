/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - the cuda backend: open and close, memory, copies, waiting.
 *
 * Memory of host_open() is copied directly; other memory through two pinned staging buffers: while the GPU copies one,
 * the host copies the other. Copies have a stream of their own, ordered after the operations called before and before
 * those called after (compute.C4).
 */
#include "harness/compute/cuda/cuda.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/opt.h"

static const struct opt cuda_options[] = {
    OPT_CHOICE_(struct cuda_opts, graphs, "graphs", "on", "on|off",
                "launch repeated work as a CUDA graph. With off each call is launched by itself, which profilers show "
                "best. Bits stay the same"),
    OPT_CHOICE_(struct cuda_opts, packed, "packed", "on", "on|off",
                "round to bfloat16 once, not for each product. With on activations and gradients are rounded when they "
                "are written, and weights once a step. For --precision bf16. Bits stay the same"),
    OPT_END_,
};

static struct cuda_compute *cuda_of(struct compute *c)
{
    return (struct cuda_compute *)c;
}

static void cuda_close(struct compute **base)
{
    struct cuda_compute *c = cuda_of(*base);

    *base = NULL;
    if (c == NULL)
        return;
    if (c->device != NULL) {
        cuda_logs_forget(c);
        cuda_device_free(c->device, c->scratch);
        cuda_device_free(c->device, c->products);
        cuda_device_free(c->device, c->results);
        cuda_device_free(c->device, c->keys);
        cuda_device_unpin(c->device, c->staging);
        cuda_device_unpin(c->device, c->host_results);
        cuda_device_unpin(c->device, c->host_keys);
    }
    cuda_device_close(&c->device);
    free(c->log.bytes);
    free(c);
}

/* Why an allocation gave nothing: a failure of the device, or else want of memory, as the text says. */
static enum rc missing(struct cuda_compute *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static enum rc missing(struct cuda_compute *c, const char *fmt, ...)
{
    const enum rc failed = cuda_device_error(c->device);
    char text[RC_MESSAGE_BYTES / 2];
    va_list ap;

    if (failed != RC_OK)
        return failed;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return rc_raise(RC_NOMEM, "%s", text);
}

static enum rc open_buffers(struct cuda_compute *c)
{
    c->log.bytes = malloc(CUDA_LOG_BYTES);
    c->staging = cuda_device_pin(c->device, (size_t)CUDA_STAGINGS * CUDA_STAGING_BYTES);
    c->host_results = cuda_device_pin(c->device, CUDA_MAX_RESULTS * sizeof *c->host_results);
    c->host_keys = cuda_device_pin(c->device, CUDA_MAX_KEYS * sizeof *c->host_keys);
    c->results = cuda_device_alloc(c->device, CUDA_MAX_RESULTS * sizeof *c->results);
    c->keys = cuda_device_alloc(c->device, CUDA_MAX_KEYS * sizeof *c->keys);
    if (c->log.bytes == NULL || c->staging == NULL || c->host_results == NULL || c->host_keys == NULL ||
        c->results == NULL || c->keys == NULL)
        return missing(c, "compute cuda: buffers of %d MiB in pinned host memory and of a few KiB on the GPU",
                       CUDA_STAGINGS * CUDA_STAGING_BYTES >> 20);
    return RC_OK;
}

static enum rc cuda_open(struct compute **out, const struct compute_env *env)
{
    const struct cuda_opts *opts = env->opts;
    struct cuda_compute *c = calloc(1, sizeof *c);
    struct compute *base = NULL;
    enum rc rc;

    if (c == NULL)
        return rc_raise(RC_NOMEM, "compute cuda: %zu bytes", sizeof *c);
    base = &c->base;
    c->precision = env->precision;
    c->gemm_only = env->gemm_only;
    c->columns_bytes = CUDA_COLUMNS_BYTES;
    c->takes_packed =
        env->precision == PRECISION_BF16 && !env->gemm_only && (opts == NULL || strcmp(opts->packed, "on") == 0);
    c->uses_graphs = opts == NULL || strcmp(opts->graphs, "on") == 0;
    TRY(cuda_device_open(&c->device, env->device, env->precision));
    TRY(open_buffers(c));
    *out = base;
    base = NULL;
out:
    cuda_close(&base);
    return rc;
}

/* --- memory --- */

static size_t cuda_memory_available(struct compute *c)
{
    return cuda_device_available(cuda_of(c)->device);
}

static bool cuda_takes_packed(const struct compute *c)
{
    return ((const struct cuda_compute *)c)->takes_packed;
}

/* By the operations themselves, on a compute that only counts. */
static size_t cuda_scratch_bytes(struct compute *base, const struct conv_shape *s, bool with_gradients)
{
    const struct cuda_compute *c = cuda_of(base);
    struct cuda_compute counter = {
        .precision = c->precision, .gemm_only = c->gemm_only, .columns_bytes = c->columns_bytes, .only_counts = true
    };

    uint16_t somewhere = 0, *weight = with_gradients && c->takes_packed ? &somewhere : NULL; /* where, never touched */

    cuda_op_conv(&counter.base, &(struct conv_forward){ .shape = *s, .weight_packed = weight });
    if (with_gradients) {
        cuda_op_conv_input_grad(&counter.base, &(struct conv_input_grad){ .shape = *s, .weight_packed = weight });
        cuda_op_conv_weight_grad(&counter.base, &(struct conv_weight_grad){ .shape = *s });
    }
    return counter.n_scratch_bytes;
}

static void cuda_device_name_of(struct compute *c, char *out, size_t n_bytes)
{
    cuda_device_name(cuda_of(c)->device, out, n_bytes);
}

static void cuda_device_id_of(struct compute *c, char out[COMPUTE_DEVICE_ID_BYTES])
{
    cuda_device_id(cuda_of(c)->device, out);
}

static enum rc cuda_memory_open(struct compute *base, void **out, size_t n_bytes)
{
    struct cuda_compute *c = cuda_of(base);
    void *memory = cuda_device_alloc(c->device, n_bytes > 0 ? n_bytes : 1);

    if (memory == NULL)
        return missing(c, "GPU memory: needs %zu bytes, %zu available", n_bytes, cuda_device_available(c->device));
    if (c->gemm_only)
        cuda_fill_random(c, memory, n_bytes);
    else
        cuda_device_zero(c->device, memory, n_bytes);
    cuda_device_check(c->device, "memory");
    *out = memory;
    return RC_OK;
}

static void cuda_memory_close(struct compute *base, void **memory)
{
    struct cuda_compute *c = cuda_of(base);

    if (*memory != NULL) {
        cuda_log_flush(c); /* logged calls may still use it */
        cuda_device_free(c->device, *memory);
    }
    *memory = NULL;
}

static enum rc cuda_host_open(struct compute *base, void **out, size_t n_bytes)
{
    struct cuda_compute *c = cuda_of(base);
    struct cuda_pinned block = { NULL, n_bytes > 0 ? n_bytes : 1 };

    if (c->n_pinned == CUDA_MAX_PINNED)
        return rc_raise(RC_NOMEM, "compute cuda: %d blocks of pinned host memory are open", CUDA_MAX_PINNED);
    block.at = cuda_device_pin(c->device, block.n_bytes);
    if (block.at == NULL)
        return missing(c, "compute cuda: %zu bytes of pinned host memory", n_bytes);
    memset(block.at, 0, block.n_bytes);
    c->pinned[c->n_pinned++] = block;
    *out = block.at;
    return RC_OK;
}

/* put() and get() have waited; an upload has ended by the sync of all calls that its owner made: no copy uses it. */
static void cuda_host_close(struct compute *base, void **memory)
{
    struct cuda_compute *c = cuda_of(base);

    for (size_t i = 0; i < c->n_pinned; i++)
        if (c->pinned[i].at == *memory) {
            cuda_device_unpin(c->device, *memory);
            c->pinned[i] = c->pinned[--c->n_pinned];
            break;
        }
    *memory = NULL;
}

static bool is_pinned(const struct cuda_compute *c, const void *host, size_t n_bytes)
{
    for (size_t i = 0; i < c->n_pinned; i++) {
        const uintptr_t from = (uintptr_t)c->pinned[i].at, at = (uintptr_t)host;
        if (at >= from && at - from < c->pinned[i].n_bytes && n_bytes <= c->pinned[i].n_bytes - (at - from))
            return true;
    }
    return false;
}

/* After the caller ordered the copy stream; returns when the copy is done. */
static void copy_pinned(struct cuda_compute *c, void *to, const void *from, size_t n_bytes)
{
    cuda_device_copy(c->device, CUDA_STREAM_COPY, to, from, n_bytes);
    cuda_device_record(c->device, CUDA_EVENT_STAGING, CUDA_STREAM_COPY);
    cuda_device_wait(c->device, CUDA_EVENT_STAGING);
}

static unsigned char *staging_at(struct cuda_compute *c, int k)
{
    return c->staging + (size_t)k * CUDA_STAGING_BYTES;
}

static size_t piece_of(size_t n_left_bytes)
{
    return n_left_bytes < CUDA_STAGING_BYTES ? n_left_bytes : CUDA_STAGING_BYTES;
}

static void put_pieces(struct cuda_compute *c, void *to, const void *host, size_t n_bytes)
{
    int k = 0;

    for (size_t done = 0, n; done < n_bytes; done += n, k = (k + 1) % CUDA_STAGINGS) {
        n = piece_of(n_bytes - done);
        cuda_device_wait(c->device, CUDA_EVENT_STAGING + k); /* its last copy, also one of an earlier put */
        memcpy(staging_at(c, k), (const unsigned char *)host + done, n);
        cuda_device_copy(c->device, CUDA_STREAM_COPY, (unsigned char *)to + done, staging_at(c, k), n);
        cuda_device_record(c->device, CUDA_EVENT_STAGING + k, CUDA_STREAM_COPY);
    }
}

/* Behind all calls, or the event that is waited for. */
static void order_copies(struct cuda_compute *c)
{
    if (c->wait_event != 0) {
        cuda_device_enter(c->device);
        cuda_device_wait_event(c->device, CUDA_STREAM_COPY, CUDA_EVENT_FIRST + c->wait_event - 1);
        return;
    }
    cuda_log_flush(c);
    cuda_device_order(c->device, CUDA_STREAM_COPY, CUDA_STREAM_COMPUTE);
}

static void cuda_put(struct compute *base, void *to, const void *host, size_t n_bytes)
{
    struct cuda_compute *c = cuda_of(base);

    order_copies(c);
    if (is_pinned(c, host, n_bytes))
        copy_pinned(c, to, host, n_bytes);
    else
        put_pieces(c, to, host, n_bytes);
    cuda_device_order(c->device, CUDA_STREAM_COMPUTE, CUDA_STREAM_COPY);
    cuda_device_check(c->device, "put");
}

static void cuda_start(struct compute *c)
{
    cuda_log_flush(cuda_of(c));
}

/* Not ordered behind the calls made before, so that it runs beside them. */
static void cuda_upload(struct compute *base, void *to, const void *host, size_t n_bytes)
{
    struct cuda_compute *c = cuda_of(base);

    cuda_log_flush(c); /* queued ahead of the order, those calls do not wait for the copy */
    cuda_device_copy(c->device, CUDA_STREAM_COPY, to, host, n_bytes);
    cuda_device_order(c->device, CUDA_STREAM_COMPUTE, CUDA_STREAM_COPY);
    cuda_device_check(c->device, "upload");
}

static void fetch_piece(struct cuda_compute *c, int k, const unsigned char *from, size_t n_bytes)
{
    cuda_device_wait(c->device, CUDA_EVENT_STAGING + k);
    cuda_device_copy(c->device, CUDA_STREAM_COPY, staging_at(c, k), from, n_bytes);
    cuda_device_record(c->device, CUDA_EVENT_STAGING + k, CUDA_STREAM_COPY);
}

/* While the host copies one piece out of staging, the GPU fills the next. */
static void get_pieces(struct cuda_compute *c, void *host, const void *from, size_t n_bytes)
{
    const unsigned char *source = from;
    size_t asked = 0;
    int k = 0;

    for (size_t done = 0, n; done < n_bytes; done += n, k = (k + 1) % CUDA_STAGINGS) {
        for (int ahead = 0; ahead < CUDA_STAGINGS && asked < n_bytes; ahead++) {
            const size_t in_flight = (asked - done + CUDA_STAGING_BYTES - 1) / CUDA_STAGING_BYTES;
            if (in_flight == CUDA_STAGINGS)
                break;
            fetch_piece(c, (k + (int)in_flight) % CUDA_STAGINGS, source + asked, piece_of(n_bytes - asked));
            asked += piece_of(n_bytes - asked);
        }
        n = piece_of(n_bytes - done);
        cuda_device_wait(c->device, CUDA_EVENT_STAGING + k);
        memcpy((unsigned char *)host + done, staging_at(c, k), n);
    }
}

static void cuda_get(struct compute *base, void *host, const void *from, size_t n_bytes)
{
    struct cuda_compute *c = cuda_of(base);

    order_copies(c);
    if (is_pinned(c, host, n_bytes))
        copy_pinned(c, host, from, n_bytes);
    else
        get_pieces(c, host, from, n_bytes);
    cuda_device_check(c->device, "get");
}

/* Through the staging buffers, which nobody uses then. */
void cuda_fill_random(struct cuda_compute *c, void *memory, size_t n_bytes)
{
    const size_t most_bytes = (size_t)CUDA_STAGINGS * CUDA_STAGING_BYTES;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    uint16_t bits;

    cuda_log_flush(c);
    cuda_device_drain(c->device);
    for (size_t i = 0; i + sizeof bits <= most_bytes && i < n_bytes; i += sizeof bits) {
        state ^= state << 13; /* Marsaglia, Xorshift RNGs, JSS 8(14), 2003 */
        state ^= state >> 7;
        state ^= state << 17;
        bits = (uint16_t)(0x3f00u | (state >> 32 & 0x807f)); /* sign, exponent of [0.5, 1), 7 bits */
        memcpy(c->staging + i, &bits, sizeof bits);
    }
    for (size_t done = 0, n; done < n_bytes; done += n) {
        n = n_bytes - done < most_bytes ? n_bytes - done : most_bytes;
        cuda_device_copy(c->device, CUDA_STREAM_COMPUTE, (unsigned char *)memory + done, c->staging, n);
    }
    cuda_device_drain(c->device);
}

/* --- waiting --- */

void cuda_results_fetch(struct cuda_compute *c)
{
    cuda_log_flush(c);
    if (c->n_pending > 0)
        cuda_device_copy(c->device, CUDA_STREAM_COMPUTE, c->host_results, c->results,
                         c->n_pending * sizeof *c->results);
    cuda_device_drain(c->device);
    for (size_t i = 0; i < c->n_pending; i++) {
        *c->pending[i].loss = c->host_results[i].loss;
        if (c->pending[i].n_correct != NULL)
            *c->pending[i].n_correct = (size_t)c->host_results[i].n_correct;
    }
    c->n_pending = 0;
}

static enum rc cuda_sync(struct compute *base)
{
    struct cuda_compute *c = cuda_of(base);

    if (c->wait_event != 0)
        cuda_device_wait(c->device, CUDA_EVENT_FIRST + c->wait_event - 1);
    else
        cuda_results_fetch(c);
    if (c->out_of_memory) {
        c->out_of_memory = c->wait_event != 0; /* dropped calls may be behind the event: reported again */
        return missing(c, "%s: scratch on the GPU needs %zu bytes, %zu available", c->missing_for, c->n_missing_bytes,
                       cuda_device_available(c->device));
    }
    return cuda_device_error(c->device);
}

static void cuda_record_event(struct compute *base, int k)
{
    struct cuda_compute *c = cuda_of(base);

    cuda_log_flush(c);
    cuda_device_record(c->device, CUDA_EVENT_FIRST + k, CUDA_STREAM_COMPUTE);
}

static void cuda_wait_event(struct compute *base, int k)
{
    cuda_of(base)->wait_event = k + 1;
}

static void cuda_record_stamp(struct compute *base, int k)
{
    struct cuda_compute *c = cuda_of(base);

    cuda_log_flush(c);
    cuda_device_stamp(c->device, k);
}

static uint64_t cuda_stamp_ns(struct compute *base, int i, int k)
{
    return cuda_device_stamp_ns(cuda_of(base)->device, i, k);
}

const struct compute_backend compute_cuda = {
    .module = { .name = "cuda", .caps = COMPUTE_SIDE, .options = cuda_options, .opts_bytes = sizeof(struct cuda_opts) },
    .side = &cuda_side_ops,
    .touches_memory = true,
    .host_memory = false,
    .bits_at_any_alignment = false, /* cuBLAS chooses kernels by it */
    .device_kind = "GPU",
#define X(name, ...) .name = cuda_op_##name,
    COMPUTE_DEVICE_OPERATIONS(X)
#undef X
        .open = cuda_open,
    .close = cuda_close,
    .memory_open = cuda_memory_open,
    .memory_close = cuda_memory_close,
    .host_open = cuda_host_open,
    .host_close = cuda_host_close,
    .memory_available = cuda_memory_available,
    .device_count = cuda_device_count,
    .device_text = cuda_device_text,
    .device_id = cuda_device_id_of,
    .takes_packed = cuda_takes_packed,
    .scratch_bytes = cuda_scratch_bytes,
    .allowance_bytes = CUDA_ALLOWANCE_BYTES,
    .device_name = cuda_device_name_of,
    .put = cuda_put,
    .get = cuda_get,
    .upload = cuda_upload,
    .start = cuda_start,
    .sync = cuda_sync,
    .record_event = cuda_record_event,
    .wait_event = cuda_wait_event,
    .record_stamp = cuda_record_stamp,
    .stamp_ns = cuda_stamp_ns,
};
