/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat.c - how the processes of a run find the hub; the contract is in heartbeat.h. */
#include "harness/world/process/heartbeat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "harness/world/child.h"
#include "harness/world/process/beat_hub.h"
#include "harness/world/process/beat_leaf.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

enum { HOST_NAME_BYTES = 64, N_SLACK_INTERVALS = 3 };

/* Within this time the processes that are to connect have done so; the hub waits a little longer. */
#define START_NS UINT64_C(5000000000)
#define HUB_START_NS (START_NS + UINT64_C(1000000000))
#define RETRY_NS UINT64_C(5000000000)
#define NAP_NS UINT64_C(1000000)

struct heartbeat {
    struct beat_run run;
    struct beat_hub *hub;   /* in the process of rank 0 */
    struct beat_leaf *leaf; /* in those of other cells than its */
    bool reaches_all;
};

struct invitation { /* from rank 0 to all; zeroed before it is filled: it is sent as bytes */
    unsigned char token[BEAT_TOKEN_BYTES];
    struct beat_address address;
    char host[HOST_NAME_BYTES];
    bool is_open; /* somebody listens */
    char reason[RC_MESSAGE_BYTES];
};

struct outcome {    /* of one rank, to all; likewise */
    bool is_missed; /* it was to connect, and could not */
    int error;      /* errno */
    char host[HOST_NAME_BYTES];
};

/* Rank 0: open the hub. Why not is in the invitation: the run goes on without. */
static void invite(struct heartbeat *h, struct world *w, struct peer_seat *seat, struct invitation *inv)
{
    struct beat_address *address = &inv->address;
    enum rc rc;

    child_host_name(inv->host, sizeof inv->host);
    if (getrandom(h->run.token, BEAT_TOKEN_BYTES, 0) != BEAT_TOKEN_BYTES)
        FAIL(RC_IO, "getrandom: %s", strerror(errno));
    memcpy(inv->token, h->run.token, BEAT_TOKEN_BYTES);
    snprintf(address->host, sizeof address->host, "127.0.0.1");
    if (w->n_host_ranks < w->n_ranks)
        TRY(host_address(address->host, w->interface));
    TRY(beat_hub_open(&h->hub, &h->run, seat, address));
    inv->is_open = true;
out:
    if (rc != RC_OK)
        snprintf(inv->reason, sizeof inv->reason, "host %s: %s", inv->host, rc_message());
}

/* Until each cell has a connection, or the run has failed. */
static void await_leaves(struct world *w, struct beat_hub *hub, const struct beat_run *run)
{
    const uint64_t started_ns = wait_clock_ns();
    int n_others = 0;

    for (int r = 1; r < run->n_ranks; r++)
        n_others += run->cell[r] == r;
    for (uint64_t now_ns; (now_ns = wait_clock_ns()) - started_ns < HUB_START_NS && world_check(w) == RC_OK;) {
        const int n_cells = beat_hub_n_cells(hub);
        beat_hub_receive(hub, now_ns);
        if (beat_hub_n_cells(hub) != n_cells)
            beat_hub_send(hub);
        if (beat_hub_n_cells(hub) == n_others)
            return;
        wait_sleep(NAP_NS);
    }
}

/* Until the hub has answered, or the run has failed. */
static void await_hub(struct world *w, struct beat_leaf *leaf, struct outcome *own)
{
    const uint64_t started_ns = wait_clock_ns();
    bool has_sent = false;

    for (uint64_t now_ns; (now_ns = wait_clock_ns()) - started_ns < START_NS && world_check(w) == RC_OK;
         wait_sleep(NAP_NS)) {
        beat_leaf_receive(leaf, now_ns);
        if (beat_leaf_has_heard(leaf))
            return;
        if (beat_leaf_error(leaf) != 0)
            break;
        has_sent = has_sent || beat_leaf_send(leaf, now_ns);
    }
    own->is_missed = true;
    own->error = beat_leaf_error(leaf) ? beat_leaf_error(leaf) : ETIMEDOUT;
}

/* Connect this process, where it has to. */
static void attend(struct heartbeat *h, struct world *w, struct peer_seat *seat, const struct peer_opts *opts,
                   const struct invitation *inv, struct outcome *own)
{
    const uint64_t retry_ns = opts->warn_ns < RETRY_NS ? opts->warn_ns : RETRY_NS;

    child_host_name(own->host, sizeof own->host);
    memcpy(h->run.token, inv->token, BEAT_TOKEN_BYTES);
    if (h->hub)
        await_leaves(w, h->hub, &h->run);
    if (h->run.cell[w->rank] == h->run.cell[0])
        return;
    if (beat_leaf_open(&h->leaf, &h->run, seat, w->rank, &inv->address, retry_ns) != RC_OK) {
        own->is_missed = true;
        own->error = ENOMEM;
        return;
    }
    if (h->run.cell[w->rank] == w->rank)
        await_hub(w, h->leaf, own);
}

/* Hosts do not hear of each other: the run goes on without, and rank 0 says so, unless losses are to be reported. */
static enum rc go_on_unwatched(const struct world *w, const struct peer_opts *opts, const char *line)
{
    if (w->on_loss == ON_LOSS_REPORT)
        return rc_raise(RC_UNSUPPORTED, "a lost rank cannot be reported: %s", line);
    if (w->rank == 0)
        peer_tell(opts, line);
    return RC_OK;
}

