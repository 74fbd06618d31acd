/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_stream.c - messages over one TCP connection; only a process with the key of the run can read or make them; see
 * tcp_stream.h.
 */
#include "harness/world/tcp/tcp_stream.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/bytes.h"

enum {
    BEGIN_BYTES = 8, /* of a hello: who speaks, and which version */
    PROOF_BYTES = crypto_generichash_BYTES_MIN,
    SHOWN_BYTES = BEGIN_BYTES + crypto_kx_PUBLICKEYBYTES, /* what the proof is of */
    HELLO_BYTES = SHOWN_BYTES + PROOF_BYTES,
    LENGTH_BYTES = 4,
    HEADER_BYTES = 24,
    PLAIN_BYTES = 65536, /* of a record, at most */
    SEALED_BYTES = PLAIN_BYTES + crypto_secretstream_xchacha20poly1305_ABYTES,
    MAX_READS = 64 /* of one call: a peer may send without end */
};

_Static_assert(crypto_generichash_KEYBYTES == STREAM_KEY_BYTES, "the key of the run keys a digest");
_Static_assert(crypto_generichash_BYTES_MAX >= 2 * crypto_secretstream_xchacha20poly1305_KEYBYTES, "two keys of one");

static const unsigned char magic[4] = { 'G', 'M', 'T', 'W' };

struct bytes { /* from offset_bytes on, n_bytes of capacity_bytes are set */
    unsigned char *at;
    size_t offset_bytes, n_bytes, capacity_bytes;
};

struct tcp_stream {
    int fd;
    bool is_client, has_failed;
    enum { AWAITS_HELLO, AWAITS_HEADER, IS_OPEN } state;
    unsigned char run_key[STREAM_KEY_BYTES];
    unsigned char own_public[crypto_kx_PUBLICKEYBYTES], own_secret[crypto_kx_SECRETKEYBYTES];
    unsigned char receive_key[crypto_secretstream_xchacha20poly1305_KEYBYTES];
    crypto_secretstream_xchacha20poly1305_state sends, receives;
    size_t most_bytes;
    struct bytes out;     /* to send */
    struct bytes message; /* opened so far: header and body */
    bool is_whole;        /* all of it */
    size_t n_in;          /* of `in` */
    unsigned char in[LENGTH_BYTES + SEALED_BYTES];
};

static enum rc reserve(struct bytes *b, size_t n_more)
{
    const size_t n_bytes = b->n_bytes + n_more;
    unsigned char *at;

    if (n_bytes <= b->capacity_bytes)
        return RC_OK;
    const size_t capacity_bytes = n_bytes < 2 * b->capacity_bytes ? 2 * b->capacity_bytes : n_bytes;
    at = realloc(b->at, capacity_bytes);
    if (!at)
        return rc_raise(RC_NOMEM, "no memory for a message of %zu bytes", n_bytes);
    b->at = at;
    b->capacity_bytes = capacity_bytes;
    return RC_OK;
}

static enum rc append(struct bytes *b, const void *bytes, size_t n_bytes)
{
    enum rc rc;

    TRY(reserve(b, n_bytes));
    memcpy(b->at + b->n_bytes, bytes, n_bytes);
    b->n_bytes += n_bytes;
out:
    return rc;
}

static void forget(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){ 0 };
}

/* Of a hello, by who has the key of the run (world.N1). Client and server make different ones: neither can be sent
 * back. */
static void prove(unsigned char proof[PROOF_BYTES], const struct tcp_stream *s, bool is_client,
                  const unsigned char *hello)
{
    const unsigned char side = is_client ? 1 : 2;
    crypto_generichash_state digest;

    (void)crypto_generichash_init(&digest, s->run_key, sizeof s->run_key, PROOF_BYTES);
    (void)crypto_generichash_update(&digest, &side, sizeof side);
    (void)crypto_generichash_update(&digest, hello, SHOWN_BYTES);
    (void)crypto_generichash_final(&digest, proof, PROOF_BYTES);
}

