/* SPDX-License-Identifier: Apache-2.0 */
/* buckets_test.c - which segments form a bucket, where a bucket is cut (exchange.B1 to B3), and the queue of chunks. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/buckets.h"

enum { N_SEGMENTS = 5 };

/* Parameters 0, 1-10, 11-13, 14-33, 34-35. */
static const struct segment layout[N_SEGMENTS] = { { 0, 1 }, { 1, 10 }, { 11, 3 }, { 14, 20 }, { 34, 2 } };

static void open_plan(struct buckets *b, uint64_t bucket_bytes, uint64_t partition_bytes)
{
    const struct bucket_opts opts = { bucket_bytes, partition_bytes };

    assert_int_equal(buckets_open(b, layout, N_SEGMENTS, &opts), RC_OK);
    assert_int_equal(b->n_params, 36);
}

static void check_bucket(const struct buckets *b, size_t i, size_t first_segment, size_t n_segments, size_t first_chunk,
                         size_t n_chunks)
{
    assert_int_equal(b->bucket[i].first_segment, first_segment);
    assert_int_equal(b->bucket[i].n_segments, n_segments);
    assert_int_equal(b->bucket[i].first_chunk, first_chunk);
    assert_int_equal(b->bucket[i].n_chunks, n_chunks);
    for (size_t s = first_segment; s < first_segment + n_segments; s++)
        assert_int_equal(b->bucket_of[s], i);
}

static void check_chunk(const struct buckets *b, size_t k, size_t offset_elems, size_t n_elems)
{
    assert_int_equal(b->chunk[k].offset_elems, offset_elems);
    assert_int_equal(b->chunk[k].n_elems, n_elems);
}

UNIT_TEST(one_bucket_is_all_B3)
{
    struct buckets b;

    open_plan(&b, 0, 0);
    assert_int_equal(b.n_buckets, 1);
    assert_int_equal(b.n_chunks, 1);
    check_bucket(&b, 0, 0, 5, 0, 1);
    check_chunk(&b, 0, 0, 36);
    buckets_close(&b);
}

/* A cut at parameter 14: what is before it and what is from it on share no bucket, however large one may be. */
UNIT_TEST(cut_is_between_buckets_B3)
{
    static const struct bucket_opts any = { 0, 0 }, of_13 = { 13 * sizeof(float), 8 * sizeof(float) };
    struct buckets b;

    assert_int_equal(buckets_open_cut(&b, layout, N_SEGMENTS, &any, 14), RC_OK);
    assert_int_equal(b.n_buckets, 2);
    assert_int_equal(b.n_chunks, 2);
    check_bucket(&b, 0, 3, 2, 0, 1);
    check_bucket(&b, 1, 0, 3, 1, 1);
    check_chunk(&b, 0, 14, 22);
    check_chunk(&b, 1, 0, 14);
    buckets_close(&b);
    assert_int_equal(buckets_open_cut(&b, layout, N_SEGMENTS, &of_13, 11), RC_OK); /* without: 11 to 13 with 1 to 10 */
    assert_int_equal(b.n_buckets, 4);
    check_bucket(&b, 0, 4, 1, 0, 1);
    check_bucket(&b, 1, 3, 1, 1, 3);
    check_bucket(&b, 2, 2, 1, 4, 1);
    check_bucket(&b, 3, 0, 2, 5, 2);
    buckets_close(&b);
}

/* 13 parameters: 2 + 20 are too many, 20 alone are, 20 + 3 are, 3 + 10 are just right, 13 + 1 are too many. */
UNIT_TEST(buckets_are_filled_last_first)
{
    struct buckets b;

    open_plan(&b, 13 * 4, 0);
    assert_int_equal(b.n_buckets, 4);
    check_bucket(&b, 0, 4, 1, 0, 1);
    check_bucket(&b, 1, 3, 1, 1, 1);
    check_bucket(&b, 2, 1, 2, 2, 1);
    check_bucket(&b, 3, 0, 1, 3, 1);
    check_chunk(&b, 0, 34, 2);
    check_chunk(&b, 1, 14, 20);
    check_chunk(&b, 2, 1, 13);
    check_chunk(&b, 3, 0, 1);
    buckets_close(&b);
    open_plan(&b, 13 * 4 + 3, 0); /* bytes that hold no further parameter */
    assert_int_equal(b.n_buckets, 4);
    buckets_close(&b);
    open_plan(&b, 12 * 4, 0); /* now 3 + 10 are too many, and 10 + 1 go together */
    assert_int_equal(b.n_buckets, 4);
    check_bucket(&b, 2, 2, 1, 2, 1);
    check_bucket(&b, 3, 0, 2, 3, 1);
    buckets_close(&b);
    open_plan(&b, 1 << 20, 0);
    assert_int_equal(b.n_buckets, 1);
    buckets_close(&b);
}

/* 20 parameters in chunks of at most 8: three, of 6, 7 and 7; a small bucket is not cut. */
UNIT_TEST(buckets_are_cut_into_equal_chunks)
{
    struct buckets b;

    open_plan(&b, 13 * 4, 8 * 4);
    assert_int_equal(b.n_buckets, 4);
    assert_int_equal(b.n_chunks, 7);
    check_bucket(&b, 0, 4, 1, 0, 1);
    check_bucket(&b, 1, 3, 1, 1, 3);
    check_bucket(&b, 2, 1, 2, 4, 2);
    check_bucket(&b, 3, 0, 1, 6, 1);
    check_chunk(&b, 0, 34, 2);
    check_chunk(&b, 1, 14, 6);
    check_chunk(&b, 2, 20, 7);
    check_chunk(&b, 3, 27, 7);
    check_chunk(&b, 4, 1, 6);
    check_chunk(&b, 5, 7, 7);
    check_chunk(&b, 6, 0, 1);
    buckets_close(&b);
}

