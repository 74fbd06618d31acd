/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages_mpi_test.c [hosts] - stages on ranks that are processes: each rank is a node, or with "hosts" nodes are the
 * hosts of the launch. A plain program: rank 0 counts what is wrong.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/suite/stage_kit.h"

static int expect(bool is_right, const char *what)
{
    if (!is_right)
        fprintf(stderr, "not so: %s\n", what);
    return !is_right;
}
#define EXPECT(c) expect((c), #c)

static int look(const struct kit_run *run)
{
    const struct acceptance *a = &run->accepted;
    const struct tournament *t = &a->tournament;
    int n_wrong = EXPECT(a->n_nodes >= 1), n_rates = 0;

    n_wrong += EXPECT(t->n_repeats == 2 || a->n_nodes == 1);
    for (int i = 0; i < t->n_repeats; i++)
        for (int from = 0; from < a->n_nodes; from++)
            for (int to = 0; to < a->n_nodes; to++) {
                n_rates += !isnan(*tournament_rate(t, i, from, to));
                n_wrong += EXPECT(from == to || *tournament_latency(t, i, from, to) > 0);
            }
    n_wrong += EXPECT(n_rates <= t->n_repeats * a->n_nodes * (a->n_nodes - 1));
    for (int r = 0; r < a->n_ranks; r++)
        n_wrong += EXPECT(kit_metric(run, METRIC_GEMM, r, 1) > 0 && kit_metric(run, METRIC_DETOUR, r, 1) >= 0);
    for (int i = 0; i < a->n_preflight; i++)
        n_wrong += EXPECT(a->preflight[i].outcome == OUTCOME_PASS && a->preflight[i].node == -1);
    return n_wrong;
}

static void print(const struct acceptance *a)
{
    for (int i = 0; i < a->n_preflight; i++)
        printf("%-16s %s %s\n", a->preflight[i].what, a->preflight[i].value, a->preflight[i].other);
    for (int i = 0; i < a->tournament.n_repeats; i++)
        for (int from = 0; from < a->n_nodes; from++)
            for (int to = 0; to < a->n_nodes; to++)
                printf("%d %s -> %s: %.4g Mbit/s, %.3g us\n", i, a->node[from].name, a->node[to].name,
                       8e-6 * *tournament_rate(&a->tournament, i, from, to),
                       1e6 * *tournament_latency(&a->tournament, i, from, to));
}

int main(int argc, char **argv)
{
    struct kit_run run = { .world = "mpi",
                           .transport = "mpi",
                           .compute = "cpu",
                           .node_per_rank = argc < 2 || strcmp(argv[1], "hosts") != 0,
                           .inject = argc > 2 ? argv[2] : "",
                           .criteria = kit_criteria(),
                           .stage = { stage_preflight, stage_compute, stage_noise, stage_pairwise } };
    int n_wrong = 0;

    run.criteria.least_repeats_count = run.criteria.most_repeats_count = 2;
    if (kit_run_stages(&run) != RC_OK) {
        fprintf(stderr, "%s\n", rc_message());
        return 1;
    }
    if (run.accepted.n_ranks > 0) { /* rank 0 */
        n_wrong = look(&run);
        print(&run.accepted);
    }
    kit_close(&run);
    return n_wrong > 0;
}
