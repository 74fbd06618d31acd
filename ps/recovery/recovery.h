/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - what this folder has of a slice, beside the server's own state. Private to this folder. */
#ifndef PS_RECOVERY_RECOVERY_H
#define PS_RECOVERY_RECOVERY_H

#include "ps/recovery/leases.h"
#include "ps/server_state.h"

struct chain {                 /* replica.h: for a slice, at its holder towards the standby, or at the standby from the
                                holder */
    bool is_on;                /* changes of the slice are forwarded */
    int heir, home;            /* ranks; home: the server whose forwards a replica takes */
    struct arrivals pending;   /* forwarded, and not served; peer -1: LOST or LEAVE without a message, the op is in
                                message.tag */
    struct copy *copy;         /* copy.h: being sent to a new standby, or received from the holder; NULL: none */
    enum rc error;             /* of a forward that its living standby did not release (replica.R7) */
    uint64_t n_held, n_served; /* HELD received; forwards of the home that were served */
    struct posted *held;       /* [pending.most]: HELD number n is at n modulo pending.most */
};

struct forward { /* of the request of a worker in a slot */
    struct posted posted;
    bool is_pending; /* forwarded, and not served yet ... */
    uint64_t since_ns;
};

struct recovery_worker {
    bool is_ending;    /* its LEAVE, FETCH or loss is forwarded ... */
    bool loss_is_told; /* ... its loss, by `loss` */
    bool has_left_all; /* it needs no server any more, by its last LEAVE to this server (replica.R8) */
    struct forward forward[PS_CREDITS];
    struct posted loss, leave;
    uint64_t n_batches; /* leases.h, server 0: batches that it has done */
    bool has_begun;     /* leases.h: it has asked for its first batch ... */
    bool asks;          /* ... and its NEXT is unanswered */
    uint64_t asked;     /* leases.h: the batch that its last NEXT reports done, + 1 */
    bool is_seen;       /* it is counted in n_seen */
};

struct recovery {
    struct recovery_worker *worker; /* [sync_most_workers()] */
    struct chain chain;             /* with replicas */
    struct leases leases;           /* of slice 0 and its replica; else zeros */
    int n_asking;                   /* workers with a waiting NEXT */
    uint64_t *round_ns;             /* [n_batches / n_workers], beside the queue: when each further n_workers batches
                                       were done */
    struct batch_set *has; /* [n_chunks]: batches whose gradients are in the part; NULL: the run is not elastic */
};

/* Does the run assign batches (leases.h)? */
static inline bool server_is_elastic(const struct ps_server *s)
{
    return s->env.n_batches > 0;
}

/* Attaches this folder to slice s. RC_NOMEM. */
enum rc recovery_open(struct ps_server *s) MUST_CHECK;
/* Makes the change of request a, with header h, in slice s, of a holder or a standby. */
enum rc recovery_serve(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;

#endif
