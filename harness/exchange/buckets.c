/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c - segments to buckets to chunks, and the queue of chunks. */
#include "harness/exchange/buckets.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The most elements that n_bytes hold; SIZE_MAX: no limit. */
static size_t limit_elems(uint64_t n_bytes)
{
    return n_bytes > 0 ? (size_t)(n_bytes / sizeof(float)) : SIZE_MAX;
}

static struct range range_of(const struct buckets *b, const struct bucket *bucket)
{
    const struct segment *first = &b->segment[bucket->first_segment], *last = first + bucket->n_segments - 1;

    return (struct range){ first->offset_elems, last->offset_elems + last->n_elems - first->offset_elems };
}

/* Fill bucket[] and bucket_of[], last segment first. */
static void fill_buckets(struct buckets *b, size_t max_elems, size_t cut_elem)
{
    size_t n_elems = 0;

    for (size_t s = b->n_segments; s-- > 0;) {
        const size_t n_own = b->segment[s].n_elems;
        const bool is_cut = cut_elem > 0 && b->segment[s].offset_elems + n_own == cut_elem;
        if (b->n_buckets == 0 || is_cut || n_own > max_elems || n_elems > max_elems - n_own) {
            b->bucket[b->n_buckets++] = (struct bucket){ .first_segment = s };
            n_elems = 0;
        }
        struct bucket *open = &b->bucket[b->n_buckets - 1];
        open->first_segment = s;
        open->n_segments++;
        n_elems += n_own;
        b->bucket_of[s] = b->n_buckets - 1;
    }
}

static size_t n_chunks_of(struct range bucket, size_t max_elems)
{
    return bucket.n_elems / max_elems + (bucket.n_elems % max_elems > 0);
}

/* Equal chunks: no small one is left over at the end. */
static void fill_chunks(struct buckets *b, size_t max_elems)
{
    size_t k = 0;

    for (size_t i = 0; i < b->n_buckets; i++) {
        const struct range whole = range_of(b, &b->bucket[i]);
        b->bucket[i].first_chunk = k;
        b->bucket[i].n_chunks = n_chunks_of(whole, max_elems);
        for (size_t p = 0; p < b->bucket[i].n_chunks; p++) {
            const struct range part = range_part(whole.n_elems, (int)b->bucket[i].n_chunks, (int)p);
            b->chunk[k++] = (struct range){ whole.offset_elems + part.offset_elems, part.n_elems };
        }
    }
}

enum rc buckets_open_cut(struct buckets *out, const struct segment *segment, size_t n_segments,
                         const struct bucket_opts *opts, size_t cut_elem)
{
    const size_t max_bucket = limit_elems(opts->bucket_bytes), max_chunk = limit_elems(opts->partition_bytes);
    struct buckets b = { .n_segments = n_segments };
    enum rc rc = RC_OK;

    if (max_chunk == 0)
        FAIL(RC_INVAL, "partition of %llu bytes: a parameter has %zu", (unsigned long long)opts->partition_bytes,
             sizeof(float));
    b.segment = calloc(n_segments, sizeof *b.segment);
    b.bucket_of = calloc(n_segments, sizeof *b.bucket_of);
    b.bucket = calloc(n_segments, sizeof *b.bucket);
    if (!b.segment || !b.bucket_of || !b.bucket)
        FAIL(RC_NOMEM, "no memory for the buckets of %zu segments", n_segments);
    for (size_t s = 0; s < n_segments; s++) {
        assert(segment[s].n_elems > 0 && segment[s].offset_elems == b.n_params);
        b.segment[s] = segment[s];
        b.n_params += segment[s].n_elems;
    }
    fill_buckets(&b, max_bucket, cut_elem);
    for (size_t i = 0; i < b.n_buckets; i++)
        b.n_chunks += n_chunks_of(range_of(&b, &b.bucket[i]), max_chunk);
    if (b.n_chunks > INT_MAX)
        FAIL(RC_INVAL, "partition of %llu bytes: cuts %zu parameters into %zu chunks; at most %d are possible",
             (unsigned long long)opts->partition_bytes, b.n_params, b.n_chunks, INT_MAX);
    b.chunk = calloc(b.n_chunks, sizeof *b.chunk);
    if (!b.chunk)
        FAIL(RC_NOMEM, "no memory for the %zu chunks of a gradient", b.n_chunks);
    fill_chunks(&b, max_chunk);
    *out = b;
    b = (struct buckets){ 0 };
out:
    buckets_close(&b);
    return rc;
}

