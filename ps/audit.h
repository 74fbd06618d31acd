/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h - which batches of an elastic run (leases.h) are missing where a server continued from a snapshot
 * (snapshot.h). The gradients that a slice received after its last snapshot are lost with its server. A server that
 * continues from the snapshot knows only what the snapshot holds. So the owner of the work queue asks the holder of
 * every other slice for its batches. A batch that a slice lacks becomes undone and is assigned again. Private to
 * server*.c.
 *
 *   event                                 owner of the work queue               holder of the slice
 *   the queue says all batches are done   starts an audit of each other slice   -
 *   a server was lost since the last one  starts an audit of the lost slices    -
 *   an audit is in progress               sends AUDIT: as many batches of a     -
 *                                         slice as fit in an answer, one
 *                                         message at a time
 *   AUDIT arrives                         -                                     answers AUDITED once it holds the
 *                                                                               slice: it may learn of the loss later
 *   AUDITED arrives                       marks done batches that are missing   -
 *                                         as undone; asks for the next ones
 *   a server is lost meanwhile            starts again                          -
 *   the last AUDITED of all slices came,  closes the queue                      -
 *   and all batches are still done
 *
 * Invariants
 *   U1  No worker learns that all batches are done before the work queue is closed. By then each part of the parameters
 *       had all of them. Until then workers wait, and get the batches that are undone.
 *   U2  A slice that has all batches is written to its snapshot before its server reports that, unless the snapshot
 *       already has the same. The closed queue is written with slice 0 before a worker learns of it. So a later loss
 *       loses no batch. A server that would replace the first server knows the queue even if that server is lost at the
 *       very end (ps_server_learn()). (A slice restored from a snapshot has no snapshot after that: if its server is
 *       lost too, the run ends.)
 *   U3  A batch may be found missing although it is done by now, or was undone before. That only repeats work: each
 *       part counts the first gradient of a batch (leases.B4).
 *   U4  A message of a finished audit, or from a lost rank, changes nothing. An invalid message changes nothing either:
 *       it is refused and counted (wire.P5).
 *   U5  An audit starts only after each worker has reported what it has (leases.B12). None starts after this rank has
 *       given its final state: other servers may have ended by then (replica.R8), and no worker asks.
 */
#ifndef PS_AUDIT_H
#define PS_AUDIT_H

#include "ps/server_state.h"

/* Has audit_look() work to do for slice s? Cheap. */
bool audit_is_due(const struct ps_server *s);
/* For slice s, which is held here: starts or continues an audit. For its rank: answers what it can answer now. Errors:
 * RC_IO, RC_INVAL of a snapshot. */
enum rc audit_look(struct ps_server *s) MUST_CHECK;
/* Handles an audit message to the rank s; the message is read only. RC_MISMATCH: it is invalid; *why says how. */
enum rc audit_take(struct ps_server *s, const struct message *m, enum refused *why) MUST_CHECK;
/* Completes the transfers of the rank s. After an error it cancels those that have not finished. */
void audit_end(struct ps_server *s, bool has_failed);

#endif
