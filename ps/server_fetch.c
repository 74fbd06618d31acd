/* SPDX-License-Identifier: Apache-2.0 */
/* server_fetch.c - what a server has, to worker 0: when it asks in the run (LOOK), and at its end (FETCH). */
#include "ps/server_state.h"

/* Of the piece that has had the fewest, of those that are here. */
static uint64_t least_updates(const struct ps_server *s)
{
    uint64_t n_least = UINT64_MAX;

    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        if (s->piece[k].part.n_elems > 0 && s->piece[k].clock < n_least)
            n_least = s->piece[k].clock;
    return s->n_updates_before + (n_least == UINT64_MAX ? 0 : n_least);
}

enum rc server_post_state(struct ps_server *s)
{
    const size_t n_elems = s->n_elems;
    const struct ps_header h = { .op = PS_STATE,
                                 .n_elems = (uint32_t)n_elems,
                                 .clock = least_updates(s),
                                 .n_moments = (uint32_t)optimizer_n_moments(&s->env.optimizer) };
    enum rc rc;

    TRY(server_end_reply(s, &s->client[0].request[0]));
    if (s->param) {
        server_gather(s, s->state);
        TRY(optimizer_moments(&s->optimizer, s->state + n_elems));
    }
    TRY(server_post_reply(s, 0, 0, &h, s->state));
out:
    return rc;
}

bool server_fetch_is_due(const struct ps_server *s)
{
    return s->client[0].state == FETCHING && s->n_left >= s->n_seen - 1 && !s->client[0].request[0].is_silent;
}

enum rc server_answer_fetch(struct ps_server *s)
{
    enum rc rc = RC_OK;

    if (!server_fetch_is_due(s))
        return RC_OK;
    TRY(server_post_state(s));
    s->client[0].state = LEFT;
    s->n_left++;
out:
    return rc;
}
