/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leases.h - the work queue of an elastic run (exchange.E13): server 0 assigns batches to workers while the run lasts.
 * The queue ("the book" in names and other files) records the owner of each batch. Every server records the batches
 * that it has gradients of. With replicas (replica.h) both records are replicated with their slice; "server 0" here
 * means the holder of slice 0. Private to this folder; what a worker does: worker.c.
 *
 * A run has n_batches batches, by number. A worker computes one at a time. The answers of server 0 to its pushes name
 * the next batch, ahead of time, so no worker waits for a message in between. If the answers name none, the worker asks
 * (NEXT) when its batch is done. It then gets a batch (BATCH), waits until there is one, or learns that every batch is
 * done.
 * The first push of a batch that a worker had ahead means that the one before is done, as NEXT does: the worker has
 * every answer to its pushes of that one, so its gradient is at all servers. LEAVE and FETCH mean the same for a worker
 * that must stop before the end.
 *
 *   a batch is   event                                       it becomes   by
 *   new          the run starts: batch w is the first of     leased       leases_open()
 *                worker w
 *   new          a worker asks, and none was given back      leased       leases_take()
 *   given back   a worker asks                               leased       leases_take(), and counted in n_again
 *   new, or      a worker pushes its current batch, and      ahead        leases_ahead(), counted likewise
 *   given back   more are left than workers with a lease
 *   ahead        its worker pushes it, or asks               leased       leases_take()
 *   ahead        its worker leaves and has not started it    given back   leases_return(), and not counted again
 *   ahead        its worker is lost                          given back   leases_give_back()
 *   leased       its worker reports it done: it pushes the   done         leases_end()
 *                next one, asks for one, or leaves
 *   leased       its worker is lost, or leaves without a     done         leases_end(), by server_end_lease()
 *                report; a single server has all of it
 *   leased       the same, else                              given back   leases_give_back()
 *
 *   a worker     event                                       it is        by
 *   absent       JOIN of a late joiner; batches remain       joined       server_join()
 *   absent       the same; every batch is done               absent       server_join(), which reports the end
 *   absent       its process is lost                         gone         server_drop_now()
 *   joined       NEXT: as in state "computes"
 *   computes     NEXT, and there is a batch                  computing    server_next()
 *   computes     NEXT; others have the last batches          waiting      server_next()
 *   waits        a batch is given back                       computing    server_answer_next()
 *   waits        the last one is done                        at the end   server_answer_next()
 *   either       it is lost, or leaves (it had to stop)      gone         server_end_lease()
 *
 * Invariants
 *   B1  A batch is in one state, and leased to one worker, or ahead with one. A worker has at most one lease and at
 *       most one batch ahead, none ahead without a lease, and nothing once it is gone. No batch is given ahead unless
 *       more are left than there are workers with a lease. So at the end a slow worker keeps none from an idle one.
 *   B2  No batch is lost: each is done, new, given back, or leased to or ahead with a worker that is not gone. No
 *       worker learns that every batch is done before every one is. So a run with one remaining worker completes all of
 *       them.
 *   B3  No worker waits for ever. A waiting worker is answered when a batch is given back, or the last one is done. A
 *       lease ends, or its worker is gone, as each silent worker is lost (peers.P3).
 *   B4  Each part of the parameters counts the gradient of a batch once. A lost worker may have pushed some parts of
 *       its batch and not the rest; the next worker with the batch pushes all of them. Each part counts the first
 *       gradient that arrives, from any worker. Later ones change nothing, and their answer is LATE. (Server 0 does not
 *       know what the other servers have. So with several servers a batch is assigned again even if all of them have
 *       it.)
 *   B5  A push must be of the batch that its worker has, or of the one ahead if server 0 has all parts of the one
 *       before. Server 0 refuses any other push (wire.P5).
 *   B6  The workers that begin get the first batches. So each worker that is not lost does a step.
 *   B7  A worker may leave before every batch is done. What it has done counts; what it gives back can be assigned at
 *       once. Its LEAVE is answered, by server 0 last. Then every server knows, and the worker may end.
 *   B8  A late joiner is a worker that may join while the run lasts. Its number is new, and is never used again. A
 *       process that joins again, after it was lost or left, is another late joiner. So messages of a dead worker that
 *       are still in transfer cannot count for another worker, and each push counts once (B4).
 *   B9  A late joiner joins at server 0 first. Worker 0 asks the other servers for the final state (FETCH) when server
 *       0 has given its own. That is when every worker has left server 0, late joiners included. So a worker that has
 *       joined server 0 finds the other servers open, and a run that ends waits for no worker that has not joined.
 *  B10  With replicas the queue is replicated with slice 0, and a server's record of batches with its slice. The
 *       replica makes PUSH, NEXT, JOIN, LEAVE and the loss of a worker first (replica.R2). Assignments follow from
 *       earlier changes alone, not from a clock, nor from a message that changes nothing. So a server that replaces
 *       another one gives no batch to a second worker. It takes no batch as new that a worker has, or has done. A
 *       worker gets the same answers again (replica.R4).
 *  B11  A round ends when n_workers more batches are done. The queue has the time of its end, by the clock of the
 *       queue's owner at that time. No round ends before the one before it.
 */
