/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - the log of calls, and repeated steps as CUDA graphs (cuda.h). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/cuda/cuda.h"

enum { MAX_CALL_BYTES = 512 };

static size_t call_bytes(size_t n_args_bytes)
{
    return sizeof(struct cuda_logged) + (n_args_bytes + 7) / 8 * 8;
}

void cuda_log_call(struct cuda_compute *c, const char *name, cuda_run_fn *run, const void *args, size_t n_args_bytes)
{
    struct cuda_log *log = &c->log;
    struct cuda_logged head;

    assert(call_bytes(n_args_bytes) <= MAX_CALL_BYTES);
    if (c->out_of_memory)
        return;
    memset(&head, 0, sizeof head);
    head.run = run;
    head.name = name;
    head.n_args_bytes = n_args_bytes;
    unsigned char *to = log->bytes + log->n_bytes;
    memset(to, 0, call_bytes(n_args_bytes));
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, args, n_args_bytes);
    log->n_bytes += call_bytes(n_args_bytes);
    log->n_calls++;
    if (log->n_bytes + MAX_CALL_BYTES > CUDA_LOG_BYTES || c->n_keys == CUDA_MAX_KEYS)
        cuda_log_flush(c); /* so that the next call and its key fit */
}

/* *memory for n_bytes at least; what it held is lost. */
static bool grow(struct cuda_compute *c, unsigned char **memory, size_t *n_have_bytes, const char *name, size_t n_bytes)
{
    if (c->out_of_memory)
        return false;
    if (c->only_counts) {
        *n_have_bytes = n_bytes > *n_have_bytes ? n_bytes : *n_have_bytes;
        return false;
    }
    if (n_bytes <= *n_have_bytes)
        return true;
    cuda_log_flush(c);
    cuda_logs_forget(c); /* graphs point into the old one */
    cuda_device_free(c->device, *memory);
    *n_have_bytes = 0;
    *memory = cuda_device_alloc(c->device, n_bytes);
    if (*memory != NULL) {
        if (c->gemm_only)
            cuda_fill_random(c, *memory, n_bytes);
        *n_have_bytes = n_bytes;
        return true;
    }
    c->out_of_memory = true;
    c->n_missing_bytes = n_bytes;
    c->missing_for = name;
    return false;
}

bool cuda_scratch_grow(struct cuda_compute *c, const char *name, size_t n_bytes)
{
    return grow(c, &c->scratch, &c->n_scratch_bytes, name, n_bytes);
}

bool cuda_products_grow(struct cuda_compute *c, const char *name, size_t n_bytes)
{
    return grow(c, &c->products, &c->n_products_bytes, name, c->gemm_only ? n_bytes : 0);
}

static void run_all(struct cuda_compute *c, const unsigned char *bytes, size_t n_bytes)
{
    struct cuda_logged head;

    for (size_t offset_bytes = 0; offset_bytes < n_bytes; offset_bytes += call_bytes(head.n_args_bytes)) {
        memcpy(&head, bytes + offset_bytes, sizeof head);
        head.run(c, bytes + offset_bytes + sizeof head);
        cuda_device_check(c->device, head.name);
    }
}

static uint64_t hash_of(const unsigned char *bytes, size_t n_bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), word;

    for (size_t offset_bytes = 0; offset_bytes < n_bytes;
         offset_bytes += sizeof word) { /* a log is made of whole words */
        memcpy(&word, bytes + offset_bytes, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 32;
    }
    return hash;
}

static struct cuda_kept *find_kept(struct cuda_compute *c, uint64_t hash)
{
    for (size_t i = 0; i < CUDA_LOGS_KEPT; i++) {
        struct cuda_kept *k = &c->kept[i];
        if (k->bytes != NULL && k->hash == hash && k->n_bytes == c->log.n_bytes &&
            memcmp(k->bytes, c->log.bytes, k->n_bytes) == 0)
            return k;
    }
    return NULL;
}

static void forget(struct cuda_kept *k)
{
    cuda_graph_close(&k->graph);
    free(k->bytes);
    memset(k, 0, sizeof *k);
}

/* Keep the log, in place of the least recently used. Without memory it is not kept, and runs without a graph. */
static void keep(struct cuda_compute *c, uint64_t hash)
{
    struct cuda_kept *oldest = &c->kept[0];

    for (size_t i = 1; i < CUDA_LOGS_KEPT; i++)
        if (c->kept[i].last_use < oldest->last_use)
            oldest = &c->kept[i];
    if (oldest->graph != NULL)
        cuda_device_drain(c->device); /* it may be running */
    forget(oldest);
    oldest->bytes = malloc(c->log.n_bytes);
    if (oldest->bytes == NULL)
        return;
    memcpy(oldest->bytes, c->log.bytes, c->log.n_bytes);
    oldest->n_bytes = c->log.n_bytes;
    oldest->hash = hash;
    oldest->last_use = ++c->use;
}

static void run_repeating(struct cuda_compute *c)
{
    const uint64_t hash = hash_of(c->log.bytes, c->log.n_bytes);
    struct cuda_kept *k = find_kept(c, hash);

    if (k == NULL) {
        keep(c, hash);
        run_all(c, c->log.bytes, c->log.n_bytes);
        return;
    }
    k->last_use = ++c->use;
    if (k->graph == NULL && !k->no_graph) {
        if (cuda_device_capture(c->device)) {
            run_all(c, c->log.bytes, c->log.n_bytes);
            k->graph = cuda_device_captured(c->device);
        }
        k->no_graph = k->graph == NULL;
    }
    if (k->graph == NULL) {
        run_all(c, c->log.bytes, c->log.n_bytes);
        return;
    }
    cuda_device_launch(c->device, k->graph);
    c->n_graph_launches++;
}

/* Upload the dropout keys before the calls that read them, on the same stream. The host's copy is overwritten only when
 * the last upload is done. */
static void upload_keys(struct cuda_compute *c)
{
    if (c->n_keys == 0)
        return;
    cuda_device_wait(c->device, CUDA_EVENT_KEYS);
    memcpy(c->host_keys, c->next_keys, c->n_keys * sizeof *c->next_keys);
    cuda_device_copy(c->device, CUDA_STREAM_COMPUTE, c->keys, c->host_keys, c->n_keys * sizeof *c->keys);
    cuda_device_record(c->device, CUDA_EVENT_KEYS, CUDA_STREAM_COMPUTE);
    c->n_keys = 0;
}

void cuda_log_flush(struct cuda_compute *c)
{
    cuda_device_enter(c->device);
    if (c->log.n_bytes == 0)
        return;
    if (!c->out_of_memory) {
        upload_keys(c);
        if (!c->uses_graphs || c->log.n_calls < CUDA_GRAPH_MIN_CALLS)
            run_all(c, c->log.bytes, c->log.n_bytes);
        else
            run_repeating(c);
    }
    c->log.n_bytes = c->log.n_calls = c->n_keys = 0;
}

void cuda_logs_forget(struct cuda_compute *c)
{
    cuda_device_drain(c->device);
    for (size_t i = 0; i < CUDA_LOGS_KEPT; i++)
        forget(&c->kept[i]);
}
