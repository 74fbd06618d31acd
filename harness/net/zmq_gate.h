/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_gate.h - who may connect to a socket that listens on TCP, and whether what goes over the connection is encrypted.
 * Not for inproc:// and ipc://, which no other host, and no other user, reaches.
 *
 *   the gate   what its owner gives the others   who gets in                          what a listener on the way reads
 *   encrypts   its public key (CURVE)            who has a key of the set             lengths and times
 *   does not   a random password (PLAIN)         who has the password                 everything, the password among it
 *
 * Both are mechanisms of ZMTP's handshake, and a thread of the gate answers ZeroMQ's questions about clients (ZAP, RFC
 * 27). A client that does not get in sends no message: of what it sends nothing is read but commands of the handshake.
 *
 * Invariants
 *   Z1  Nobody gets in before zmq_gate_admit(); whoever comes earlier waits.
 *   Z2  No message of a client that did not get in reaches the socket, or its queue. So there are no endless multi-part
 *       messages of strangers, which ZeroMQ would keep until their last part has come.
 *   Z3  A connection that is not in after HANDSHAKE_MS ends. Until then it holds some 30 kB, and of a command that it
 *       begins to send what has come of it, at most as long as the longest message: what strangers occupy is bounded by
 *       that, by this process's limit of open files, and by what the network carries in HANDSHAKE_MS.
 *   Z4  Connections that are not in are counted: those that never got in, and those that are being asked.
 */
#ifndef HARNESS_NET_ZMQ_GATE_H
#define HARNESS_NET_ZMQ_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/net/curve_keys.h"

enum { GATE_PASS_BYTES = CURVE_TEXT_BYTES }; /* text of what the others get: a public key or a password, with its end */
enum { GATE_SOCKETS = 8 };                   /* of a context: a gate and its listener need so many */
enum { GATE_WIRE_BYTES = 64 };               /* more than a message has, on an encrypted connection */
enum { GATE_COMMAND_BYTES = 4096 };          /* no command of a handshake is longer */

struct zmq_gate;

/* One for a context. encrypts: with these keys, copied; NULL: with new ones. RC_UNSUPPORTED as curve_check(). RC_IO,
 * RC_NOMEM. */
enum rc zmq_gate_open(struct zmq_gate **out, void *context, bool encrypts, const struct curve_keys *keys) MUST_CHECK;
bool zmq_gate_encrypts(const struct zmq_gate *g);
/* What others need for zmq_gate_enter(); lent until close. Of a gate that does not encrypt it is a secret of the run.
 */
const char *zmq_gate_pass(const struct zmq_gate *g);
/* socket is going to listen behind the gate: one of them, before it binds. RC_IO. */
enum rc zmq_gate_guard(struct zmq_gate *g, void *socket) MUST_CHECK;
/* Before the guarded socket is closed. */
void zmq_gate_leave(struct zmq_gate *g);
/* From now on they get in: whose pass[n_passes] are the public keys, copied; or, where it does not encrypt, who has the
 * password. Again: these, too. RC_INVAL: one is no key. RC_NOMEM, RC_IO. */
enum rc zmq_gate_admit(struct zmq_gate *g, const char *const pass[], int n_passes) MUST_CHECK;
/* socket is going to connect to one that listens behind a gate with this pass: as its owner's own gate is, which is g.
 * RC_IO. */
enum rc zmq_gate_enter(const struct zmq_gate *g, void *socket, const char *pass) MUST_CHECK;
/* Z4, so far. Any thread. */
uint64_t zmq_gate_n_outside(const struct zmq_gate *g);
void zmq_gate_close(struct zmq_gate **g); /* After the guarded socket was closed. NULL-safe, nulls */

#endif