enum rc buckets_open(struct buckets *out, const struct segment *segment, size_t n_segments,
                     const struct bucket_opts *opts)
{
    return buckets_open_cut(out, segment, n_segments, opts, 0);
}

size_t buckets_segment_at(const struct buckets *b, size_t offset_elems)
{
    size_t low = 0, n = b->n_segments;

    while (n > 1) {
        const size_t half = n / 2;
        if (b->segment[low + half].offset_elems <= offset_elems) {
            low += half;
            n -= half;
        } else
            n = half;
    }
    assert(b->segment[low].offset_elems == offset_elems);
    return low;
}

static uint64_t mix(uint64_t h, uint64_t value) /* FNV-1a, by words; with the multiplier of 64 bits */
{
    return (h ^ value) * UINT64_C(0x100000001b3);
}

size_t buckets_of_chunk(const struct buckets *b, size_t k)
{
    size_t low = 0, high = b->n_buckets; /* the bucket is in [low, high): chunks lie by bucket */

    assert(k < b->n_chunks);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (b->bucket[middle].first_chunk <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t buckets_digest(const struct buckets *b)
{
    uint64_t h = mix(UINT64_C(0xcbf29ce484222325), b->n_params);

    for (size_t i = 0; i < b->n_buckets; i++)
        h = mix(h, b->bucket[i].n_segments);
    for (size_t k = 0; k < b->n_chunks; k++)
        h = mix(mix(h, b->chunk[k].offset_elems), b->chunk[k].n_elems);
    return h;
}

void buckets_close(struct buckets *b)
{
    free(b->segment);
    free(b->bucket_of);
    free(b->bucket);
    free(b->chunk);
    *b = (struct buckets){ 0 };
}

/* --- the queue: an array, as there are hundreds of chunks at most --- */

enum rc chunk_queue_open(struct chunk_queue *out, const struct buckets *buckets, bool by_priority)
{
    *out = (struct chunk_queue){ .buckets = buckets, .by_priority = by_priority };
    out->chunk = calloc(buckets->n_chunks, sizeof *out->chunk);
    return out->chunk ? RC_OK : rc_raise(RC_NOMEM, "no memory for a queue of %zu chunks", buckets->n_chunks);
}

void chunk_queue_push(struct chunk_queue *q, size_t chunk)
{
    assert(q->n < q->buckets->n_chunks);
    q->chunk[q->n++] = chunk;
}

static size_t take_at(struct chunk_queue *q, size_t i)
{
    const size_t chunk = q->chunk[i];

    memmove(&q->chunk[i], &q->chunk[i + 1], (q->n - i - 1) * sizeof *q->chunk);
    q->n--;
    return chunk;
}

size_t chunk_queue_pop(struct chunk_queue *q)
{
    const struct range *range = q->buckets->chunk;
    size_t next = 0;

    if (q->n == 0)
        return NO_CHUNK;
    for (size_t i = 1; q->by_priority && i < q->n; i++)
        if (range[q->chunk[i]].offset_elems < range[q->chunk[next]].offset_elems)
            next = i;
    return take_at(q, next);
}

bool chunk_queue_take(struct chunk_queue *q, size_t chunk)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->chunk[i] == chunk)
            return take_at(q, i) == chunk;
    return false;
}

void chunk_queue_close(struct chunk_queue *q)
{
    free(q->chunk);
    *q = (struct chunk_queue){ 0 };
}
