/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_collectives.c - the collectives of a tcp world: calls to the hub, for whose result ranks wait asleep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/world/tcp/tcp_world.h"
#include "harness/world/wait.h"

static const struct tcp_rank *rank_of(const struct world *w)
{
    return ((const struct tcp_world *)w)->self;
}

enum rc tcp_check(struct world *w)
{
    enum rc rc;

    TRY(process_peers_check(rank_of(w)->peers)); /* first: a lost rank's connection is closed, too */
    TRY(tcp_link_check(rank_of(w)->link));
    TRY(thread_tasks_check(w->tasks));
out:
    return rc;
}

struct call {
    enum tcp_operation operation;
    const void *input;
    size_t n_input;
    size_t n_bytes_each;
    struct tcp_message result; /* its body is the caller's to free */
    const unsigned char *output;
    size_t n_output;
};

static enum rc post_call(struct world *w, const struct call *c)
{
    const size_t n_bytes = TCP_CALL_FIXED_BYTES + c->n_input;
    struct tcp_rank *self = tcp_world_of(w)->self;
    unsigned char *body = malloc(n_bytes);
    enum rc rc;

    if (!body)
        return rc_raise(RC_NOMEM, "no memory to send %zu bytes", n_bytes);
    bytes_put(body, tcp_world_of(w)->id, 4);
    bytes_put(body + 4, c->operation, 4);
    bytes_put(body + 8, c->n_bytes_each, 8);
    if (c->n_input > 0)
        memcpy(body + TCP_CALL_FIXED_BYTES, c->input, c->n_input);
    rc = tcp_link_post(self->link, &(struct tcp_message){
                                       .type = TCP_CALL, .number = ++self->n_calls, .body = body, .n_bytes = n_bytes });
    free(body);
    return rc;
}

/* An error that all who called have alike: of a lost rank, or of what they do not agree on. */
static enum rc raise_result(struct world *w, const struct call *c)
{
    const int32_t code = (int32_t)bytes_get(c->result.body, 4), lost = (int32_t)bytes_get(c->result.body + 4, 4);
    char why[RC_MESSAGE_BYTES];

    (void)snprintf(why, sizeof why, "%.*s", (int)c->n_output, (const char *)c->output);
    if (lost < 0 || !w->losses || lost >= w->losses->n_ranks)
        return rc_raise(code < 0 ? (enum rc)code : RC_MISMATCH, "%s", why);
    (void)peer_losses_add(w->losses, lost, why);
    return rc_raise(RC_PEER, "rank %d was lost: %s", lost, peer_losses_why(w->losses, lost));
}

/* The process of rank 0 may be silent, too, before ranks watch each other: world.G7. */
static enum rc check_opening(struct tcp_rank *self, uint64_t waited_ns)
{
    const uint64_t limit_ns = (uint64_t)(1e9 * self->gang.start_s) + 2 * TCP_GRACE_NS;
    char why[RC_MESSAGE_BYTES];

    if (self->has_begun || self->gang.joins || waited_ns < limit_ns)
        return RC_OK;
    (void)snprintf(why, sizeof why, TCP_SILENT_WHY, 1e-9 * (double)limit_ns);
    tcp_link_fail(self->link, 0, RC_PEER, why);
    return rc_raise(RC_PEER, "%s", why);
}

static enum rc check_limit(const struct tcp_rank *self, uint64_t waited_ns)
{
    if (self->limit_ns == 0 || waited_ns < self->limit_ns)
        return RC_OK;
    return rc_raise(RC_TIMEOUT, "world tcp: not all ranks made the same call within %.6g s",
                    1e-9 * (double)self->limit_ns);
}

/* The hub answers each call, so none is given up for a loss that this rank knows of meanwhile: it ends as it ends for
 * the others. */
static enum rc call(struct world *w, struct call *c)
{
    struct tcp_rank *self = tcp_world_of(w)->self;
    const uint64_t called_ns = wait_clock_ns();
    bool has_come = false;
    enum rc rc;

    if (c->operation != TCP_SURVIVORS && c->operation != TCP_BEGIN) /* there the run fails with it: world.G4 */
        TRY(world_check_losses(w));                                 /* world.W8: a lost rank may have come before */
    TRY(tcp_check(w));
    TRY(post_call(w, c));
    for (;;) {
        tcp_link_await(self->link, self->n_calls, WAIT_SLICE_NS, &c->result, &has_come);
        if (has_come)
            break;
        world_tick(w);
        TRY(tcp_check(w));
        TRY(check_opening(self, wait_clock_ns() - called_ns));
        TRY(check_limit(self, wait_clock_ns() - called_ns));
    }
    if (c->result.n_bytes < TCP_RESULT_FIXED_BYTES)
        FAIL(RC_MISMATCH, "rank 0 answers with %zu bytes", c->result.n_bytes);
    c->output = c->result.body + TCP_RESULT_FIXED_BYTES;
    c->n_output = c->result.n_bytes - TCP_RESULT_FIXED_BYTES;
    if (bytes_get(c->result.body, 4) != RC_OK)
        TRY(raise_result(w, c));
out:
    return rc;
}

/* Take an output of n_bytes, if out is not NULL. */
static enum rc take_output(struct call *c, void *out, size_t n_bytes)
{
    enum rc rc = RC_OK;

    if (out && c->n_output != n_bytes)
        rc = rc_raise(RC_MISMATCH, "rank 0 answers with %zu bytes in place of %zu", c->n_output, n_bytes);
    else if (out && n_bytes > 0)
        memcpy(out, c->output, n_bytes);
    return rc;
}

