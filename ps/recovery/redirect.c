/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redirect.c - a worker whose server was lost: the next server that is not has its slice (replica.h), and gets all that
 * the lost one has not answered, as it was: header, body and slot. What those are in is lent until it is ended, so it
 * is there. The next one may be lost in turn, before or behind that.
 */
#include <stdio.h>

#include "harness/world/world.h"
#include "ps/recovery/heir.h"
#include "ps/worker_state.h"

int ps_holder(const struct ps *p, int server)
{
    return p->base.env.n_workers + p->link[server].holder;
}

enum rc ps_forgive(const struct ps *p, int server, enum rc rc)
{
    const struct sync_env *env = &p->base.env;

    return ps_has_heirs(env) ? world_forgive_loss(env->world, ps_holder(p, server), rc) : rc;
}

/* Who has the slice of this server now, as far as this rank knows; -1: nobody. */
static int next_holder(const struct ps *p, int server)
{
    const struct sync_env *env = &p->base.env;

    return ps_living(env, server);
}

static enum rc post_all(struct ps *p, int server)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < PS_CREDITS; i++)
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
        for (int i = 0; i < PS_CREDITS; i++)
            ps_end_posted(p, &link->slot[i]); /* with an error: transport.T3 */
        const int next = next_holder(p, server);
        if (next < 0)
            FAIL(RC_PEER, "%s", message); /* replica.R9 */
        link->holder = next;
        rc = post_all(p, server);
    }
out:
    return rc;
}