UNIT_TEST(too_small_a_partition_is_refused)
{
    const struct bucket_opts opts = { 0, 3 };
    struct buckets b = { 0 };

    assert_int_equal(buckets_open(&b, layout, N_SEGMENTS, &opts), RC_INVAL);
    assert_null(b.chunk);
}

UNIT_TEST(too_many_chunks_are_refused)
{
    const struct segment huge = { 0, (size_t)1 << 40 };
    struct buckets b = { 0 };

    assert_int_equal(buckets_open(&b, &huge, 1, &(struct bucket_opts){ 0, 1024 }), RC_INVAL);
    assert_non_null(strstr(rc_message(), "into 4294967296 chunks; at most 2147483647"));
    assert_null(b.chunk);
}

/* exchange.B1, B2 of any layout and any options. */
UNIT_TEST(chunks_cover_every_parameter_once_B2)
{
    for (uint64_t run = 0; run < 300; run++) {
        const size_t n = 1 + rng_u64(run, RNG_TEST, 0) % 40;
        struct segment *s = calloc(n, sizeof *s);
        struct buckets a, b;
        size_t n_params = 0;

        assert_non_null(s);
        for (size_t i = 0; i < n; i++) {
            s[i] = (struct segment){ n_params, 1 + rng_u64(run, RNG_TEST, 1 + i) % 100 };
            n_params += s[i].n_elems;
        }
        const struct bucket_opts opts = { rng_u64(run, RNG_TEST, 100) % 3 * 200, rng_u64(run, RNG_TEST, 101) % 3 * 60 };
        assert_int_equal(buckets_open(&a, s, n, &opts), RC_OK);
        assert_int_equal(buckets_open(&b, s, n, &opts), RC_OK);
        assert_int_equal(buckets_digest(&a), buckets_digest(&b));
        unsigned char *covered = calloc(n_params, 1);
        assert_non_null(covered);
        for (size_t k = 0; k < a.n_chunks; k++) {
            assert_true(a.chunk[k].n_elems > 0 && a.chunk[k].offset_elems + a.chunk[k].n_elems <= n_params);
            assert_true(opts.partition_bytes == 0 || a.chunk[k].n_elems * 4 <= opts.partition_bytes);
            for (size_t i = 0; i < a.chunk[k].n_elems; i++)
                assert_int_equal(covered[a.chunk[k].offset_elems + i]++, 0);
        }
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(buckets_segment_at(&a, s[i].offset_elems), i);
            const struct bucket *in = &a.bucket[a.bucket_of[i]];
            assert_true(i >= in->first_segment && i < in->first_segment + in->n_segments);
        }
        for (size_t i = 0; i < n_params; i++)
            assert_int_equal(covered[i], 1);
        free(covered);
        buckets_close(&a);
        buckets_close(&b);
        free(s);
    }
}

UNIT_TEST(other_plans_have_other_digests)
{
    const struct bucket_opts opts[] = { { 0, 0 }, { 13 * 4, 0 }, { 12 * 4, 0 }, { 13 * 4, 8 * 4 }, { 13 * 4, 6 * 4 } };
    enum { N = sizeof opts / sizeof *opts };
    uint64_t digest[N];

    for (int i = 0; i < N; i++) {
        struct buckets b;
        open_plan(&b, opts[i].bucket_bytes, opts[i].partition_bytes);
        digest[i] = buckets_digest(&b);
        buckets_close(&b);
        for (int k = 0; k < i; k++)
            assert_true(digest[i] != digest[k]);
    }
}

UNIT_TEST(the_oldest_goes_first_or_the_lowest)
{
    static const size_t in[] = { 1, 0, 3, 2 }, lowest_first[] = { 2, 1, 3, 0 };
    struct buckets b;

    open_plan(&b, 13 * 4, 0); /* chunks 0 to 3 begin at 34, 14, 1, 0 */
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        struct chunk_queue q;
        assert_int_equal(chunk_queue_open(&q, &b, by_priority), RC_OK);
        assert_true(chunk_queue_pop(&q) == NO_CHUNK);
        for (int i = 0; i < 3; i++)
            chunk_queue_push(&q, in[i]);
        assert_int_equal(chunk_queue_pop(&q), by_priority ? 3 : 1);
        chunk_queue_push(&q, 2);
        assert_false(chunk_queue_take(&q, by_priority ? 3 : 1));
        assert_true(chunk_queue_take(&q, 2));
        assert_int_equal(q.n, 2);
        assert_int_equal(chunk_queue_pop(&q), by_priority ? lowest_first[1] : 0);
        assert_int_equal(chunk_queue_pop(&q), by_priority ? 0 : 3);
        assert_true(chunk_queue_pop(&q) == NO_CHUNK);
        chunk_queue_close(&q);
    }
    buckets_close(&b);
}

UNIT_MAIN("buckets")
