/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_frame.c - frames of the zmq transport, and a pool of memory to send them from.
 *
 * Between threads ZeroMQ hands over the sender's own memory. It orders the two threads by itself, yet
 * in ways a thread sanitizer does not see; so the magic is written last, with release, and read
 * first, with acquire: that is the same order in the terms of C11.
 *
 * The pool: the owner takes buffers from `free`; others push them to `returned`, a stack that the
 * owner only ever takes as a whole (so no ABA). n_users counts the owner and every buffer that is out.
 */
#include "harness/net/zmq_frame.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/net/xfer.h"

#define FRAME_MAGIC UINT32_C(0x676d7a02) /* "gmz", version 2 */

enum { N_CLASSES = 40, SMALLEST_BYTES = 4096, SMALL_MESSAGE_BYTES = 2048 };

/* Where the fields of a head are, in bytes, and how many bytes each has; FRAME_TOKEN_BYTES of token end it. */
enum {
    OFFSET_MAGIC = 0,     /* 4 */
    OFFSET_SENDER = 4,    /* 4 */
    OFFSET_TAG = 8,       /* 4 */
    OFFSET_KIND = 12,     /* 4 */
    OFFSET_SEQUENCE = 16, /* 8 */
    OFFSET_LENGTH = 24,   /* 8, of the payload */
    OFFSET_RECEIVED = 32, /* 8 */
    OFFSET_ZERO = 40,     /* 8 */
    OFFSET_TOKEN = 48
};

_Static_assert(OFFSET_TOKEN + FRAME_TOKEN_BYTES == FRAME_HEAD_BYTES, "the token ends the head");

struct buffer {
    struct frame_pool *pool;
    struct buffer *next;
    int power; /* capacity: SMALLEST_BYTES times 2^power */
    _Alignas(64) char bytes[];
};

struct frame_lent {
    atomic_bool is_released; /* set in whatever thread ZeroMQ lets go of it */
    struct frame_lent *next;
};

struct frame_pool {
    struct frame_lent *free_lent; /* the owner's */
    struct buffer *free[N_CLASSES];
    struct buffer *_Atomic returned;
    atomic_size_t n_users;
};

enum rc frame_pool_open(struct frame_pool **out)
{
    struct frame_pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return rc_raise(RC_NOMEM, "transport zmq: no memory");
    atomic_init(&pool->n_users, 1);
    *out = pool;
    return RC_OK;
}

/* Move what came back to where the owner takes from. */
static void take_back(struct frame_pool *pool)
{
    struct buffer *b = atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire);

    while (b) {
        struct buffer *next = b->next;
        b->next = pool->free[b->power];
        pool->free[b->power] = b;
        b = next;
    }
}

/* The owner, or a buffer that came back, is done with the pool. The last of them frees it. */
static void leave(struct frame_pool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->n_users, 1, memory_order_acq_rel) != 1)
        return;
    take_back(pool);
    for (struct frame_lent *lent; (lent = pool->free_lent) != NULL;) {
        pool->free_lent = lent->next;
        free(lent);
    }
    for (int i = 0; i < N_CLASSES; i++)
        for (struct buffer *b; (b = pool->free[i]) != NULL;) {
            pool->free[i] = b->next;
            free(b);
        }
    free(pool);
}

void frame_pool_close(struct frame_pool **pool)
{
    if (pool && *pool) {
        leave(*pool);
        *pool = NULL;
    }
}

/* Called by ZeroMQ, in any thread, when it needs the bytes no longer. */
static void give_back(void *bytes, void *hint)
{
    struct buffer *b = hint;
    struct frame_pool *pool = b->pool;

    (void)bytes;
    b->next = atomic_load_explicit(&pool->returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->returned, &b->next, b, memory_order_release,
                                                  memory_order_relaxed))
        ;
    leave(pool);
}

static struct buffer *take(struct frame_pool *pool, size_t n_bytes)
{
    int power = 0;

    while (power < N_CLASSES - 1 && (size_t)SMALLEST_BYTES << power < n_bytes)
        power++;
    if (!pool->free[power])
        take_back(pool);
    struct buffer *b = pool->free[power];
    if (b) {
        pool->free[power] = b->next;
    } else {
        b = aligned_alloc(64, sizeof *b + ((size_t)SMALLEST_BYTES << power));
        if (!b)
            return NULL;
        b->pool = pool;
        b->power = power;
    }
    atomic_fetch_add_explicit(&pool->n_users, 1, memory_order_relaxed);
    return b;
}

static enum rc make_message(zmq_msg_t *msg, struct frame_pool *pool, size_t n_bytes)
{
    struct buffer *b = NULL;
    bool made;

    if (n_bytes <= SMALL_MESSAGE_BYTES) {
        made = zmq_msg_init_size(msg, n_bytes) == 0;
    } else {
        b = take(pool, n_bytes);
        made = b && zmq_msg_init_data(msg, b->bytes, n_bytes, give_back, b) == 0;
        if (b && !made)
            give_back(b->bytes, b);
    }
    return made ? RC_OK : rc_raise(RC_NOMEM, "transport zmq: no memory for a message of %zu bytes", n_bytes);
}

/* The magic as it is in memory: its bytes are the same on every machine, as those of bytes_put() are. */
static uint32_t magic_in_memory(void)
{
    unsigned char bytes[4];
    uint32_t magic;

    bytes_put(bytes, FRAME_MAGIC, 4);
    memcpy(&magic, bytes, sizeof magic);
    return magic;
}