enum rc tcp_stream_open(struct tcp_stream **out, int fd, bool is_client, const unsigned char key[STREAM_KEY_BYTES])
{
    const int on = 1;
    struct tcp_stream *s = calloc(1, sizeof *s);
    unsigned char hello[HELLO_BYTES];
    enum rc rc = RC_OK;

    if (!s) {
        (void)close(fd);
        return rc_raise(RC_NOMEM, "no memory for a connection");
    }
    s->fd = fd;
    s->is_client = is_client;
    if (sodium_init() < 0)
        FAIL(RC_IO, "libsodium cannot be initialised: the system gives no random numbers");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    memcpy(s->run_key, key, sizeof s->run_key);
    crypto_kx_keypair(s->own_public, s->own_secret);
    memcpy(hello, magic, sizeof magic);
    bytes_put(hello + 4, STREAM_VERSION, 4);
    memcpy(hello + BEGIN_BYTES, s->own_public, sizeof s->own_public);
    prove(hello + SHOWN_BYTES, s, is_client, hello);
    TRY(append(&s->out, hello, sizeof hello));
    *out = s;
    s = NULL;
out:
    tcp_stream_close(&s);
    return rc;
}

void tcp_stream_close(struct tcp_stream **sp)
{
    struct tcp_stream *s = *sp;

    if (!s)
        return;
    (void)close(s->fd);
    forget(&s->out);
    forget(&s->message);
    sodium_memzero(s, sizeof *s);
    free(s);
    *sp = NULL;
}

int tcp_stream_fd(const struct tcp_stream *s)
{
    return s->fd;
}

void tcp_stream_limit(struct tcp_stream *s, size_t most_bytes)
{
    s->most_bytes = most_bytes;
}

bool tcp_stream_is_open(const struct tcp_stream *s)
{
    return s->state == IS_OPEN && !s->has_failed;
}

bool tcp_stream_has_shown_key(const struct tcp_stream *s)
{
    return s->state != AWAITS_HELLO;
}

bool tcp_stream_has_to_send(const struct tcp_stream *s)
{
    return s->out.n_bytes > s->out.offset_bytes;
}

/* --- to open it (world.N1) --- */

/* As soon as that has come: who speaks another language may wait for an answer. */
static enum rc check_begin(const unsigned char *hello)
{
    if (memcmp(hello, magic, sizeof magic) != 0)
        return rc_raise(RC_MISMATCH, "what answers there is no gradmark");
    if (bytes_get(hello + 4, 4) != STREAM_VERSION)
        return rc_raise(RC_MISMATCH, "it speaks version %u of the protocol of world tcp, and this program %d",
                        (unsigned)bytes_get(hello + 4, 4), STREAM_VERSION);
    return RC_OK;
}

static enum rc take_hello(struct tcp_stream *s, const unsigned char *hello)
{
    enum { KEY = crypto_secretstream_xchacha20poly1305_KEYBYTES };
    const unsigned char *peer_public = hello + BEGIN_BYTES;
    const unsigned char *client = s->is_client ? s->own_public : peer_public;
    const unsigned char *server = s->is_client ? peer_public : s->own_public;
    unsigned char secret[crypto_scalarmult_BYTES], keys[2 * KEY], proof[PROOF_BYTES];
    unsigned char header[crypto_secretstream_xchacha20poly1305_HEADERBYTES];
    crypto_generichash_state digest;
    enum rc rc = RC_OK;

    prove(proof, s, !s->is_client, hello);
    if (sodium_memcmp(proof, hello + SHOWN_BYTES, sizeof proof) != 0)
        return rc_raise(RC_MISMATCH, s->is_client
                                         ? "it has another key; give all members the same --key-file, or start "
                                           "them as one user, with one HOME"
                                         : "it does not have the key of this run");
    if (crypto_scalarmult(secret, s->own_secret, peer_public) != 0)
        FAIL(RC_MISMATCH, "it sent an invalid public key");
    crypto_generichash_init(&digest, s->run_key, sizeof s->run_key, sizeof keys);
    crypto_generichash_update(&digest, secret, sizeof secret);
    crypto_generichash_update(&digest, client, crypto_kx_PUBLICKEYBYTES);
    crypto_generichash_update(&digest, server, crypto_kx_PUBLICKEYBYTES);
    crypto_generichash_final(&digest, keys, sizeof keys);
    memcpy(s->receive_key, keys + (s->is_client ? KEY : 0), KEY);
    crypto_secretstream_xchacha20poly1305_init_push(&s->sends, header, keys + (s->is_client ? 0 : KEY));
    TRY(append(&s->out, header, sizeof header));
    s->state = AWAITS_HEADER;
out:
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(keys, sizeof keys);
    sodium_memzero(s->own_secret, sizeof s->own_secret);
    return rc;
}

