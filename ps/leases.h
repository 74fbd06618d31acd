/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leases.h - an elastic run (exchange.E13): which worker computes which batch is decided while it runs. Server 0 has
 * the book that says who has which; every server notes of which batches it has the gradients. With replicas (replica.h)
 * both are followed with the slice that they belong to, and "server 0" is here who holds its slice. Of server*.c alone;
 * what a worker does is in sync_ps.c.
 *
 * A run has n_batches of them, by number. A worker computes one at a time. With the answers to its pushes of it to
 * server 0 it gets the one that it is to go on with, ahead of time; so nobody waits for a message in between. Where
 * that has none it asks (NEXT) when the batch before is done, and gets another one (BATCH), or waits until one is
 * there, or is told that all are done.
 * The first push of the batch that a worker had ahead says that the one before is done, as NEXT does: the worker has
 * all answers to its pushes of it, so its gradient is at all servers. So do LEAVE and FETCH of a worker that is to stop
 * before all are.
 *
 *   a batch is   event                                       it becomes   by
 *   new          worker w, which begins with the run, does:  leased       leases_open()
 *                batch w is its first
 *   new          a worker asks, and none was given back      leased       leases_take()
 *   given back   a worker asks                               leased       leases_take(), and counted in n_again
 *   new, or      its worker pushes of the batch before, and  ahead        leases_ahead(), counted likewise
 *   given back   more are left than workers have some
 *   ahead        its worker pushes of it, or asks            leased       leases_take()
 *   ahead        its worker leaves: it has not begun it      given back   leases_return(), and not counted again
 *   ahead        its worker is lost                          given back   leases_give_back()
 *   leased       its worker says that it is done: it pushes  done         leases_end()
 *                of the next one, asks for one, or leaves
 *   leased       its worker is lost, or leaves without that; done         leases_end(), by server_end_lease()
 *                and there is one server, which has all of it
 *   leased       the same, else                              given back   leases_give_back()
 *   done         an audit (audit.h) finds it missing in a    undone       leases_undo()
 *                slice that goes on from a snapshot
 *   undone       a worker asks, and none is given back       leased       leases_take(), and counted in n_again
 *
 *   a worker     event                                       it is        by
 *   not there    JOIN of a guest, and not all are done       joined       server_join()
 *   not there    the same, else                              not there    server_join(), and told that all are
 *   not there    its process is lost                         gone         server_drop_now()
 *   joined       NEXT: as one that computes
 *   computes     NEXT, and there is a batch                  computing    server_next()
 *   computes     NEXT, none is left, but others have some    waiting      server_next()
 *   waits        one is given back                           computing    server_answer_next()
 *   waits        the last one is done                        told so      server_answer_next()
 *   either       it is lost, or leaves (it was to stop)      gone         server_end_lease()
 *
 * Invariants
 *   B1  A batch is in one state, and leased to one worker, or ahead with one; a worker has one lease at most, one batch
 *       ahead at most and none without a lease, and nothing once it is gone. None is handed out ahead where no more are
 *       left than workers have a lease: who is slow keeps none from who is idle at the end.
 *   B2  No batch is lost: each is done, or leased to or ahead with a worker that is not gone, or new, or given back;
 *       and nobody is told that all are done before all are. So a run in which one worker is left ends with all of them
 *       done.
 *   B3  Nobody waits for ever: who waits is answered when a batch is given back, or the last one is done; and a lease
 *       ends, or its worker is gone, as each worker that is silent is lost (peers.P3).
 *   B4  In each part of the parameters the gradient of a batch counts once. A worker that is lost may have pushed some
 *       parts of its batch and not others; who gets the batch after it pushes all of them. Of each part the first that
 *       comes counts, whoever sent it; what comes behind it changes nothing, and its answer is LATE. (Server 0
 *       does not know what others have: of several servers a batch is handed out again even if all have it.)
 *   B5  A push is of the batch that its worker has, or of what it has ahead, if server 0 has all its parts of the one
 *       before: at server 0 it is refused else (wire.P5).
 *   B6  So that each worker that is not lost does a step, the first batches are those of the workers that begin.
 *   B7  A worker may leave before all batches are done: what it has done counts, what it gives back is another one's at
 *       once. Its LEAVE is answered, and server 0's answer is the last one: then all servers know, and it may be gone.
 *   B8  A guest is a worker that may join while the run lasts. It has a number of its own, which nobody had before and
 *       nobody gets after it: a process that joins again, after it was lost or left, is another guest. So what is still
 *       under way of a dead one can be taken for nobody else's, and each push counts once (B4).
 *   B9  A guest joins at server 0 before it does at others, and worker 0 asks these for the final state (FETCH) when
 *       server 0 has given its own, which is when all have left there, guests included. So who has joined server 0
 *       finds the others open, and a run that ends waits for nobody who has not joined.
 *  B10  With replicas the book goes with slice 0, and what a server notes with its own: PUSH, NEXT, JOIN, LEAVE and
 *       the loss of a worker are made by the replica first (replica.R2), and which batch that gives to whom follows
 *       from the changes before alone: no clock, and no message that changes nothing, has a part in it. So whoever
 *       takes a server's place gives no batch to a second worker, and takes none for new that somebody has, or has
 *       done; what a worker was answered, or not, it is answered again (replica.R4).
 *  B11  A round is n_workers batches more that are done: when it ended is beside the book, and goes with it, by the
 *       clock of who had it then; no round ends before the one before it. Where batches are undone and done again, a
 *       round has the later time.
 *  B12  With snapshots (snapshot.h) the book is in that of slice 0, as it was when the parameters were: so it does not
 *       know what was handed out and done since. Who goes on from it hands out nothing until each worker that is there
 *       has said which batch it has, by its next push of one, NEXT, LEAVE or FETCH (`has_reported`); workers forget
 *       what they have ahead when they find the first server lost. The batch that a worker says is its own from then
 *       on, whatever the book had; what the book had for it is done where slice 0 has all parts of it, and undone else.
 *       So is a batch that ends in slice 0 without parts of it that were pushed before the loss. What other slices
 *       lack finds an audit (audit.h); before one has found each batch in each slice nobody is told that all are done.
 */
