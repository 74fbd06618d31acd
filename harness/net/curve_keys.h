/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curve_keys.h - keys of CURVE, the encryption of ZeroMQ over TCP: pairs, the files that keep one, sets of public keys.
 * How sockets use them: curve_gate.h. Depends only on libzmq and base.
 *
 * A key is 32 bytes; as text, 40 characters of Z85 (ZeroMQ RFC 32), which has neither blanks nor quotes.
 *
 * A key file, made by `gradmark keys`, mode 0600, is three lines of ASCII:
 *
 *   gradmark-keys 1
 *   public <40 characters>
 *   secret <40 characters>
 *
 * A process with this file can take part in, and read, every run that names it. All hosts of a run have the same file;
 * both sides of a connection use it. A set with its one public key defines which peers may connect.
 *
 * Invariants
 *   K1  Nothing is overwritten unless the caller asks for it; a file is at its path whole or not at all.
 *   K2  No message and no log has a secret key in it.
 */
#ifndef HARNESS_NET_CURVE_KEYS_H
#define HARNESS_NET_CURVE_KEYS_H

#include <stdbool.h>

#include "harness/base/rc.h"

enum { CURVE_KEY_BYTES = 32, CURVE_TEXT_BYTES = 41 /* with its end */ };

struct curve_keys { /* zeroed: none */
    char public_text[CURVE_TEXT_BYTES], secret_text[CURVE_TEXT_BYTES];
};

/* RC_UNSUPPORTED: the libzmq of this process cannot encrypt; the message says what to do. */
enum rc curve_check(void) MUST_CHECK;
/* A new pair. RC_UNSUPPORTED as curve_check(). */
enum rc curve_keys_make(struct curve_keys *out) MUST_CHECK;
/* Writes a new file at path; with replaces an existing one is replaced; net.K1. RC_INVAL names path and reason,
 * RC_IO. */
enum rc curve_keys_write(const char *path, const struct curve_keys *keys, bool replaces) MUST_CHECK;
/* Overwrites the pair with zeros. Cannot fail. */
void curve_keys_wipe(struct curve_keys *keys);

/* A set of public keys. One thread changes it, before other threads read it. */
struct curve_set;

enum rc curve_set_open(struct curve_set **out) MUST_CHECK; /* empty. RC_NOMEM */
/* RC_INVAL: not a key; RC_NOMEM. A key that is already in the set is not added again. */
enum rc curve_set_add(struct curve_set *set, const char *public_text) MUST_CHECK;
/* key: as bytes. Cannot fail. */
bool curve_set_has(const struct curve_set *set, const unsigned char key[CURVE_KEY_BYTES]);
int curve_set_n_keys(const struct curve_set *set);
void curve_set_close(struct curve_set **set); /* NULL-safe, nulls */

#endif