static enum rc take_header(struct tcp_stream *s, const unsigned char *header)
{
    if (crypto_secretstream_xchacha20poly1305_init_pull(&s->receives, header, s->receive_key) != 0)
        return rc_raise(RC_MISMATCH, "it sent an invalid header");
    s->state = IS_OPEN;
    return RC_OK;
}

/* --- to receive (world.N2, N3) --- */

static enum rc take_record(struct tcp_stream *s, const unsigned char *sealed, size_t n_sealed)
{
    const size_t n_plain = n_sealed - crypto_secretstream_xchacha20poly1305_ABYTES;
    struct bytes *m = &s->message;
    unsigned char tag;
    enum rc rc;

    if (m->n_bytes + n_plain > HEADER_BYTES + s->most_bytes)
        FAIL(RC_MISMATCH, "it sends a message of more than %zu bytes", s->most_bytes);
    TRY(reserve(m, n_plain));
    if (crypto_secretstream_xchacha20poly1305_pull(&s->receives, m->at + m->n_bytes, NULL, &tag, sealed, n_sealed, NULL,
                                                   0) != 0)
        FAIL(RC_MISMATCH, "it does not have the key of this run");
    m->n_bytes += n_plain;
    s->is_whole = tag == crypto_secretstream_xchacha20poly1305_TAG_PUSH;
    if (s->is_whole && (m->n_bytes < HEADER_BYTES || bytes_get(m->at + 16, 8) != m->n_bytes - HEADER_BYTES))
        FAIL(RC_MISMATCH, "it sends a message that is not as long as its header says");
out:
    return rc;
}

/* How many of the bytes that have come make up the next part; 0: those that are needed are not known yet. */
static enum rc next_part(const struct tcp_stream *s, size_t *n_bytes)
{
    *n_bytes = s->state == AWAITS_HELLO    ? (size_t)HELLO_BYTES
               : s->state == AWAITS_HEADER ? (size_t)crypto_secretstream_xchacha20poly1305_HEADERBYTES
                                           : (size_t)LENGTH_BYTES;
    if (s->state != IS_OPEN || s->n_in < LENGTH_BYTES)
        return RC_OK;
    const uint64_t n_sealed = bytes_get(s->in, LENGTH_BYTES);
    if (n_sealed < crypto_secretstream_xchacha20poly1305_ABYTES || n_sealed > SEALED_BYTES)
        return rc_raise(RC_MISMATCH, "it sends a record of %llu bytes", (unsigned long long)n_sealed);
    *n_bytes = LENGTH_BYTES + (size_t)n_sealed;
    return RC_OK;
}

/* Take the parts in s->in, up to the end of a message. */
static enum rc take_parts(struct tcp_stream *s)
{
    size_t n_bytes;
    enum rc rc = RC_OK;

    while (!s->is_whole) {
        TRY(next_part(s, &n_bytes));
        if (s->state == AWAITS_HELLO && s->n_in >= BEGIN_BYTES)
            TRY(check_begin(s->in));
        if (s->n_in < n_bytes)
            break;
        if (s->state == AWAITS_HELLO)
            TRY(take_hello(s, s->in));
        else if (s->state == AWAITS_HEADER)
            TRY(take_header(s, s->in));
        else
            TRY(take_record(s, s->in + LENGTH_BYTES, n_bytes - LENGTH_BYTES));
        s->n_in -= n_bytes;
        memmove(s->in, s->in + n_bytes, s->n_in);
    }
out:
    return rc;
}

static enum rc receive(struct tcp_stream *s)
{
    enum rc rc;

