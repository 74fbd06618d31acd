/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovery.h - the interface of what may be attached to a server: what survives the loss of another server, or changes
 * the number of workers (ps/recovery/). The server calls it at the points below, and knows nothing else of it.
 * Private to ps/.
 *
 * All slices of a rank have the same functions. `own` is the rank's own slice. No function may be NULL.
 */
#ifndef PS_RECOVERY_H
#define PS_RECOVERY_H

#include "harness/exchange/refused.h"
#include "harness/exchange/sync_mode.h"
#include "harness/net/transport.h"

struct arrival;
struct ps_header;
struct ps_server;
struct request;

enum awaited { AWAITS_NOBODY /* the run is over */, AWAITS_WORKERS, AWAITS_STANDBY /* has changes to confirm, too */ };

struct recovery_ops {
    /* --- a request `a` of slice s, with header h --- */
    /* It has arrived, and is not checked. *is_taken: it was handled or refused here, and the server does no more. */
    enum rc (*arrived)(struct ps_server *s, struct arrival *a, const struct ps_header *h, bool *is_taken);
    /* It is checked as far as its body. RC_MISMATCH: refuse it, for the reason *why. */
    enum rc (*check)(const struct ps_server *s, const struct arrival *a, const struct ps_header *h, enum refused *why);
    /* It passed all checks. Calls server_serve(), now or later. Its message may be taken from *a. */
    enum rc (*serve)(struct ps_server *s, struct arrival *a, const struct ps_header *h);
    /* A push is applied next. May add to *answer. false: its gradient does not count. */
    bool (*applied)(struct ps_server *s, int worker, const struct ps_header *h, struct ps_header *answer);
    /* The message of the kept gradient of r, a request of the worker, is released next. */
    void (*released)(struct ps_server *s, int worker, struct request *r);

    /* --- a worker of slice s --- */
    /* It is lost. Calls server_drop_now(), now or later. */
    enum rc (*lost)(struct ps_server *s, int worker);
    /* It pushes no more. is_loss: it is lost, and had not left. */
    void (*left)(struct ps_server *s, int worker, bool is_loss);

    /* --- the loop of a rank --- */
    /* A turn of the loop begins. RC_PEER: the run cannot survive the loss of a server. */
    enum rc (*turn)(struct ps_server *own);
    /* Sends the answers of slice s that no message asks for. */
    enum rc (*settle)(struct ps_server *s);
    /* Has turn() or settle() work to do? Cheap. */
    bool (*is_due)(const struct ps_server *own);
    enum awaited (*awaits)(const struct ps_server *own);
    /* May slice s give its STATE? When every slice has, other servers may end. */
    bool (*may_give_state)(const struct ps_server *s);
    /* Takes message m of another server. RC_MISMATCH: it is invalid, for the reason *why. */
    enum rc (*receive)(struct ps_server *own, struct message *m, enum refused *why);
    /* The run is over. Completes what it has posted. */
    void (*end)(struct ps_server *own, bool has_failed);
    /* Adds to what the rank reports. */
    void (*facts)(const struct ps_server *own, struct server_facts *out);
    /* Frees what it has of slice s. */
    void (*close)(struct ps_server *s);
};

/* Nothing is attached: a lost server ends the run, and workers neither join nor get batches. */
extern const struct recovery_ops no_recovery;

#endif
