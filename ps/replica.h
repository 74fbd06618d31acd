/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica.h - with replicas the slice of each server is in two places: its home, the server itself, and its heir, the
 * next server (heir.h). When the home is lost, the heir takes its place. Of server*.c alone; what
 * workers do then is in redirect.c.
 *
 * The heir's replica is a server as any other (struct ps_server), which gets every change that the home gets, in the
 * same order, and answers nobody: a forward is a PUSH, GIVE, LEAVE or FETCH as it came, or LOST. LOOK and PULL change
 * nothing, and are not forwarded.
 *
 *   event                    home                                       heir
 *   a change comes           replica_forward(), behind all checks:      -
 *                            sends it on, keeps it in `pending`
 *   a worker is lost         replica_forward_loss(): likewise           -
 *   a forward comes          -                                          replica_take_forward(): serves it, silently;
 *                                                                       answers HELD
 *   HELD comes               replica_take_held(): serves the first of   -
 *                            `pending`, and answers it
 *   the heir is lost         replica_look(): serves all of `pending`;   -
 *                            from now on at once
 *   the home is lost         -                                          replica_look(): takes its place, and drops who
 *                                                                       is lost or has left
 *   a request of the slice   -                                          waits until then; then one whose step the
 *   of the home comes                                                   replica has counted is answered, and not
 *                                                                       counted again; another one is served
 *
 * Invariants
 *   R1  Home and heir make the same changes in the same order. So their parameters, states and clocks are equal in
 *       every bit whenever they have made equally many, on processors that compute alike.
 *   R2  The home makes a change only when HELD says that the replica has made it. So nothing that a worker has read, or
 *       was told is done, is in one place alone, while both live.
 *   R3  The replica is never behind its home. So a request that the heir gets anew, since its home was lost, is of the
 *       step that comes next, and was in no place, or of the step before that, and is in the replica: each counts once.
 *   R4  A request that was served silently is answered once at most: when its worker sends it again, in the slot in
 *       which it had sent it (wire.P4).
 *   R5  What is checked when it is forwarded is as right when it is served: a worker has one request at most in a slot,
 *       and of a piece, that is in `pending` or waits (wire.P4), and none behind LEAVE and FETCH; and no other worker's
 *       requests change what is checked of it, but for clocks, which only grow.
 *   R6  At most n_workers (PS_CREDITS + 1) forwards are in `pending`: each slot's request, and the loss of each worker.
 *   R7  What is forwarded is sent from where it was received. It is released when the heir has released it: at once, or
 *       where its gradient is kept for a round, when that has ended there, which is before it ends here (R2).
 *   R8  A server ends when it has worker 0's last LEAVE, which comes when every slice's STATE is there: nobody needs
 *       any slice then. A LEAVE goes to every server, and so to the heir of each.
 *   R9  A slice is lost, and the run ends, when both its servers are: there is no third one.
 */
#ifndef PS_REPLICA_H
#define PS_REPLICA_H

#include "ps/heir.h"
#include "ps/server_state.h"

/* Is every change of s forwarded? */
static inline bool replica_is_kept(const struct ps_server *s)
{
    return s->chain.is_on;
}

/* The two ends of a server's chain; with env.replicas 0 nothing. RC_NOMEM. */
enum rc replica_open(struct ps_server *s) MUST_CHECK;
void replica_close(struct ps_server *s);
/* Forward request a, with the header h, which was checked; its message is taken from *a. */
enum rc replica_forward(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Forward that a worker is lost, once. */
enum rc replica_forward_loss(struct ps_server *s, int worker) MUST_CHECK;
/* What its heir or home sent to server s; released. RC_MISMATCH: it has no place here; *why. */
enum rc replica_take_held(struct ps_server *s, struct message *m, enum refused *why) MUST_CHECK;
enum rc replica_take_forward(struct ps_server *s, struct message *m, enum refused *why) MUST_CHECK;
/* Is there anything for replica_look() to do? Cheap. */
bool replica_is_due(const struct ps_server *s);
/* Have heir or home been lost? Does what follows. */
enum rc replica_look(struct ps_server *s) MUST_CHECK;
/* End what is forwarded of r, before what it was forwarded from is released (R7). */
void replica_end_forward(struct ps_server *s, struct request *r);
/* End all that is sent to heir and home. Behind an error: what is not there yet is taken back. */
void replica_end(struct ps_server *s, bool has_failed);

#endif