enum rc frame_write(zmq_msg_t *msg, struct frame_pool *pool, const struct frame *head, const struct xfer *x)
{
    const size_t n_bytes = x ? xfer_n_bytes(x) : 0;
    const bool is_whole = head->kind != FRAME_DIVIDED;
    enum rc rc;

    TRY(make_message(msg, pool, FRAME_HEAD_BYTES + (is_whole ? n_bytes : x->n_head_bytes)));
    unsigned char *h = zmq_msg_data(msg);
    bytes_put(h + OFFSET_SENDER, (uint64_t)head->sender, 4);
    bytes_put(h + OFFSET_TAG, head->tag, 4);
    bytes_put(h + OFFSET_KIND, (uint64_t)head->kind, 4);
    bytes_put(h + OFFSET_SEQUENCE, head->sequence, 8);
    bytes_put(h + OFFSET_LENGTH, n_bytes, 8);
    bytes_put(h + OFFSET_RECEIVED, head->n_received, 8);
    bytes_put(h + OFFSET_ZERO, 0, 8);
    memcpy(h + OFFSET_TOKEN, head->token, FRAME_TOKEN_BYTES);
    if (x && is_whole)
        xfer_copy_out(h + FRAME_HEAD_BYTES, x);
    else if (x && x->n_head_bytes > 0)
        memcpy(h + FRAME_HEAD_BYTES, x->head, x->n_head_bytes);
    atomic_store_explicit((_Atomic uint32_t *)(void *)(h + OFFSET_MAGIC), magic_in_memory(), memory_order_release);
out:
    return rc;
}

static void set_released(void *bytes, void *hint)
{
    struct frame_lent *lent = hint;

    (void)bytes;
    atomic_store_explicit(&lent->is_released, true, memory_order_release);
}

enum rc frame_lend(zmq_msg_t *msg, struct frame_pool *pool, const struct xfer *x, struct frame_lent **out)
{
    struct frame_lent *lent = pool->free_lent;

    if (lent)
        pool->free_lent = lent->next;
    else
        lent = malloc(sizeof *lent);
    if (lent)
        atomic_init(&lent->is_released, false);
    if (!lent || zmq_msg_init_data(msg, x->ptr, x->n_bytes, set_released, lent) != 0) {
        free(lent);
        return rc_raise(RC_NOMEM, "transport zmq: no memory for a message");
    }
    *out = lent;
    return RC_OK;
}

bool frame_take_back(struct frame_pool *pool, struct frame_lent **lent)
{
    if (!*lent)
        return true;
    if (!atomic_load_explicit(&(*lent)->is_released, memory_order_acquire))
        return false;
    (*lent)->next = pool->free_lent;
    pool->free_lent = *lent;
    *lent = NULL;
    return true;
}

/* Is the length in the head h that of the part it is in, or of a divided payload more? */
static bool is_of_length(const unsigned char *h, size_t n_all)
{
    const uint64_t n_payload = bytes_get(h + OFFSET_LENGTH, 8), n_here = n_all - FRAME_HEAD_BYTES;

    return bytes_get(h + OFFSET_KIND, 4) == FRAME_DIVIDED ? n_payload > n_here : n_payload == n_here;
}

bool frame_read(struct frame *out, const void **payload, size_t *n_bytes, zmq_msg_t *msg,
                const unsigned char token[FRAME_TOKEN_BYTES])
{
    unsigned char *h = zmq_msg_data(msg);
    const size_t n_all = zmq_msg_size(msg);

    if (n_all < FRAME_HEAD_BYTES)
        return false;
    /* From a socket a frame may be at any address; then it is nobody else's memory either. */
    if ((uintptr_t)h % _Alignof(_Atomic uint32_t) == 0 &&
        atomic_load_explicit((_Atomic uint32_t *)(void *)(h + OFFSET_MAGIC), memory_order_acquire) != magic_in_memory())
        return false;
    if (bytes_get(h + OFFSET_MAGIC, 4) != FRAME_MAGIC || bytes_get(h + OFFSET_KIND, 4) >= FRAME_N_KINDS ||
        bytes_get(h + OFFSET_ZERO, 8) != 0 || !is_of_length(h, n_all) || bytes_get(h + OFFSET_SENDER, 4) > INT32_MAX ||
        memcmp(h + OFFSET_TOKEN, token, FRAME_TOKEN_BYTES) != 0)
        return false;
    out->kind = (enum frame_kind)bytes_get(h + OFFSET_KIND, 4);
    out->sender = (int)bytes_get(h + OFFSET_SENDER, 4);
    out->tag = (uint32_t)bytes_get(h + OFFSET_TAG, 4);
    out->sequence = bytes_get(h + OFFSET_SEQUENCE, 8);
    out->n_received = bytes_get(h + OFFSET_RECEIVED, 8);
    if (out->kind == FRAME_ACK && (n_all != FRAME_HEAD_BYTES || out->tag != 0 || out->sequence != 0))
        return false;
    memcpy(out->token, h + OFFSET_TOKEN, FRAME_TOKEN_BYTES);
    out->n_body_bytes = bytes_get(h + OFFSET_LENGTH, 8) - (n_all - FRAME_HEAD_BYTES);
    *payload = h + FRAME_HEAD_BYTES;
    *n_bytes = n_all - FRAME_HEAD_BYTES;
    return true;
}
