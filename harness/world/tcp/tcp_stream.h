/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_stream.h - messages over one TCP connection; only a process with the key of the run can read or make them.
 * Private to harness/world/tcp. No call waits.
 *
 * Invariants
 *   N1  Each side first sends 56 bytes in clear: "GMTW", STREAM_VERSION, a public key (X25519) made for this
 *       connection, and a digest (BLAKE2b) of all that, keyed with the key of the run. So a peer without the key is
 *       known at once.
 *       Both then derive a key for each direction: a digest, keyed likewise, of both public keys and of the secret that
 *       they give. So a recorded connection cannot be replayed, and a later owner of the key of the run cannot read it.
 *   N2  The rest are records of libsodium's secretstream (XChaCha20-Poly1305), after its header of 24 bytes: a length
 *       of 4 bytes, and that number of bytes of ciphertext. No record can be changed, left out, repeated or moved.
 *   N3  A message is a header of 24 bytes and a body, in one or several records; the last record is marked. Memory
 *       grows with the bytes received, never by what a header claims; a message above the limit ends the connection.
 *   N4  A stream that has failed gives no message any more.
 *
 * Whole numbers are little-endian.
 */
#ifndef HARNESS_WORLD_TCP_TCP_STREAM_H
#define HARNESS_WORLD_TCP_TCP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

enum { STREAM_VERSION = 3, STREAM_KEY_BYTES = 32 };

struct tcp_message {
    uint32_t type, word; /* of their user */
    uint64_t number;     /* likewise */
    unsigned char *body;
    size_t n_bytes; /* of the body */
};

struct tcp_stream;

/* Takes fd, which is connected or about to be, on errors too. RC_NOMEM, RC_IO. */
enum rc tcp_stream_open(struct tcp_stream **out, int fd, bool is_client,
                        const unsigned char key[STREAM_KEY_BYTES]) MUST_CHECK;
void tcp_stream_close(struct tcp_stream **s); /* NULL-safe, nulls; drops what was not sent */
int tcp_stream_fd(const struct tcp_stream *s);
/* The longest body that is accepted; at first 0. */
void tcp_stream_limit(struct tcp_stream *s, size_t most_bytes);

/* Sends and receives what is possible now. Errors: RC_PEER if the other side has ended the connection; RC_MISMATCH if
 * it uses another protocol or version, or does not have the key; RC_NOMEM; RC_IO. */
enum rc tcp_stream_tend(struct tcp_stream *s) MUST_CHECK;
/* May messages be posted? */
bool tcp_stream_is_open(const struct tcp_stream *s);
/* Has the peer shown the key of the run? It may also have replayed a recording of such a peer (world.N1). */
bool tcp_stream_has_shown_key(const struct tcp_stream *s);
/* Are there bytes that are not sent yet? */
bool tcp_stream_has_to_send(const struct tcp_stream *s);
/* Copies m; sent by tend. RC_NOMEM. */
enum rc tcp_stream_post(struct tcp_stream *s, const struct tcp_message *m) MUST_CHECK;
/* The next message that has arrived completely; the caller frees its body. false: none. */
bool tcp_stream_take(struct tcp_stream *s, struct tcp_message *out);

#endif
