/* SPDX-License-Identifier: Apache-2.0 */
/* beat_leaf.c - the rim of the star; the contract is in beat_leaf.h. */
#include "harness/world/process/beat_leaf.h"

#include <errno.h>
#include <stdlib.h>

struct beat_leaf {
    const struct beat_run *run;
    struct peer_seat *seat;
    int own, cell;
    struct beat_address hub;
    uint64_t retry_ns;
    uint64_t answered_ns; /* when the last frame came */
    bool has_heard;
    int error;
    struct beat_connection connection;
    unsigned char *frame; /* to send: room for all ranks */
};

enum rc beat_leaf_open(struct beat_leaf **out, const struct beat_run *run, struct peer_seat *seat, int own_rank,
                       const struct beat_address *hub, uint64_t retry_ns)
{
    struct beat_leaf *l = calloc(1, sizeof *l);
    enum rc rc = RC_OK;

    if (!l)
        return rc_raise(RC_NOMEM, "no memory for heartbeats");
    *l = (struct beat_leaf){
        .run = run,
        .seat = seat,
        .own = own_rank,
        .cell = run->cell[own_rank],
        .hub = *hub,
        .retry_ns = retry_ns,
        .connection.fd = -1,
    };
    l->frame = malloc(beat_frame_bytes(run->n_ranks));
    if (!l->frame)
        FAIL(RC_NOMEM, "no memory for heartbeats of %d ranks", run->n_ranks);
    *out = l;
    l = NULL;
out:
    beat_leaf_close(&l);
    return rc;
}

/* The lowest rank of the cell in this state; -1: none. */
static int lowest(const struct beat_leaf *l, enum peer_state state)
{
    for (int r = l->cell; r < l->run->n_ranks; r++)
        if (l->run->cell[r] == l->cell && atomic_load(&l->seat[r].state) == (int)state)
            return r;
    return -1;
}

bool beat_leaf_leads(const struct beat_leaf *l)
{
    const int alive = lowest(l, PEER_ALIVE);

    return l->own == (alive >= 0 ? alive : lowest(l, PEER_SILENT));
}

/* A rank of another cell that the hub does not mention is alive. Rank 0 is judged here, by its ticks. */
static void show_alive(struct beat_leaf *l, int r)
{
    struct peer_view v = peer_view_of(&l->seat[r]);

    if (l->run->cell[r] == l->cell || r == 0 || v.state != PEER_SILENT)
        return;
    v.state = PEER_ALIVE;
    peer_show(&l->seat[r], &v, true);
}

/* What the hub says of rank r. Of a rank of this cell it knows only what came from here, and that it was lost since
 * nothing came. */
static void show(struct beat_leaf *l, int r, const struct peer_view *v)
{
    if (l->run->cell[r] != l->cell)
        peer_show(&l->seat[r], v, r != 0);
    else if (v->state == PEER_LOST)
        peer_show_lost(&l->seat[r], v->silent_ms);
}

static void taken(void *arg, const struct beat_frame *f)
{
    struct beat_leaf *l = arg;
    int next = 0;

    l->has_heard = true;
    l->answered_ns = l->connection.heard_ns;
    for (int i = 0; i < f->n_seats; i++) {
        struct peer_view v;
        const int r = beat_seat(f, i, &v);
        for (; next < r; next++)
            show_alive(l, next);
        show(l, r, &v);
        next = r + 1;
    }
    for (; next < l->run->n_ranks; next++)
        show_alive(l, next);
}

/* An attempt to connect has failed. */
static void fail(struct beat_leaf *l, int error, uint64_t now_ns)
{
    l->error = error;
    beat_connection_close(&l->connection);
    if (error == ECONNREFUSED && l->has_heard) /* unless it has left: world.P4 */
        peer_show_lost(&l->seat[0], (uint32_t)((now_ns - l->answered_ns) / 1000000));
}

void beat_leaf_receive(struct beat_leaf *l, uint64_t now_ns)
{
    struct beat_connection *c = &l->connection;

    if (c->fd < 0)
        return;
    if (!beat_leaf_leads(l)) {
        beat_connection_close(c);
        return;
    }
    const int error = beat_connection_begun(c);
    if (error > 0)
        fail(l, error, now_ns);
    else if (error == 0 && !beat_connection_receive(c, l->run, true, now_ns, taken, l))
        beat_connection_close(c);
    else if (now_ns - c->heard_ns > l->retry_ns) {
        l->error = ETIMEDOUT;
        beat_connection_close(c);
    }
}

bool beat_leaf_send(struct beat_leaf *l, uint64_t now_ns)
{
    struct beat_connection *c = &l->connection;
    int n_seats = 0;

    if (c->fd < 0 && !beat_leaf_leads(l)) /* who has just left says so before it closes */
        return false;
    if (c->fd < 0 && !beat_connection_begin(c, &l->hub, now_ns))
        fail(l, errno, now_ns);
    if (c->fd < 0 || c->is_connecting || !beat_connection_is_ready(c, l->run))
        return false;
    for (int r = l->cell; r < l->run->n_ranks; r++)
        if (l->run->cell[r] == l->cell) {
            const struct peer_view v = peer_view_of(&l->seat[r]);
            beat_put_seat(l->frame + beat_frame_bytes(n_seats++), r, &v);
        }
    beat_put_header(l->frame, l->run, l->cell, n_seats);
    if (!beat_connection_send(c, l->frame, beat_frame_bytes(n_seats)))
        beat_connection_close(c);
    return c->fd >= 0;
}

bool beat_leaf_has_heard(const struct beat_leaf *l)
{
    return l->has_heard;
}

int beat_leaf_error(const struct beat_leaf *l)
{
    return l->error;
}

void beat_leaf_close(struct beat_leaf **lp)
{
    struct beat_leaf *l = *lp;

    if (!l)
        return;
    beat_connection_close(&l->connection);
    free(l->frame);
    free(l);
    *lp = NULL;
}
