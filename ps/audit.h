/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h - which batches of an elastic run (leases.h) are missing where servers go on from snapshots (snapshot.h).
 * What a slice had of them behind its last snapshot is lost with its server, and who goes on from that alone knows what
 * the snapshot has. So who has the book asks who holds each other slice, and what one of them lacks is undone: it is
 * handed out again. Of server*.c alone.
 *
 *   event                                 who has the book                        who holds the slice
 *   all batches are done, by the book     begins an audit of each other slice     -
 *   a server was lost since the last one  begins one of the slices of those       -
 *                                         that are lost
 *   one is under way                      AUDIT: as many batches of a slice as    -
 *                                         an answer has room for; one at a time
 *   AUDIT comes                           -                                       answers AUDITED, once it holds the
 *                                                                                 slice: it may know later of the loss
 *   AUDITED comes                         undoes what was done and is missing;    -
 *                                         asks for the next ones
 *   a server is lost meanwhile            begins anew                             -
 *   the last one has come                 an audit of all slices, and all are     -
 *                                         still done: the book is closed
 *
 * Invariants
 *   U1  No worker is told that all batches are done before the book is closed: each part of the parameters had all of
 *       them then. Until then workers wait, and get what is undone.
 *   U2  A slice that has all batches is written to its snapshot before it says so, unless that has all that it has; and
 *       the closed book with slice 0 before a worker is told. So what is lost behind that loses no batch, and who would
 *       take the place of the first server knows the book even where that is lost when all is over (ps_server_learn()).
 *       (A slice that goes on from a snapshot has none of its own: where its server is lost, too, the run ends.)
 *   U3  A batch that is found to be missing and is done by now, or was undone before, changes nothing but work: of each
 *       part its first gradient counts (leases.B4).
 *   U4  A message of an audit that is over, or of a rank that is lost, changes nothing. So does one that is not right:
 *       it is refused and counted (wire.P5).
 *   U5  An audit begins when each worker has said what it has (leases.B12), and none once this rank has given its
 *       final state: others may have ended then (replica.R8), and no worker asks.
 */
#ifndef PS_AUDIT_H
#define PS_AUDIT_H

#include "ps/server_state.h"

/* Has audit_look() anything to do for slice s? Cheap. */
bool audit_is_due(const struct ps_server *s);
/* For slice s, which is held here: begin an audit, or go on with it; and for its rank: answer what can be answered now.
 * RC_IO, RC_INVAL: of a snapshot. */
enum rc audit_look(struct ps_server *s) MUST_CHECK;
/* A message of an audit to the rank s; it is read only. RC_MISMATCH: it is not right, *why. */
enum rc audit_take(struct ps_server *s, const struct message *m, enum refused *why) MUST_CHECK;
/* End what is posted of the rank s; behind an error what is not there yet is taken back. */
void audit_end(struct ps_server *s, bool has_failed);

#endif