/* *reaches_all: nobody is missed. */
static enum rc go_on_unreached(const struct world *w, const struct peer_opts *opts, const struct invitation *inv,
                               const struct outcome *all, bool *reaches_all)
{
    char line[RC_MESSAGE_BYTES];
    int n_missed = 0, first = -1;

    for (int r = w->n_ranks - 1; r >= 0; r--)
        if (all[r].is_missed) {
            n_missed++;
            first = r;
        }
    *reaches_all = n_missed == 0;
    if (*reaches_all)
        return RC_OK;
    snprintf(
        line, sizeof line,
        "rank %d (host %s) cannot reach %s, port %d (host %s): %s; nobody on other hosts notices if it falls silent",
        first, all[first].host, inv->address.host, inv->address.port, inv->host, strerror(all[first].error));
    if (n_missed > 1)
        snprintf(line + strlen(line), sizeof line - strlen(line), ", as with %d more", n_missed - 1);
    return go_on_unwatched(w, opts, line);
}

/* Judge nobody in a cell that is not connected, nor from there. */
static void except(const struct beat_run *run, const struct outcome *all, int own, uint64_t *slack_ns)
{
    for (int r = 0; r < run->n_ranks; r++) {
        const bool is_missed = all[run->cell[r]].is_missed || all[run->cell[own]].is_missed;
        if (is_missed && run->cell[r] != run->cell[own])
            slack_ns[r] = PEER_NOT_JUDGED;
    }
}

static enum rc agree(struct heartbeat *h, struct world *w, const struct peer_opts *opts, const struct invitation *inv,
                     const struct outcome *own, uint64_t *slack_ns)
{
    struct outcome *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the hosts of %d ranks", w->n_ranks);
    TRY(world_allgather(w, own, all, sizeof *own));
    TRY(go_on_unreached(w, opts, inv, all, &h->reaches_all));
    except(&h->run, all, w->rank, slack_ns);
    if (all[h->run.cell[w->rank]].is_missed)
        beat_leaf_close(&h->leaf);
out:
    free(all);
    return rc;
}

/* Who judges whom. */
static void set_slack(const struct beat_run *run, int own, uint64_t interval_ns, uint64_t *slack_ns)
{
    for (int r = 0; r < run->n_ranks; r++)
        slack_ns[r] = run->cell[r] == run->cell[own] ? 0
                      : own == 0 || r == 0           ? N_SLACK_INTERVALS * interval_ns
                                                     : PEER_NOT_JUDGED;
}

static bool is_one_cell(const struct beat_run *run)
{
    for (int r = 0; r < run->n_ranks; r++)
        if (run->cell[r] != run->cell[0])
            return false;
    return true;
}

enum rc heartbeat_open(struct heartbeat **out, struct world *w, const int *cell, struct peer_seat *seat,
                       const struct peer_opts *opts, uint64_t interval_ns, uint64_t *slack_ns)
{
    const struct beat_run run = { .n_ranks = w->n_ranks, .cell = cell };
    struct heartbeat *h = NULL;
    struct invitation inv;
    struct outcome own;
    enum rc rc;

    set_slack(&run, w->rank, interval_ns, slack_ns);
    if (is_one_cell(&run))
        return RC_OK;
    memset(&inv, 0, sizeof inv);
    memset(&own, 0, sizeof own);
    h = calloc(1, sizeof *h);
    if (!h)
        return rc_raise(RC_NOMEM, "no memory for heartbeats");
    h->run = run;
    if (w->rank == 0)
        invite(h, w, seat, &inv);
    TRY(world_broadcast(w, &inv, sizeof inv));
    if (inv.is_open) {
        attend(h, w, seat, opts, &inv, &own);
        TRY(agree(h, w, opts, &inv, &own, slack_ns));
        *out = h;
        h = NULL;
        goto out;
    }
    for (int r = 0; r < w->n_ranks; r++)
        if (cell[r] != cell[w->rank])
            slack_ns[r] = PEER_NOT_JUDGED;
    char line[RC_MESSAGE_BYTES];
    snprintf(line, sizeof line, "nobody notices if a rank of another host falls silent: %.400s", inv.reason);
    rc = go_on_unwatched(w, opts, line);
out:
    heartbeat_close(&h);
    return rc;
}

void heartbeat_receive(struct heartbeat *h, uint64_t now_ns)
{
    if (h && h->hub)
        beat_hub_receive(h->hub, now_ns);
    if (h && h->leaf)
        beat_leaf_receive(h->leaf, now_ns);
}

void heartbeat_send(struct heartbeat *h, uint64_t now_ns)
{
    if (h && h->hub)
        beat_hub_send(h->hub);
    if (h && h->leaf)
        (void)beat_leaf_send(h->leaf, now_ns);
}

bool heartbeat_reaches_all(const struct heartbeat *h)
{
    return h && h->reaches_all;
}

void heartbeat_close(struct heartbeat **hp)
{
    struct heartbeat *h = *hp;

    if (!h)
        return;
    beat_hub_close(&h->hub);
    beat_leaf_close(&h->leaf);
    free(h);
    *hp = NULL;
}
