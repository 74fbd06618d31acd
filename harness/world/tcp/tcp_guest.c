/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_guest.c - the world of a late joiner ("guest" in names, world.W9): a process that joins a run that has begun. It
 * is not one of the ranks that began the run.
 *
 * A collective operation of this world sends nothing and ends at once. Its result is as if each rank had the input of
 * this process.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/world/cores.h"
#include "harness/world/process/share_process.h"
#include "harness/world/tcp/tcp_world.h"
#include "harness/world/wait.h"

static struct tcp_rank *rank_of(const struct world *w)
{
    return ((const struct tcp_world *)w)->self;
}

/* --- members --- */

enum rc tcp_open_doors(struct world *w, const void *welcome, size_t n_bytes)
{
    unsigned char *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    enum rc rc;

    if (!copy)
        return rc_raise(RC_NOMEM, "no memory for what %d workers that may join are told", w->n_guests);
    memcpy(copy, welcome, n_bytes);
    rc = tcp_link_post(rank_of(w)->link, &(struct tcp_message){ .type = TCP_DOORS, .body = copy, .n_bytes = n_bytes });
    free(copy);
    return rc;
}

bool tcp_next_guest(struct world *w, struct guest_event *out)
{
    int guest;

    if (!tcp_link_next_guest(rank_of(w)->link, &guest, &out->bytes, &out->n_bytes))
        return false;
    out->rank = w->n_ranks + guest;
    return true;
}

/* --- a guest's world --- */

static enum rc guest_barrier(struct world *w)
{
    return tcp_check(w);
}

static enum rc guest_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    for (int r = 0; r < w->n_ranks && n_bytes_each > 0; r++)
        memcpy((char *)out + (size_t)r * n_bytes_each, in, n_bytes_each);
    return tcp_check(w);
}

/* Only rank 0 gets the result, and rank 0 is another process. */
static enum rc guest_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    (void)in, (void)out, (void)n_bytes_each;
    return tcp_check(w);
}

static enum rc guest_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    (void)bytes, (void)n_bytes;
    return tcp_check(w);
}

static void guest_split_close(struct world **w)
{
    free(tcp_world_of(*w)->number);
    free(tcp_world_of(*w));
    *w = NULL;
}

/* A part of this process alone. */
static enum rc guest_split(struct world *w, int color, int key, struct world **out)
{
    struct tcp_world *part = malloc(sizeof *part);

    (void)key;
    *out = NULL;
    if (color < 0 || !part) {
        free(part);
        return color < 0 ? RC_OK : rc_raise(RC_NOMEM, "no memory for a part of one rank");
    }
    *part = *tcp_world_of(w);
    part->number = malloc(sizeof *part->number);
    if (!part->number) {
        free(part);
        return rc_raise(RC_NOMEM, "no memory for a part of one rank");
    }
    part->number[0] = part->self->rank;
    part->base.number = part->number;
    part->base.rank = part->base.host_rank = part->base.host_first_rank = 0;
    part->base.n_ranks = part->base.n_host_ranks = part->base.n_busy_host_ranks = 1;
    part->base.n_guests = 0;
    *out = &part->base;
    return RC_OK;
}

static enum rc guest_enter(struct world *w, const void *own, size_t n_bytes)
{
    struct tcp_link *link = rank_of(w)->link;
    unsigned char *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    struct backoff backoff = { .may_spin = false };
    enum rc rc;

    if (!copy)
        return rc_raise(RC_NOMEM, "no memory for what servers are told");
    memcpy(copy, own, n_bytes);
    TRY(tcp_link_post(link, &(struct tcp_message){ .type = TCP_ENTER, .body = copy, .n_bytes = n_bytes }));
    while (!tcp_link_is_ready(link)) {
        world_tick(w);
        TRY(tcp_check(w));
        backoff_pause(&backoff, 1000000);
    }
out:
    free(copy);
    return rc;
}

static enum rc guest_leave(struct world *w)
{
    rank_of(w)->has_left = true;
    tcp_link_leave(rank_of(w)->link);
    return RC_OK;
}

/* Sends nothing: the other ranks notice the loss when the connection ends. */
static void guest_abort(struct world *w, enum rc why)
{
    (void)w, (void)why;
}

static const struct world_ops world_tcp_guest = {
    .module.name = "tcp",
    .module.caps = WORLD_LAUNCHED | WORLD_GUESTS | WORLD_SEES_ENDS,
    .tasks = &thread_task_ops,
    .shares = &process_share_ops,
    .now_ns = tcp_now_ns,
    .barrier = guest_barrier,
    .allgather = guest_allgather,
    .gather = guest_gather,
    .broadcast = guest_broadcast,
    .split = guest_split,
    .split_close = guest_split_close,
    .check = tcp_check,
    .abort = guest_abort,
    .die = tcp_die,
    .hang = tcp_hang,
    .leave = guest_leave,
    .enter = guest_enter,
};

/* --- begin and end --- */