#ifndef PS_LEASES_H
#define PS_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

#define NO_BATCH UINT64_MAX

/* Of which batches a part of the parameters has the gradients (B4); or which are undone. */
struct batch_set {            /* owned */
    uint64_t n_batches, n_in; /* n_in: that are in it */
    uint64_t *word;
};

struct leases { /* the book; owned */
    int most_workers;
    uint64_t n_batches;
    uint64_t n_begun; /* all below were leased, or still are */
    uint64_t n_done, n_again;
    uint64_t *of;    /* [most_workers]: NO_BATCH: it has none */
    uint64_t *ahead; /* [most_workers]: likewise */
    uint64_t *given; /* [most_given]: given back, in the order in which they were; each worker is gone once */
    int most_given, first_given, n_given;
    int n_busy; /* workers that have one */
    struct batch_set undone;
};

/* What leases_open() allocates. Pure. */
size_t leases_bytes(int most_workers, uint64_t n_batches);
/* n_first of the workers begin with the run. RC_NOMEM. */
enum rc leases_open(struct leases *out, int most_workers, int n_first, uint64_t n_batches) MUST_CHECK;
void leases_close(struct leases *l); /* accepts a zeroed one, leaves it zeroed */
/* Worker w, which has a lease, has done it. */
void leases_end(struct leases *l, int w);
/* The batch that worker w has, if need be from now on: that which it had ahead, else one that it had not; NO_BATCH:
 * there is none now. */
uint64_t leases_take(struct leases *l, int w);
/* The batch that worker w has ahead, which has a lease, if need be from now on; NO_BATCH: none. */
uint64_t leases_ahead(struct leases *l, int w);
/* Worker w has not begun with what it has ahead, and will not. */
void leases_return(struct leases *l, int w);
/* Worker w is gone, whether it has a lease or not. */
void leases_give_back(struct leases *l, int w);

/* Behind a snapshot (B12). The batch, where it was done, is undone; false: it was not done. */
bool leases_undo(struct leases *l, uint64_t batch);
/* The batch, where it was undone, is done; false: it was not undone. */
bool leases_redo(struct leases *l, uint64_t batch);
/* What worker w has is undone, and ahead likewise. */
void leases_forgo(struct leases *l, int w);
/* Worker w, which has nothing, has this batch, whoever had it; those before it that were new are undone. */
void leases_claim(struct leases *l, int w, uint64_t batch);
/* Which worker has the batch, or has it ahead; -1: none. */
int leases_holder(const struct leases *l, uint64_t batch);

/* Can the book have become so (B1, B2)? Of one that was read from a message or a file. */
bool leases_fit(const struct leases *l);
/* Nobody has anything, and nothing is given back: of one that does not fit, and is not used any more. */
void leases_clear(struct leases *l);

/* Could somebody who has none get one? */
static inline bool leases_has_some(const struct leases *l)
{
    return l->n_given > 0 || l->undone.n_in > 0 || l->n_begun < l->n_batches;
}

static inline bool leases_are_done(const struct leases *l)
{
    return l->n_done == l->n_batches;
}

/* --- sets of batches --- */

/* What batch_set_open() allocates. Pure. */
size_t batch_set_bytes(uint64_t n_batches);
/* Empty. RC_NOMEM. */
enum rc batch_set_open(struct batch_set *out, uint64_t n_batches) MUST_CHECK;
void batch_set_close(struct batch_set *s); /* accepts a zeroed one, leaves it zeroed */
/* false: it was in already. */
bool batch_set_add(struct batch_set *s, uint64_t batch);
void batch_set_remove(struct batch_set *s, uint64_t batch); /* which is in it */
bool batch_set_has(const struct batch_set *s, uint64_t batch);
/* The first that is in it; some is. */
uint64_t batch_set_first(const struct batch_set *s);
/* The first that is not in it; n_batches: all are. */
uint64_t batch_set_first_missing(const struct batch_set *s);

#endif
