/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - what a worker does when a server is lost, and in an elastic run.
 *
 * When a server was lost, the next one that is not lost has its slice (replica.h). It gets all that the lost one has
 * not answered, as it was: header, body and slot. The memory of these is lent until they are ended, so it is there. The
 * next server may be lost in turn, before or after that.
 */
#include <stdio.h>

#include "harness/world/world.h"
#include "ps/recovery/replica.h"
#include "ps/worker_state.h"

enum rc ps_forgive(const struct ps *p, int server, enum rc rc)
{
    const struct sync_env *env = &p->base.env;

    return ps_has_heirs(env) ? world_forgive_loss(env->world, ps_holder(p, server), rc) : rc;
}

static enum rc post_all(struct ps *p, int server)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < p->link[server].n_slots; i++)
        TRY(ps_post_slot(p, server, i));
out:
    return rc;
}

enum rc ps_redirect(struct ps *p, int server, enum rc rc)
{
    struct link *link = &p->link[server];
    char message[RC_MESSAGE_BYTES];

    while (rc != RC_OK) {
        (void)snprintf(message, sizeof message, "%s", rc_message());
        TRY(ps_forgive(p, server, rc));
        for (int i = 0; i < link->n_slots; i++)
            ps_end_posted(p, &link->slot[i]); /* with an error: transport.T3 */
        const int next = ps_living(&p->base.env, server);
        if (next < 0)
            FAIL(RC_PEER, "%s", message); /* replica.R9 */
        link->holder = next;
        rc = post_all(p, server);
    }
out:
    return rc;
}

/* --- an elastic run --- */

/* Sends a server h, which has no body, and takes its answer BATCH. */
static enum rc ask(struct ps *p, int server, const struct ps_header *h, int timeout_ms, struct ps_header *answer)
{
    const struct ps_header want = { .op = PS_BATCH };
    enum rc rc;

    TRY(ps_post_answer(p, server, 0, NULL, 0));
    TRY(ps_post_request(p, server, 0, h, NULL));
    TRY(ps_end_answer(p, server, 0, &want, timeout_ms, answer));
    TRY(ps_end_request(p, server, 0));
out:
    return ps_abandon(p, rc);
}

/* The first server is the last one: until then, what is pushed is of a batch that this worker has. */
enum rc ps_leave_each(struct ps *p)
{
    const struct ps_header h = { .op = PS_LEAVE, .clock = p->batch };
    struct ps_header answer;
    enum rc rc = RC_OK;

    for (int i = p->base.env.n_servers; i-- > 0;)
        TRY(ask(p, i, &h, p->base.env.timeout_ms, &answer));
out:
    return rc;
}

/* leases.h. However long others take for their batches, the server is not silent. */
enum rc ps_next_batch(struct sync *s, uint64_t *out, bool *is_over)
{
    struct ps *p = (struct ps *)s;
    const struct ps_header h = { .op = PS_NEXT, .clock = p->batch };
    struct ps_header answer = { .clock = p->next - 1 };
    enum rc rc = RC_OK;

    *is_over = false;
    if (p->next == 0)
        TRY(ask(p, 0, &h, WAIT_FOREVER, &answer));
    if (!answer.is_last && answer.clock >= s->env.n_batches)
        FAIL(RC_MISMATCH, "server 0 assigned batch %llu, but there are %llu batches", (unsigned long long)answer.clock,
             (unsigned long long)s->env.n_batches);
    *out = answer.clock;
    *is_over = answer.is_last;
    p->batch = *is_over ? 0 : *out + 1;
    p->next = 0;
out:
    return rc;
}

enum rc ps_join(struct sync *s, float *param, bool *is_over)
{
    struct ps *p = (struct ps *)s;
    const struct ps_header h = { .op = PS_JOIN };
    struct ps_header answer = { .is_last = false };
    enum rc rc = RC_OK;

    *is_over = false;
    for (int i = 0; i < s->env.n_servers && !answer.is_last; i++) /* leases.B9 */
        TRY(ask(p, i, &h, s->env.timeout_ms, &answer));
    p->has_not_joined = *is_over = answer.is_last;
    p->is_joining = true;
    for (size_t k = 0; k < s->env.buckets->n_chunks && !*is_over; k++) {
        const struct chunk_work pull = { k, EXCHANGE_PULL, 0, param, NULL };
        TRY(ps_post(s, &pull));
        TRY(ps_complete(s, param, &(struct chunk_cost){ 0 }));
    }
out:
    p->is_joining = false;
    return rc;
}