/* Checks and keeps the answer of rank 0: the number of this late joiner, the identity of the run, and the welcome. */
static enum rc take_welcome(struct tcp_world *t, const struct world_opts *opts)
{
    struct tcp_rank *self = t->self;
    const struct tcp_message *m = &self->welcome;
    const uint64_t n_fixed = TCP_WELCOME_FIXED_BYTES;
    const uint64_t n_identity = m->n_bytes >= n_fixed ? bytes_get(m->body + 8, 4) : UINT64_MAX;

    if (n_identity > m->n_bytes - n_fixed || bytes_get(m->body + 4, 4) != (uint64_t)self->gang.n_ranks)
        return rc_raise(RC_MISMATCH, "the run at %s has other members than this process was told of", self->gang.root);
    const uint64_t guest = bytes_get(m->body, 4);
    if (guest >= (uint64_t)opts->n_guests)
        return rc_raise(RC_MISMATCH,
                        "the run at %s lets more workers join than this process was told of: --most-workers",
                        self->gang.root);
    self->identity = strndup((const char *)m->body + n_fixed, (size_t)n_identity);
    if (!self->identity)
        return rc_raise(RC_NOMEM, "no memory for the options of a run");
    self->rank = self->gang.n_ranks + (int)guest;
    t->base.identity = self->identity;
    t->base.welcome = m->body + n_fixed + n_identity;
    t->base.n_welcome_bytes = m->n_bytes - n_fixed - (size_t)n_identity;
    return RC_OK;
}

/* Fills the run's world as this late joiner sees it. It does not know the hosts of the ranks. On the loopback all ranks
 * are on its host; else it is alone on its host. */
static enum rc set_world(struct tcp_world *t, const struct world_opts *opts)
{
    struct tcp_rank *self = t->self;
    struct world *w = &t->base;

    w->rank = self->rank;
    w->n_ranks = self->gang.n_ranks;
    w->n_guests = opts->n_guests;
    w->on_loss = opts->on_loss;
    tcp_link_own_address(self->link, self->address);
    tcp_leave_loopback(&self->gang, self->address);
    const bool is_loopback = host_address_is_loopback(self->address);
    w->n_host_ranks = is_loopback ? w->n_ranks : 1;
    w->n_busy_host_ranks = w->n_host_ranks;
    w->host_rank = 0;
    w->n_host_cores = cores_allowed_count();
    w->n_own_cores = w->n_host_cores / (is_loopback ? w->n_ranks + 1 : 1); /* 0: shared */
    if (!opts->interface || opts->interface[0] == '\0')
        w->interface = is_loopback ? "" : self->address;
    self->guest_peers = (struct peers){ .n_ranks = w->n_ranks + w->n_guests, .own = self->rank };
    self->guest_peers.seat = peer_seats_alloc(self->guest_peers.n_ranks);
    if (!self->guest_peers.seat)
        return rc_raise(RC_NOMEM, "no memory for the seats of a run");
    w->peers = &self->guest_peers;
    return peer_losses_open(&w->losses, w->n_ranks + w->n_guests);
}

enum rc tcp_guest_open(struct tcp_world *t, struct tcp_rank *self, const struct world_opts *opts)
{
    static const unsigned char no_place[TCP_PLACE_BYTES];
    const struct tcp_link_opts link = { .gang = &self->gang,
                                        .on_loss = opts->on_loss,
                                        .fd = -1,
                                        .failure_exit_code = self->failure_exit_code,
                                        .place = no_place,
                                        .welcome = &self->welcome };
    enum rc rc;

    if (opts->n_guests == 0)
        FAIL(RC_INVAL, "world tcp: nobody can join a run that lets nobody join");
    t->base.ops = &world_tcp_guest;
    TRY(tcp_link_open(&self->link, &link, NULL));
    TRY(take_welcome(t, opts));
    TRY(set_world(t, opts));
    tcp_link_watch_members(self->link, t->base.losses, t->base.n_ranks);
    TRY(tcp_link_clock_offset(self->link, &self->offset_ns));
    TRY(tcp_link_start(self->link));
    tcp_link_beat(self->link, &self->guest_peers.seat[self->rank]);
    self->has_begun = true;
    if (opts->agree)
        TRY(opts->agree(&t->base, opts->agree_arg));
out:
    return rc;
}

enum rc tcp_guest_close(struct tcp_world *t, enum rc rc)
{
    struct tcp_rank *self = t->self;

    if (self->link)
        tcp_link_beat(self->link, NULL);
    if (rc == RC_PEER) /* what it saw of a failure of the run */
        rc = tcp_raise_failure(self, rc);
    if (rc != RC_OK && self->link && tcp_link_is_started(self->link) && !self->has_left)
        tcp_link_fail(self->link, self->rank, rc, rc_message()); /* to the others it is lost */
    t->base.peers = NULL;
    tcp_link_close(&self->link);
    peers_fini(&self->guest_peers);
    free(self->guest_peers.seat);
    free(self->welcome.body);
    free(self->identity);
    return rc;
}
