/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_refuse.c - what a server does with messages that it does not take (P5 of wire.h): counts them by reason, says
 * so in a line, at most one a second, and answers; or drops who sends too many.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/server_state.h"

#define LINE_EVERY_NS UINT64_C(1000000000)

enum { LINE_BYTES = 640 };

void server_tell(const struct ps_server *s, const char *line)
{
    if (s->env.tell)
        s->env.tell(s->env.tell_arg, line);
    else
        fprintf(stderr, "gradmark: %s\n", line);
}

void server_count_refused(struct ps_server *s, enum refused why, const char *text)
{
    const uint64_t now_ns = world_now_ns(s->env.world);
    char line[LINE_BYTES], more[64] = "";

    s->facts.refused_count[why]++;
    if (!server_is_holder(s)) /* the holder tells it */
        return;
    if (s->told.last_ns > 0 && now_ns - s->told.last_ns < LINE_EVERY_NS) {
        s->told.n_untold++;
        return;
    }
    if (s->told.n_untold > 0)
        (void)snprintf(more, sizeof more, "; %" PRIu64 " others since the last line", s->told.n_untold);
    (void)snprintf(line, sizeof line, "server %d refused a message (%s): %.400s%s",
                   s->env.world->rank - s->env.n_workers, refused_word(why), text, more);
    server_tell(s, line);
    s->told.last_ns = now_ns > 0 ? now_ns : 1;
    s->told.n_untold = 0;
}

/* Answer that it was not taken; RC_OK too where that is not possible: then the worker is dropped. */
static enum rc answer(struct ps_server *s, int worker, uint32_t slot, enum refused why)
{
    const struct ps_header h = { .op = PS_REFUSED, .why = why };
    enum rc rc;

    TRY(world_check(s->env.world));
    rc = server_end_posted(s, &s->client[worker].refusal, s->env.timeout_ms);
    if (rc == RC_OK)
        rc = server_post_refusal(s, worker, slot < PS_CREDITS ? (int)slot : 0, &h);
    if (rc == RC_OK)
        goto out;
    TRY(world_check(s->env.world));
    rc = server_drop_worker(s, worker);
out:
    return rc;
}

enum rc server_refuse(struct ps_server *s, int worker, uint32_t slot, enum refused why)
{
    struct client *c = &s->client[worker];

    server_count_refused(s, why, rc_message());
    rc_clear();
    if (c->state == LOST)
        return RC_OK;
    if (++c->n_refused < PS_MOST_REFUSED)
        return answer(s, worker, slot, why);
    return server_drop_worker(s, worker);
}
