/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_cost.c - what of a chunk's spans lies in those of the waits. */
#include "harness/exchange/exchange_cost.h"

#include <string.h>

void cost_reset(struct cost_account *a)
{
    a->sum = (struct exchange_cost){ 0 };
}

void cost_wait_begin(struct cost_account *a, uint64_t now_ns)
{
    if (a->n_waits == N_WAITS_KEPT)
        memmove(a->wait, a->wait + 1, --a->n_waits * sizeof *a->wait);
    a->wait[a->n_waits++] = (struct span){ .start_ns = now_ns, .end_ns = UINT64_MAX, .what = "wait", .segment = -1 };
}

void cost_wait_end(struct cost_account *a, uint64_t now_ns)
{
    struct span *last = &a->wait[a->n_waits - 1];

    last->end_ns = now_ns;
    a->sum.waited_ns += now_ns - last->start_ns;
}

uint64_t cost_last_wait_ns(const struct cost_account *a, bool is_end)
{
    const struct span *last = &a->wait[a->n_waits - 1];

    return is_end ? last->end_ns : last->start_ns;
}

/* How much of [from, to) lies in waits of the worker. */
static uint64_t exposed_ns(const struct cost_account *a, uint64_t from_ns, uint64_t to_ns)
{
    const struct span work = { .start_ns = from_ns, .end_ns = to_ns };
    const struct span *last = a->n_waits > 0 ? &a->wait[a->n_waits - 1] : NULL;

    if (last && last->start_ns <= from_ns && to_ns <= last->end_ns) /* as always without overlap */
        return to_ns - from_ns;
    return spans_overlap_ns(a->wait, a->n_waits, &work, 1);
}

/* part_ns in the proportion share_ns / whole_ns, rounded down. */
static uint64_t in_proportion(uint64_t part_ns, uint64_t share_ns, uint64_t whole_ns)
{
    if (share_ns >= whole_ns)
        return part_ns;
    return (uint64_t)((double)part_ns * ((double)share_ns / (double)whole_ns));
}

void cost_add_chunk(struct cost_account *a, const struct chunk_times *t, bool updates_at_server)
{
    /* exchange.X2 */
    const uint64_t exchange_ns = t->exchanged_ns - t->start_ns, oldest_ns = t->exchanged_ns - t->oldest_ns;
    const uint64_t exposed = exposed_ns(a, t->oldest_ns, t->exchanged_ns);
    /* Where in the exchange the server waited and updated is not known: of what is exposed it has its share. */
    const uint64_t update_ns = updates_at_server ? in_proportion(t->at_server.apply_ns, exposed, exchange_ns) : 0;
    const uint64_t hidden_update_ns =
        updates_at_server ? in_proportion(t->at_server.apply_ns, oldest_ns, exchange_ns) - update_ns : 0;
    const uint64_t server_ns = in_proportion(t->at_server.server_ns, exposed, exchange_ns);
    const uint64_t held_ns = in_proportion(t->at_server.held_ns, exposed, exchange_ns);
    const uint64_t elsewhere_ns = server_ns + update_ns + held_ns;
    const uint64_t hidden_ns = oldest_ns - exposed;

    a->sum.apply_ns += update_ns + exposed_ns(a, t->update_ns, t->applied_ns);
    a->sum.server_ns += server_ns;
    a->sum.held_ns += held_ns;
    a->sum.exchange_ns += exposed > elsewhere_ns ? exposed - elsewhere_ns : 0;
    a->sum.hidden_ns += hidden_ns > hidden_update_ns ? hidden_ns - hidden_update_ns : 0;
    a->sum.late_count += t->at_server.late_count;
    a->sum.applied_count += t->at_server.applied_count;
    a->sum.refused_count += t->at_server.refused_count;
    a->sum.is_last = a->sum.is_last || t->at_server.is_last;
    if (t->at_server.staleness_count > a->sum.staleness_count)
        a->sum.staleness_count = t->at_server.staleness_count;
    if (t->at_server.lead_count > a->sum.lead_count)
        a->sum.lead_count = t->at_server.lead_count;
}
