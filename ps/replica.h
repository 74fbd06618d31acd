/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica.h - with replicas each slice is in two places: at its holder, which serves it, and at its heir, the next
 * server behind that. At the start the holder is its home, the server whose slice it is. When the holder is lost, the
 * heir takes its place; and whoever has no heir then makes the next server that lives one, by a copy (copy.h). So a
 * server may hold several slices, and be the heir of several. Of server*.c alone; what workers do then is in
 * redirect.c.
 *
 * The heir's replica is a server as any other (struct ps_server), which gets every change that the holder gets, in the
 * same order, and answers nobody: a forward is a PUSH, GIVE, LEAVE or FETCH as it came, or NEXT or JOIN of a run that
 * hands out batches, or LOST; or a LEAVE that the worker sent of the slice that is at home here. LOOK and PULL change
 * nothing, and are not forwarded, nor is a JOIN that comes too late (leases.B9).
 *
 *   event                    holder                                     heir
 *   a change comes           replica_forward(), behind all checks:      -
 *                            sends it on, keeps it in `pending`
 *   a worker is lost, or     replica_forward_loss(), replica_leave():   -
 *   leaves                   likewise
 *   a forward comes          -                                          replica_take_forward(): serves it, silently;
 *                                                                       answers HELD
 *   HELD comes               replica_take_held(): serves the first of   -
 *                            `pending`, and answers it
 *   the heir is lost         replica_look(): serves all of `pending`,   -
 *                            and begins a copy
 *   the holder is lost       -                                          replica_look(): takes its place, drops who
 *                                                                       is lost or has left, and begins a copy
 *   COPY comes               -                                          copy_take(): into a new, partial replica;
 *                                                                       of the last part HELD
 *   HELD of the copy comes   copy_end(): it has a replica again         -
 *   the holder is lost, and  -                                          replica_look(): the run ends (R9)
 *   the replica is partial
 *   a request of the slice   -                                          waits until then; then one whose step the
 *   of the holder comes                                                 replica has counted is answered, and not
 *                                                                       counted again; another one is served
 *
 * Invariants
 *   R1  Holder and heir make the same changes in the same order, from the start or from a copy on. So their
 *       parameters, states and clocks are equal in every bit whenever they have made equally many, on processors that
 *       compute alike.
 *   R2  The holder makes a change only when HELD says that the replica has made it. So nothing that a worker has read,
 *       or was told is done, is in one place alone, while both live; and while a copy is on its way, nothing changes.
 *   R3  The replica is never behind its holder. So a request that the heir gets anew, since its holder was lost, is of
 *       the step that comes next, and was in no place, or of the step before that, and is in the replica: each counts
 *       once. A copy has what was answered last in each slot, so this holds of the heir's heir as well. Likewise NEXT,
 *       which says what is done, and no two of a worker say the same; JOIN of who is there; LEAVE of who has left.
 *   R4  A request that was served silently is answered once at most: when its worker sends it again, in the slot in
 *       which it had sent it (wire.P4).
 *   R5  What is checked when it is forwarded is as right when it is served: a worker has one request at most in a slot,
 *       and of a piece, that is in `pending` or waits (wire.P4), and none behind LEAVE and FETCH; and no other worker's
 *       requests change what is checked of it, but for clocks, which only grow.
 *   R6  At most n_workers (PS_CREDITS + 2) forwards are in `pending`: each slot's request, and the LEAVE and the loss
 *       of each worker. With the copy as many HELD and one are on their way.
 *   R7  What is forwarded is sent from where it was received. It is released when the heir has released it: at once, or
 *       where its gradient is kept for a round, when that has ended there, which is before it ends here (R2).
 *   R8  A server ends when it has the last LEAVE of each worker that lives: nobody needs any slice then. It goes to
 *       every server that lives, and is of all slices that this holds. Worker 0 sends it when it has every slice's
 *       STATE. In a run that hands out batches the others leave slice by slice before, and send it when each LEAVE is
 *       answered: the answer may be lost with its server, and then the heir has to be there. A server that has given
 *       its own STATE makes no new heir: only from then on another one may have ended.
 *   R9  A slice is lost, and the run ends, when its holder is lost and its heir is lost with it or has a partial
 *       replica: the first server behind them says so. So of N servers N - 1 may be lost, one after the other, each
 *       when all slices are in two places again.
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

/* The two ends of a slice's chain; with env.replicas 0 nothing. RC_NOMEM. */
enum rc replica_open(struct ps_server *s) MUST_CHECK;
void replica_close(struct ps_server *s);
/* Forward request a, with the header h, which was checked; its message is taken from *a. */
enum rc replica_forward(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Forward that a worker is lost, once. */
enum rc replica_forward_loss(struct ps_server *s, int worker) MUST_CHECK;
/* R8: a worker has left, of a slice that is not at home here; forwarded, where there is an heir. n_pushed: snapshot.N5
 */
enum rc replica_leave(struct ps_server *s, int worker, uint64_t n_pushed) MUST_CHECK;
/* What an heir or a holder sent to the rank s; released. RC_MISMATCH: it has no place here; *why. */
enum rc replica_take_held(struct ps_server *s, struct message *m, enum refused *why) MUST_CHECK;
enum rc replica_take_forward(struct ps_server *s, struct message *m, enum refused *why) MUST_CHECK;
/* The slice's HELD, of one forward more. */
enum rc replica_post_held(struct ps_server *s) MUST_CHECK;
/* Is there anything for replica_look() to do? Cheap. */
bool replica_is_due(const struct ps_server *s);
/* Have the heir or the holder of any slice of the rank s been lost? Does what follows. RC_PEER: R9. */
enum rc replica_look(struct ps_server *s) MUST_CHECK;
/* End what is forwarded of r, before what it was forwarded from is released (R7). */
void replica_end_forward(struct ps_server *s, struct request *r);
/* The heir is lost: nobody will say HELD any more. Makes all changes that wait for it. */
enum rc replica_go_on_alone(struct ps_server *s) MUST_CHECK;
/* End what is sent to the holder. */
void replica_end_held(struct ps_server *s, int timeout_ms);
/* End all that is sent to heir and holder of a slice. Behind an error: what is not there yet is taken back. */
void replica_end(struct ps_server *s, bool has_failed);

#endif