static enum rc call_and_take(struct world *w, struct call *c, void *out, size_t n_bytes)
{
    enum rc rc;

    TRY(call(w, c));
    TRY(take_output(c, out, n_bytes));
out:
    free(c->result.body);
    return rc;
}

enum rc tcp_barrier(struct world *w)
{
    struct call c = { .operation = TCP_BARRIER };

    return call_and_take(w, &c, NULL, 0);
}

enum rc tcp_begin(struct world *w)
{
    struct call c = { .operation = TCP_BEGIN };

    return call_and_take(w, &c, NULL, 0);
}

enum rc tcp_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    struct call c = { .operation = TCP_ALLGATHER, .input = in, .n_input = n_bytes_each, .n_bytes_each = n_bytes_each };

    return call_and_take(w, &c, out, n_bytes_each * (size_t)w->n_ranks);
}

enum rc tcp_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    struct call c = { .operation = TCP_GATHER, .input = in, .n_input = n_bytes_each, .n_bytes_each = n_bytes_each };

    return call_and_take(w, &c, w->rank == 0 ? out : NULL, n_bytes_each * (size_t)w->n_ranks);
}

enum rc tcp_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    const size_t n_input = w->rank == 0 ? n_bytes : 0;
    struct call c = { .operation = TCP_BROADCAST, .input = bytes, .n_input = n_input, .n_bytes_each = n_bytes };

    return call_and_take(w, &c, w->rank == 0 ? NULL : bytes, n_bytes);
}

/* --- parts --- */

void tcp_find_host_ranks(struct tcp_world *t)
{
    const int *host_of = t->self->host_of, own = host_of[t->self->rank];
    struct world *w = &t->base;

    w->n_host_ranks = w->host_rank = 0;
    w->host_first_rank = -1;
    for (int r = 0; r < w->n_ranks; r++) {
        if (host_of[world_number(w, r)] != own)
            continue;
        if (w->host_first_rank < 0)
            w->host_first_rank = r;
        w->host_rank += r < w->rank;
        w->n_host_ranks++;
    }
}

/* The part that the output of a call describes. */
static enum rc make_part(struct world **out, struct world *w, const struct call *c)
{
    const size_t n_ranks = c->n_output < TCP_PART_FIXED_BYTES ? 0 : (c->n_output - TCP_PART_FIXED_BYTES) / 4;
    struct tcp_world *part = malloc(sizeof *part);
    enum rc rc = RC_OK;

    if (!part)
        return rc_raise(RC_NOMEM, "no memory for a part of %zu ranks", n_ranks);
    *part = *tcp_world_of(w);
    part->number = calloc(n_ranks + 1, sizeof *part->number);
    if (!part->number)
        FAIL(RC_NOMEM, "no memory for a part of %zu ranks", n_ranks);
    part->id = (uint32_t)bytes_get(c->output, 4);
    part->base.n_busy_host_ranks = (int)bytes_get(c->output + 4, 4);
    part->base.n_ranks = (int)n_ranks;
    part->base.n_guests = 0;
    part->base.rank = -1;
    for (int r = 0; r < (int)n_ranks; r++) {
        part->number[r] = (int)bytes_get(c->output + TCP_PART_FIXED_BYTES + 4 * (size_t)r, 4);
        if (part->number[r] == part->self->rank)
            part->base.rank = r;
    }
    if (part->base.rank < 0)
        FAIL(RC_MISMATCH, "rank 0 answers with a part that this rank is not in");
    part->base.number = part->number;
    tcp_find_host_ranks(part);
    *out = &part->base;
    part = NULL;
out:
    if (part)
        free(part->number);
    free(part);
    return rc;
}

enum rc tcp_split(struct world *w, int color, int key, struct world **out)
{
    unsigned char claim[8];
    struct call c = { .operation = TCP_SPLIT, .input = claim, .n_input = sizeof claim };
    enum rc rc;

    bytes_put(claim, (uint32_t)color, 4);
    bytes_put(claim + 4, (uint32_t)key, 4);
    TRY(call(w, &c));
    if (color >= 0)
        TRY(make_part(out, w, &c));
out:
    free(c.result.body);
    return rc;
}

void tcp_split_close(struct world **w)
{
    struct tcp_world *t = tcp_world_of(*w);
    unsigned char id[4];

    bytes_put(id, t->id, sizeof id);
    /* without memory for it the hub keeps its note of the part until the end */
    (void)!tcp_link_post(t->self->link, &(struct tcp_message){ .type = TCP_CLOSE, .body = id, .n_bytes = sizeof id });
    free(t->number);
    free(t);
    *w = NULL;
}

/* The ranks of w that are not in `left` are lost, which this one may be the last to learn. */
static enum rc await_losses(struct world *w, const struct world *left)
{
    struct backoff backoff = { .may_spin = false };
    enum rc rc = RC_OK;

    for (int r = 0, i = 0; r < w->n_ranks; r++) {
        if (i < left->n_ranks && world_number(left, i) == world_number(w, r)) {
            i++;
            continue;
        }
        while (!world_is_lost(w, r)) {
            world_tick(w);
            TRY(tcp_check(w));
            backoff_pause(&backoff, 1000000);
        }
    }
out:
    return rc;
}

enum rc tcp_survivors(struct world *w, struct world **out)
{
    struct call c = { .operation = TCP_SURVIVORS };
    struct world *left = NULL;
    enum rc rc;

    TRY(call(w, &c));
    TRY(make_part(&left, w, &c));
    TRY(await_losses(w, left));
    *out = left;
    left = NULL;
out:
    free(c.result.body);
    if (left)
        tcp_split_close(&left);
    return rc;
}
