/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_gate.h - which peers may connect to a socket that listens on TCP, and whether the connection is encrypted.
 * Not for inproc:// and ipc://, which no other host, and no other user, reaches.
 *
 *   the gate   its owner gives other ranks       admitted peers                       an eavesdropper reads
 *   encrypts   its public key (CURVE)            those with a key of the set          lengths and times
 *   does not   a random password (PLAIN)         those with the password              everything, even the password
 *
 * Both are mechanisms of ZMTP's handshake, and a thread of the gate answers ZeroMQ's questions about clients (ZAP, RFC
 * 27). A client that is not admitted cannot send a message: only its handshake commands are read.
 *
 * Invariants
 *   Z1  No peer is admitted before zmq_gate_admit(); earlier ones wait.
 *   Z2  No message of a client that is not admitted reaches the socket, or its queue. So strangers cannot send endless
 *       multi-part messages, which ZeroMQ would keep until their last part has come.
 *   Z3  A connection that is not admitted within HANDSHAKE_MS ends. Until then it holds some 30 kB, and the received
 *       part of a command that it sends, at most as long as the longest message. So the memory for strangers is bounded
 *       by that, by this process's limit of open files, and by what the network carries in HANDSHAKE_MS.
 *   Z4  Connections that are not admitted are counted: those that never were, and those that are being checked.
 */
#ifndef HARNESS_NET_ZMQ_GATE_H
#define HARNESS_NET_ZMQ_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/net/curve_keys.h"

enum { GATE_PASS_BYTES = CURVE_TEXT_BYTES }; /* text for other ranks: a public key or a password, with its terminator */
enum { GATE_SOCKETS = 8 };                   /* of a context: a gate and its listener need this number */
enum { GATE_WIRE_BYTES = 64 };               /* more than the length of a message, on an encrypted connection */
enum { GATE_COMMAND_BYTES = 4096 };          /* no command of a handshake is longer */

struct zmq_gate;

/* Opens one for a context. encrypts: with these keys, copied; NULL: with new ones. RC_UNSUPPORTED as curve_check().
 * RC_IO, RC_NOMEM. */
enum rc zmq_gate_open(struct zmq_gate **out, void *context, bool encrypts, const struct curve_keys *keys) MUST_CHECK;
bool zmq_gate_encrypts(const struct zmq_gate *g);
/* What other ranks need for zmq_gate_enter(); lent until close. For a gate that does not encrypt it is a secret of the
 * run. */
const char *zmq_gate_pass(const struct zmq_gate *g);
/* socket will listen with this gate: only one socket, before it binds. RC_IO. */
enum rc zmq_gate_guard(struct zmq_gate *g, void *socket) MUST_CHECK;
/* Call before the guarded socket is closed. */
void zmq_gate_leave(struct zmq_gate *g);
/* From now on admits peers whose public keys are in pass[n_passes], copied; without encryption, those with the
 * password. A later call adds peers. RC_INVAL: one is not a key. RC_NOMEM, RC_IO. */
enum rc zmq_gate_admit(struct zmq_gate *g, const char *const pass[], int n_passes) MUST_CHECK;
/* socket will connect to a listener whose gate has this pass, and encrypts like g, the gate of its owner. RC_IO. */
enum rc zmq_gate_enter(const struct zmq_gate *g, void *socket, const char *pass) MUST_CHECK;
/* net.Z4, so far. Any thread. */
uint64_t zmq_gate_n_outside(const struct zmq_gate *g);
void zmq_gate_close(struct zmq_gate **g); /* Call after the guarded socket was closed. NULL-safe, nulls */

#endif
