/* SPDX-License-Identifier: Apache-2.0 */
/* standby.c - what a server does when another one is lost: it goes on alone, takes its place, or makes a new heir;
 * see replica.h. */
#include <stdio.h>

#include "harness/world/world.h"
#include "ps/recovery/copy.h"
#include "ps/recovery/elastic.h"
#include "ps/recovery/replica.h"

static bool heir_is_due(const struct ps_server *s)
{
    return s->recovery->chain.is_on && world_is_lost(s->env.world, s->recovery->chain.heir);
}

static bool holder_is_due(const struct ps_server *s)
{
    return !server_is_holder(s) && world_is_lost(s->env.world, s->recovery->chain.home);
}

/* Whom a holder that has no heir makes one; -1: nobody. R8: nor once it has given its own final state, as others may
 * have ended then. */
static int new_heir(const struct ps_server *s)
{
    const int own = s->env.world->rank - s->env.n_workers;
    const bool is_needed = s->env.n_replicas > 0 && s->rank->client[0].state != LEFT;
    const bool has_none = is_needed && server_is_holder(s) && !s->recovery->chain.is_on;
    const int next = has_none ? ps_living(&s->env, ps_heir(own, s->env.n_servers)) : -1;

    return next == own ? -1 : next;
}

bool replica_is_due(const struct ps_server *s)
{
    if (world_lost_rank(s->env.world) < 0)
        return false;
    for (int i = 0; i < s->n_here; i++)
        if (heir_is_due(s->here[i]) || holder_is_due(s->here[i]) || new_heir(s->here[i]) >= 0)
            return true;
    return false;
}

/* The replica is the slice from now on. */
static enum rc take_place(struct ps_server *r)
{
    const struct ps_server *own = r->rank;
    const int from = r->recovery->chain.home - r->env.n_workers;
    char line[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

    TRY(server_open_versions(r));
    replica_end_held(r, DO_NOT_WAIT);
    r->role = SLICE_TAKEN;
    for (int w = 0; w < sync_most_workers(&r->env); w++) {
        if (r->client[w].state != LOST && world_is_lost(r->env.world, sync_rank_of(&r->env, w)))
            server_drop_now(r, w);
        else if (own->recovery->worker[w].has_left_all) /* R8 */
            TRY(replica_leave(r, w));
    }
    TRY(server_settle_all(r));
    (void)snprintf(line, sizeof line, "server %d takes the place of server %d, which is lost%s", own->slice, from,
                   from != r->slice ? ", of what that held" : "");
    server_tell(own, line);
out:
    return rc;
}

/* R9: the servers before this one that are lost, and the holder of whose slices this one would be. */
static enum rc check_slices(const struct ps_server *s)
{
    const struct sync_env *env = &s->env;
    const int own = s->slice, n = env->n_servers;
    char line[RC_MESSAGE_BYTES];

    for (int i = ps_home(own, n); i != own && world_is_lost(env->world, env->n_workers + i); i = ps_home(i, n)) {
        const struct ps_server *here = server_of_slice(s, i);
        if (here && here->role != SLICE_PARTIAL)
            continue;
        (void)snprintf(line, sizeof line,
                       "the parameters of server %d are lost: who held them was lost before server %d had a whole "
                       "replica of them",
                       i, own);
        server_tell(s, line);
        return rc_raise(RC_PEER, "%s", line);
    }
    return RC_OK;
}

static enum rc look_at(struct ps_server *s)
{
    enum rc rc = s->recovery->chain.error;

    if (rc != RC_OK)
        return rc_raise(rc, "server %d: what it has forwarded is not released by its heir, which lives", s->slice);
    if (heir_is_due(s))
        TRY(replica_go_on_alone(s));
    if (holder_is_due(s))
        TRY(take_place(s));
    const int next = new_heir(s);
    if (next < 0)
        goto out;
    TRY(server_settle_all(s));
    TRY(server_answer_next(s)); /* copy.Y1 */
    TRY(copy_begin(s, next));
out:
    return rc;
}

enum rc replica_look(struct ps_server *s)
{
    const bool has_lost = world_lost_rank(s->env.world) >= 0;
    enum rc rc = RC_OK;

    if (has_lost && s->env.n_replicas > 0)
        TRY(check_slices(s));
    for (int i = 0; i < s->n_here; i++)
        if (has_lost || s->here[i]->recovery->chain.error != RC_OK)
            TRY(look_at(s->here[i]));
out:
    return rc;
}