#ifndef PS_RECOVERY_LEASES_H
#define PS_RECOVERY_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

#define NO_BATCH UINT64_MAX

/* A set of batches: those that a part of the parameters has gradients of (B4). */
struct batch_set {            /* owned */
    uint64_t n_batches, n_in; /* n_in: number in the set */
    uint64_t *word;
};

struct leases { /* the work queue; owned */
    int most_workers;
    uint64_t n_batches;
    uint64_t n_begun; /* all batches below were leased, or still are */
    uint64_t n_done, n_again;
    uint64_t *of;    /* [most_workers]: the leased batch; NO_BATCH: none */
    uint64_t *ahead; /* [most_workers]: likewise */
    uint64_t *given; /* [most_given]: batches given back, in that order; each worker is gone once */
    int most_given, first_given, n_given;
    int n_busy; /* workers with a lease */
};

/* What leases_open() allocates. Pure. */
size_t leases_bytes(int most_workers);
/* n_first of the workers begin with the run. RC_NOMEM. */
enum rc leases_open(struct leases *out, int most_workers, int n_first, uint64_t n_batches) MUST_CHECK;
void leases_close(struct leases *l); /* accepts a zeroed one, leaves it zeroed */
/* Worker w, which has a lease, has done its batch. */
void leases_end(struct leases *l, int w);
/* Returns the batch of worker w. If it has none, takes the one it had ahead, else a free one. NO_BATCH: none is
 * free. */
uint64_t leases_take(struct leases *l, int w);
/* Returns the batch that worker w, which has a lease, has ahead; assigns one if needed. NO_BATCH: none. */
uint64_t leases_ahead(struct leases *l, int w);
/* Worker w has not started its batch ahead, and will not. */
void leases_return(struct leases *l, int w);
/* Worker w is gone, whether it has a lease or not. */
void leases_give_back(struct leases *l, int w);

/* Is this a state that the queue can reach (B1, B2)? For a queue that was read from a message or a file. */
bool leases_fit(const struct leases *l);
/* Removes all leases and all batches given back: for a queue that does not fit, and is not used any more. */
void leases_clear(struct leases *l);

/* Could a worker without a batch get one? */
static inline bool leases_has_some(const struct leases *l)
{
    return l->n_given > 0 || l->n_begun < l->n_batches;
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
/* false: the batch was in the set already. */
bool batch_set_add(struct batch_set *s, uint64_t batch);
bool batch_set_has(const struct batch_set *s, uint64_t batch);
/* The first batch that is not in the set; n_batches: the set is full. */
uint64_t batch_set_first_missing(const struct batch_set *s);

#endif
