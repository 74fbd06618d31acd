/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_frame_test.c - what bytes are a frame: of every head that differs in one bit, and of noise. */
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/net/zmq_frame.h"

enum { PAYLOAD_BYTES = 24, ALL_BYTES = FRAME_HEAD_BYTES + PAYLOAD_BYTES };

static const unsigned char token[FRAME_TOKEN_BYTES] = { 9, 8, 7, 6, 5, 4, 3, 2, 1 };

static const struct frame made = { .kind = FRAME_MESSAGE,
                                   .sender = 5,
                                   .tag = TAG_ANY | 7,
                                   .sequence = UINT64_C(0x0102030405060708),
                                   .n_received = UINT64_C(0x1112131415161718),
                                   .token = { 9, 8, 7, 6, 5, 4, 3, 2, 1 } };

/* out[ALL_BYTES] := a frame of head with a payload of PAYLOAD_BYTES, or none. */
static size_t write_frame(unsigned char out[ALL_BYTES], const struct frame *head, bool has_payload)
{
    unsigned char payload[PAYLOAD_BYTES];
    const struct xfer x = { .ptr = payload, .n_bytes = sizeof payload };
    struct frame_pool *pool = NULL;
    zmq_msg_t msg;

    memset(payload, 0x5a, sizeof payload);
    assert_int_equal(frame_pool_open(&pool), RC_OK);
    assert_int_equal(frame_write(&msg, pool, head, has_payload ? &x : NULL), RC_OK);
    const size_t n_bytes = zmq_msg_size(&msg);
    assert_true(n_bytes <= ALL_BYTES);
    memcpy(out, zmq_msg_data(&msg), n_bytes);
    zmq_msg_close(&msg);
    frame_pool_close(&pool);
    return n_bytes;
}

/* In memory of exactly n_bytes, so that a sanitizer sees what is read behind it. */
static bool reads(struct frame *out, const unsigned char *bytes, size_t n_bytes)
{
    const void *payload = NULL;
    size_t n_payload_bytes = 0;
    zmq_msg_t msg;

    assert_int_equal(zmq_msg_init_size(&msg, n_bytes), 0);
    if (n_bytes > 0)
        memcpy(zmq_msg_data(&msg), bytes, n_bytes);
    const bool is_frame = frame_read(out, &payload, &n_payload_bytes, &msg, token);
    if (is_frame) {
        assert_int_equal(n_payload_bytes, n_bytes - FRAME_HEAD_BYTES);
        assert_memory_equal(payload, bytes + FRAME_HEAD_BYTES, n_payload_bytes);
    }
    zmq_msg_close(&msg);
    return is_frame;
}

static bool is_same(const struct frame *a, const struct frame *b)
{
    return a->kind == b->kind && a->sender == b->sender && a->tag == b->tag && a->sequence == b->sequence &&
           a->n_received == b->n_received;
}

UNIT_TEST(a_frame_is_read_as_it_was_written)
{
    const struct frame ack = {
        .kind = FRAME_ACK, .sender = INT32_MAX, .n_received = 3, .token = { 9, 8, 7, 6, 5, 4, 3, 2, 1 }
    };
    unsigned char bytes[ALL_BYTES];
    struct frame read;

    assert_int_equal(write_frame(bytes, &made, true), ALL_BYTES);
    assert_true(reads(&read, bytes, ALL_BYTES));
    assert_true(is_same(&read, &made));
    assert_memory_equal(read.token, token, sizeof token);
    assert_int_equal(write_frame(bytes, &ack, false), FRAME_HEAD_BYTES);
    assert_true(reads(&read, bytes, FRAME_HEAD_BYTES));
    assert_true(is_same(&read, &ack));
}

/* Bits of sender, tag, sequence and n_received are anybody's: another number. All others make it a stranger's. */
UNIT_TEST(a_wrong_bit_is_another_number_or_a_stranger)
{
    unsigned char bytes[ALL_BYTES];
    struct frame read;
    int n_read = 0;

    (void)write_frame(bytes, &made, true);
    for (int bit = 0; bit < 8 * FRAME_HEAD_BYTES; bit++) {
        const int offset = bit / 8;
        const bool is_number =
            (offset >= 4 && offset < 12 && bit != 63) || (offset >= 16 && offset < 24) || (offset >= 32 && offset < 40);
        bytes[offset] ^= (unsigned char)(1 << bit % 8);
        const bool is_frame = reads(&read, bytes, ALL_BYTES);
        assert_int_equal(is_frame, is_number);
        assert_true(!is_frame || !is_same(&read, &made));
        n_read += is_frame;
        bytes[offset] ^= (unsigned char)(1 << bit % 8);
    }
    assert_int_equal(n_read, 31 + 32 + 64 + 64);
}