    TRY(take_parts(s));
    for (int i = 0; i < MAX_READS && !s->is_whole; i++) {
        const ssize_t n = recv(s->fd, s->in + s->n_in, sizeof s->in - s->n_in, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN))
            break;
        if (n < 0)
            FAIL(RC_PEER, "the connection has ended: %s", strerror(errno));
        if (n == 0)
            FAIL(RC_PEER, "it has ended the connection");
        s->n_in += (size_t)n;
        TRY(take_parts(s));
    }
out:
    return rc;
}

/* --- to send --- */

static enum rc send_out(struct tcp_stream *s)
{
    struct bytes *b = &s->out;

    while (tcp_stream_has_to_send(s)) {
        const ssize_t n =
            send(s->fd, b->at + b->offset_bytes, b->n_bytes - b->offset_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN))
            return RC_OK;
        if (n < 0)
            return rc_raise(RC_PEER, "the connection has ended: %s", strerror(errno));
        b->offset_bytes += (size_t)n;
    }
    b->offset_bytes = b->n_bytes = 0;
    return RC_OK;
}

enum rc tcp_stream_tend(struct tcp_stream *s)
{
    enum rc rc, sent;

    if (s->has_failed)
        return rc_raise(RC_PEER, "the connection has ended");
    sent = send_out(s);
    rc = receive(s); /* also where it cannot be sent: what came says why */
    if (rc == RC_OK && tcp_stream_has_to_send(s) && sent == RC_OK)
        sent = send_out(s);
    if (rc == RC_OK && !s->is_whole)
        rc = sent;
    s->has_failed = rc != RC_OK;
    return rc;
}

static enum rc post_record(struct tcp_stream *s, const unsigned char *plain, size_t n_plain, bool is_last)
{
    const size_t n_sealed = n_plain + crypto_secretstream_xchacha20poly1305_ABYTES;
    unsigned char *to;
    enum rc rc;

    TRY(reserve(&s->out, LENGTH_BYTES + n_sealed));
    to = s->out.at + s->out.n_bytes;
    bytes_put(to, n_sealed, LENGTH_BYTES);
    (void)crypto_secretstream_xchacha20poly1305_push(&s->sends, to + LENGTH_BYTES, NULL, plain, n_plain, NULL, 0,
                                                     is_last ? crypto_secretstream_xchacha20poly1305_TAG_PUSH
                                                             : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
    s->out.n_bytes += LENGTH_BYTES + n_sealed;
out:
    return rc;
}

enum rc tcp_stream_post(struct tcp_stream *s, const struct tcp_message *m)
{
    unsigned char header[HEADER_BYTES];
    enum rc rc;

    assert(s->state != AWAITS_HELLO);
    bytes_put(header, m->type, 4);
    bytes_put(header + 4, m->word, 4);
    bytes_put(header + 8, m->number, 8);
    bytes_put(header + 16, m->n_bytes, 8);
    TRY(post_record(s, header, sizeof header, m->n_bytes == 0));
    for (size_t offset_bytes = 0; offset_bytes < m->n_bytes; offset_bytes += PLAIN_BYTES) {
        const size_t n_left = m->n_bytes - offset_bytes, n = n_left < PLAIN_BYTES ? n_left : PLAIN_BYTES;
        TRY(post_record(s, m->body + offset_bytes, n, n == n_left));
    }
out:
    return rc;
}

bool tcp_stream_take(struct tcp_stream *s, struct tcp_message *out)
{
    struct bytes *m = &s->message;

    if (!s->has_failed && !s->is_whole)
        s->has_failed = take_parts(s) != RC_OK;
    if (!s->is_whole || s->has_failed)
        return false;
    *out = (struct tcp_message){ .type = (uint32_t)bytes_get(m->at, 4),
                                 .word = (uint32_t)bytes_get(m->at + 4, 4),
                                 .number = bytes_get(m->at + 8, 8),
                                 .n_bytes = m->n_bytes - HEADER_BYTES,
                                 .body = m->at };
    memmove(out->body, out->body + HEADER_BYTES, out->n_bytes);
    *m = (struct bytes){ 0 };
    s->is_whole = false;
    return true;
}
