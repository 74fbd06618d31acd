/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redirect.c - a worker whose server was lost: the server's heir has its slice (replica.h), and gets all that the lost
 * one has not answered, as it was: header, body and slot. What those are in is lent until it is ended, so it is there.
 */
#include <stdio.h>

#include "harness/world/world.h"
#include "ps/heir.h"
#include "ps/worker_state.h"

int ps_holder(const struct ps *p, int server)
{
    const struct sync_env *env = &p->base.env;

    return env->n_workers + (p->link[server].is_redirected ? ps_heir(server, env->n_servers) : server);
}

/* Is the rank lost that has the slice of this server, and there are replicas? */
static bool is_lost(const struct ps *p, int server)
{
    return ps_has_heirs(&p->base.env) && world_is_lost(p->base.env.world, ps_holder(p, server));
}

enum rc ps_forgive(const struct ps *p, int server, enum rc rc)
{
    const struct sync_env *env = &p->base.env;

    return ps_has_heirs(env) ? ps_forgive_loss(env->world, ps_holder(p, server), rc) : rc;
}

enum rc ps_redirect(struct ps *p, int server, enum rc rc)
{
    struct link *link = &p->link[server];
    char message[RC_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message, "%s", rc_message());
    if (link->is_redirected)
        return rc;
    TRY(ps_forgive(p, server, rc));
    for (int i = 0; i < PS_CREDITS; i++)
        ps_end_posted(p, &link->slot[i]); /* with an error: transport.T3 */
    link->is_redirected = true;
    if (is_lost(p, server))
        FAIL(RC_PEER, "%s", message); /* replica.R9 */
    for (int i = 0; i < PS_CREDITS; i++)
        TRY(ps_post_slot(p, server, i));
out:
    return rc;
}