/* A divided frame has its header behind the head, and says how long its second part is, which is not empty. */
UNIT_TEST(a_divided_frame_tells_of_its_second_part)
{
    unsigned char payload[PAYLOAD_BYTES];
    const struct xfer x = { .head = payload, .n_head_bytes = 8, .ptr = payload + 8, .n_bytes = PAYLOAD_BYTES - 8 };
    struct frame divided = made, read;
    struct frame_pool *pool = NULL;
    struct frame_lent *lent = NULL;
    const void *first = NULL;
    size_t n_bytes = 0;
    zmq_msg_t msg, body;

    memset(payload, 0x5a, sizeof payload);
    divided.kind = FRAME_DIVIDED;
    assert_int_equal(frame_pool_open(&pool), RC_OK);
    assert_int_equal(frame_write(&msg, pool, &divided, &x), RC_OK);
    assert_int_equal(zmq_msg_size(&msg), FRAME_HEAD_BYTES + 8);
    assert_true(frame_read(&read, &first, &n_bytes, &msg, token));
    assert_true(is_same(&read, &divided));
    assert_int_equal(n_bytes, 8);
    assert_int_equal(read.n_body_bytes, PAYLOAD_BYTES - 8);
    assert_memory_equal(first, payload, 8);
    zmq_msg_close(&msg);
    assert_int_equal(frame_lend(&body, pool, &x, &lent), RC_OK);
    assert_ptr_equal(zmq_msg_data(&body), payload + 8);
    assert_false(frame_take_back(pool, &lent));
    assert_non_null(lent);
    zmq_msg_close(&body);
    assert_true(frame_take_back(pool, &lent));
    assert_null(lent);
    assert_true(frame_take_back(pool, &lent));
    divided.kind = FRAME_DIVIDED;
    assert_int_equal(frame_write(&msg, pool, &divided, &(struct xfer){ .head = payload, .n_head_bytes = 8 }), RC_OK);
    assert_false(frame_read(&read, &first, &n_bytes, &msg, token)); /* nothing is left for a second part */
    zmq_msg_close(&msg);
    frame_pool_close(&pool);
}

UNIT_TEST(other_lengths_are_strangers)
{
    unsigned char bytes[ALL_BYTES + 8] = { 0 };
    struct frame read;

    (void)write_frame(bytes, &made, true);
    for (size_t n_bytes = 0; n_bytes <= sizeof bytes; n_bytes++)
        assert_int_equal(reads(&read, bytes, n_bytes), n_bytes == ALL_BYTES);
}

/* An acknowledgement has neither payload nor tag nor sequence. */
UNIT_TEST(an_acknowledgement_is_a_head_alone)
{
    const struct frame ack = {
        .kind = FRAME_ACK, .sender = 1, .n_received = 3, .token = { 9, 8, 7, 6, 5, 4, 3, 2, 1 }
    };
    struct frame other = ack, read;
    unsigned char bytes[ALL_BYTES];

    assert_false(reads(&read, bytes, write_frame(bytes, &ack, true)));
    other.tag = 1;
    assert_false(reads(&read, bytes, write_frame(bytes, &other, false)));
    other.tag = 0;
    other.sequence = 1;
    assert_false(reads(&read, bytes, write_frame(bytes, &other, false)));
    other.sequence = 0;
    assert_true(reads(&read, bytes, write_frame(bytes, &other, false)));
}

/* Noise of any length, and frames with some bytes of noise: never ours while a byte of the token is not. */
UNIT_TEST(noise_is_a_stranger)
{
    enum { N_TRIES = 100000 };
    unsigned char bytes[ALL_BYTES];
    struct frame read;

    for (uint64_t i = 0; i < N_TRIES; i++) {
        const uint64_t random = rng_u64(i, RNG_TEST, 0);
        if (i % 2 == 0)
            for (uint64_t k = 0; k < ALL_BYTES; k++)
                bytes[k] = (unsigned char)rng_u64(i, RNG_TEST, k + 1);
        else
            (void)write_frame(bytes, &made, true);
        bytes[random % (FRAME_HEAD_BYTES - FRAME_TOKEN_BYTES)] ^= (unsigned char)(random >> 8);
        bytes[FRAME_HEAD_BYTES - 1 - (random >> 16) % FRAME_TOKEN_BYTES] ^= 0x40;
        assert_false(reads(&read, bytes, i % 2 == 0 ? random % (ALL_BYTES + 1) : ALL_BYTES));
    }
}

UNIT_MAIN("zmq_frame")
