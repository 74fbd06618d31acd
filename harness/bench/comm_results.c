/* SPDX-License-Identifier: Apache-2.0 */
/* comm_results.c - what comm_bench.h says of its results. */
#include <stdlib.h>

#include "harness/bench/comm_bench.h"

void comm_results_close(struct comm_results *r)
{
    free(r->row);
    *r = (struct comm_results){ .row = NULL };
}

const struct comm_row *comm_results_ceiling(const struct comm_results *r, size_t n_bytes)
{
    for (int i = 0; i < r->n_rows; i++)
        if (r->has_ceiling && r->row[i].n_bytes == n_bytes && r->row[i].lane == r->n_lanes)
            return &r->row[i];
    return NULL;
}

double comm_results_bus_factor(const struct comm_results *r, enum comm_type type, const struct comm_row *row)
{
    const double factor = comm_bus_factor(type, r->n_ranks);

    if (row->lane < r->n_lanes || r->ceiling != COMM_LANE_EXCHANGE)
        return factor;
    return r->n_link_streams * factor / comm_bus_factor(type, r->n_hosts);
}

enum comm_placement comm_row_main(const struct comm_row *row)
{
    return row->figure[COMM_IN_PLACE].n_repeats > 0 ? COMM_IN_PLACE : COMM_OUT_OF_PLACE;
}
