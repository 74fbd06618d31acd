/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica.h - with replicas each slice is in two places: at its holder, which serves it, and at its standby (`heir`),
 * the next server. At the start the holder is the slice's home, the server with the slice's number. If the holder is
 * lost, the standby replaces it. A holder without a standby makes the next living server its standby, by a copy
 * (copy.h). So a server may hold several slices, and be the standby of several. Private to this folder; what workers do
 * then: worker.c.
 *
 * The standby's replica is a server like any other (struct ps_server). It gets every change that the holder gets, in
 * the same order, and sends no answers. A forward is one of these: a PUSH, GIVE, LEAVE or FETCH as it came; NEXT or
 * JOIN of an elastic run; LOST; a LEAVE that the worker sent for the slice whose home this is. LOOK and PULL change
 * nothing and are not forwarded, nor is a JOIN that comes too late (leases.B9).
 *
 *   event                    holder                                     standby
 *   a change arrives         replica_forward(), after all checks:       -
 *                            forwards it, keeps it in `pending`
 *   a worker is lost, or     replica_forward_loss(), replica_leave():   -
 *   leaves                   likewise
 *   a forward arrives        -                                          replica_take_forward(): serves it silently;
 *                                                                       answers HELD
 *   HELD arrives             replica_take_held(): serves the first of   -
 *                            `pending`, and answers it
 *   the standby is lost      replica_look(): serves all of `pending`,   -
 *                            and starts a copy
 *   the holder is lost       -                                          replica_look(): replaces it, drops lost and
 *                                                                       left workers, and starts a copy
 *   COPY arrives             -                                          copy_take(): into a new, partial replica;
 *                                                                       answers the last part with HELD
 *   HELD of the copy comes   copy_end(): it has a replica again         -
 *   the holder is lost, and  -                                          replica_look(): the run ends (R9)
 *   the replica is partial
 *   a request for the        -                                          waits until the standby holds the slice. If
 *   holder's slice arrives                                              the replica has counted its step, it is only
 *                                                                       answered; else it is served
 *
 * Invariants
 *   R1  Holder and standby make the same changes in the same order, from the start or since a copy. So their
 *       parameters, states and clocks are equal in every bit after the same number of changes, on processors that
 *       compute alike.
 *   R2  The holder makes a change only after HELD says that the replica has made it. So while both live, everything
 *       that a worker has read, or that a server has acknowledged, is in two places. During a copy nothing changes.
 *   R3  The replica is never older than its holder. When the holder is lost, workers send their requests again, to the
 *       standby. Such a request is of the next step, which was in neither place, or of the step before, which is in the
 *       replica. So each counts once. A copy includes the last answer in each slot, so this also holds for the
 *       standby's standby. Likewise for NEXT, which says what is done, and no two of a worker say the same; for JOIN of
 *       a worker that has joined; for LEAVE of a worker that has left.
 *   R4  A request that was served silently is answered once at most: when its worker sends it again in the same slot
 *       (wire.P4).
 *   R5  A request that passed the checks when it was forwarded still passes them when it is served. A worker has at
 *       most one request in a slot, and of a chunk, that is in `pending` or waits (wire.P4), and none after LEAVE and
 *       FETCH. Other workers' requests change nothing that is checked, except clocks, which only grow.
 *   R6  At most n_workers (PS_CREDITS + 2) forwards are in `pending`: the request of each slot, and the LEAVE and the
 *       loss of each worker. With the copy, the same number of HELD plus one are outstanding.
 *   R7  A forward is sent from the memory where the request was received. That memory is released when the standby has
 *       released its own: at once, or, if its gradient is kept for a round, when that round has ended there, which is
 *       before it ends here (R2).
 *   R8  A server ends when it has the last LEAVE of each living worker: then no worker needs any slice. That LEAVE goes
 *       to every living server, and covers all slices that the server holds. Worker 0 sends it when it has the STATE of
 *       every slice. In an elastic run, the other workers first leave slice by slice. They send the last LEAVE when
 *       each of these LEAVEs is answered: an answer may be lost with its server, and then the standby must still be
 *       there. A server that has given its own STATE makes no new standby, and gives it when it is not making one: only
 *       from then on another server may have ended.
 *   R9  A slice is lost, and the run ends, if its holder is lost and its standby is lost too or has a partial replica.
 *       The first living server after them reports that. So N - 1 of N servers may be lost one after another, each when
 *       all slices are in two places again.
 */
#ifndef PS_RECOVERY_REPLICA_H
#define PS_RECOVERY_REPLICA_H

#include "ps/recovery/recovery.h"

/* The standby of server s's slice. */
static inline int ps_heir(int s, int n_servers)
{
    return (s + 1) % n_servers;
}

/* The server whose slice server s is the standby of. */
static inline int ps_home(int s, int n_servers)
{
    return (s + n_servers - 1) % n_servers;
}

/* The first server from `from` on, around the ring, that is not lost; -1 if every server is lost. So with replicas the
 * holder of slice s is ps_living(env, s), and its standby is the next one, as far as this rank knows. */
int ps_living(const struct sync_env *env, int from);

/* Does a server replace a lost one? It uses a replica (replica.h). */
static inline bool ps_has_heirs(const struct sync_env *env)
{
    return env->n_replicas > 0;
}

/* Is every change of s forwarded? */
static inline bool replica_is_kept(const struct ps_server *s)
{
    return s->recovery->chain.is_on;
}

/* Was its home lost at the very end, so that no server replaced it, but all its data is here? */
bool replica_is_left_with(const struct ps_server *s);
/* Opens the two ends of a slice's chain; with env.replicas 0 does nothing. RC_NOMEM. */
enum rc replica_open(struct ps_server *s) MUST_CHECK;
void replica_close(struct ps_server *s);
/* Forwards request a, with header h, which was checked; its message is taken from *a. */
enum rc replica_forward(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Forwards once that a worker is lost. */
enum rc replica_forward_loss(struct ps_server *s, int worker) MUST_CHECK;
/* R8: a worker has left a slice whose home is another server. Forwards that if there is a standby. */
enum rc replica_leave(struct ps_server *s, int worker) MUST_CHECK;
/* Takes a message of a standby or a holder to the rank s, and releases it. RC_MISMATCH: it is invalid here; *why. */
enum rc replica_take_held(struct ps_server *s, struct message *m, enum refused *why) MUST_CHECK;
enum rc replica_take_forward(struct ps_server *s, struct message *m, enum refused *why) MUST_CHECK;
/* Posts HELD for one more forward of the slice. */
enum rc replica_post_held(struct ps_server *s) MUST_CHECK;
/* Has replica_look() work to do? Cheap. */
bool replica_is_due(const struct ps_server *s);
/* Handles the loss of the standby or the holder of any slice of the rank s. RC_PEER: R9. */
enum rc replica_look(struct ps_server *s) MUST_CHECK;
/* R8: a server that is making a standby keeps the STATE of its own slice until then. */
bool replica_may_give_state(const struct ps_server *s);
/* Completes a forward before the memory that it is sent from is released (R7). */
void replica_end_forward(struct ps_server *s, struct posted *forward);
/* Completes all sends to holder and standby of a slice. After an error, cancels those that have not finished. */
void replica_end(struct ps_server *s, bool has_failed);

#endif
