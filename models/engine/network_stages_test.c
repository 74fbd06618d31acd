/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_stages_test.c - networks cut into stages (models.U1 to U3), and the order of a stage's work (models.P1 and
 * P2).
 *
 * usage: network_stages_test
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "models/engine/program.h"
#include "models/engine/stage.h"
#include "models/suite/network_fixture.h"

static struct network *open_whole(const struct variant *v)
{
    struct network *n = NULL;

    assert_int_equal(network_open(&n, v->workload->network, &v->opts), RC_OK);
    return n;
}

static const char *workload_name(const struct variant *v)
{
    return v->workload->module.name;
}

/* --- models.U1, U3 --- */

/* Counted by hand: a cut behind each of so many nodes, or groups of nodes, with parameters. */
UNIT_TEST(most_stages_are_known)
{
    static const struct {
        const char *name;
        int most;
    } known[] = { { "lenet", 4 }, { "alexnet", 8 }, { "vgg16", 16 } }; /* each layer; resnet8: stem, 3 blocks, dense */

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct network *n = open_whole(network_variant_find(known[i].name));
        if (network_most_stages(n) != known[i].most)
            fail_msg("%s can have %d stages", known[i].name, network_most_stages(n));
        network_close(&n);
    }
    struct network *n = open_whole(network_variant_find("resnet8"));
    assert_int_equal(network_most_stages(n), 5); /* stem, three blocks, dense: no cut beside a shortcut */
    network_close(&n);
}

/* The least that the most expensive of n_stages from node `first` on can cost, by trying all cuts that open_stage can
 * make one by one. */
static double least_cost(const struct network *n, const double *cost, int first, int n_stages, const bool *is_place)
{
    double best = DBL_MAX, sum = 0.0;
    bool has_params = false;

    for (int end = first + 1; end <= n->n_nodes; end++) {
        sum += cost[end - 1];
        has_params |= n->node[end - 1].weight.n_elems > 0;
        if (!has_params || (end < n->n_nodes && !is_place[end]))
            continue;
        double rest = 0.0;
        if (n_stages == 1 ? end < n->n_nodes : end == n->n_nodes)
            continue;
        if (n_stages > 1)
            rest = least_cost(n, cost, end, n_stages - 1, is_place);
        const double most = sum > rest ? sum : rest;
        best = most < best ? most : best;
    }
    return best;
}

static double cost_of(const struct network_stages *s, const double *cost)
{
    double most = 0.0;

    for (int i = 0; i < s->n_stages; i++) {
        double sum = 0.0;
        for (int k = i > 0 ? s->end[i - 1] : 0; k < s->end[i]; k++)
            sum += cost[k];
        most = sum > most ? sum : most;
    }
    return most;
}

/* The places of cuts, as those of two stages show them: a cost that is all in front of a place is best cut there. */
static void find_places(const struct network *n, bool *is_place)
{
    struct network_stages s;
    double *cost = calloc((size_t)n->n_nodes, sizeof *cost);

    assert_non_null(cost);
    for (int c = 1; c < n->n_nodes; c++) {
        for (int i = 0; i < n->n_nodes; i++)
            cost[i] = i == c - 1 || i == c ? 1.0 : 0.0; /* cut between the two: 1, elsewhere: 2 */
        assert_int_equal(network_balance(&s, n, cost, 2), RC_OK);
        is_place[c] = s.end[0] == c;
    }
    free(cost);
}

UNIT_TEST(the_balance_is_the_best)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++) {
        struct network *n = open_whole(v);
        const int most = network_most_stages(n);
        double *cost = calloc((size_t)n->n_nodes, sizeof *cost);
        bool *is_place = calloc((size_t)n->n_nodes + 1, sizeof *is_place);
        assert_non_null(cost);
        assert_non_null(is_place);
        if (most > 1)
            find_places(n, is_place);
        for (int way = 0; way < 2; way++) {
            network_flops_of_nodes(n, cost);
            for (int i = 0; way == 1 && i < n->n_nodes; i++)
                cost[i] = (double)((i * 7919 + 13) % 31);
            for (int n_stages = 1; n_stages <= most && n_stages <= 4; n_stages++) {
                struct network_stages s;
                assert_int_equal(network_balance(&s, n, cost, n_stages), RC_OK);
                assert_int_equal(s.end[n_stages - 1], n->n_nodes);
                const double want = least_cost(n, cost, 0, n_stages, is_place);
                if (cost_of(&s, cost) != want)
                    fail_msg("%s in %d stages: %g, not %g", workload_name(v), n_stages, cost_of(&s, cost), want);
            }
        }
        struct network_stages s;
        assert_int_equal(network_balance(&s, n, cost, most + 1), RC_INVAL);
        assert_int_equal(network_balance(&s, n, cost, 0), RC_INVAL);
        free(cost);
        free(is_place);
        network_close(&n);
    }
}

/* --- models.U2 --- */

/* Parameters, names, state and initial values of stages, one behind the other, are the network's. */
UNIT_TEST(stages_are_the_network)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++) {
        struct network *n = open_whole(v);
        double *cost = calloc((size_t)n->n_nodes, sizeof *cost);
        float *whole = calloc(n->n_params, sizeof *whole), *part = calloc(n->n_params, sizeof *part);
        assert_true(cost && whole && part);
        network_flops_of_nodes(n, cost);
        network_init(n, 3, whole, NULL);
        for (int n_stages = 1; n_stages <= network_most_stages(n); n_stages++) {
            struct network_stages s;
            size_t n_params = 0, n_state = 0;
            int n_segments = 0, n_nodes = 0;
            assert_int_equal(network_balance(&s, n, cost, n_stages), RC_OK);
            for (int i = 0; i < n_stages; i++) {
                struct network *stage = NULL;
                assert_int_equal(network_open_stage(&stage, n, &s, i), RC_OK);
                assert_int_equal(stage->first_param, n_params);
                assert_int_equal(stage->first_state, n_state);
                assert_int_equal(stage->first_node, n_nodes);
                assert_int_equal(stage->in_elems > 0, i > 0);
                assert_int_equal(stage->out_node != NODE_NONE, i + 1 < n_stages);
                for (int k = 0; k < stage->n_segments; k++) {
                    assert_int_equal(stage->segment[k].offset_elems + n_params,
                                     n->segment[n_segments + k].offset_elems);
                    assert_int_equal(stage->segment[k].n_elems, n->segment[n_segments + k].n_elems);
                    assert_string_equal(stage->segment_name[k], n->segment_name[n_segments + k]);
                }
                struct program program = { 0 };
                assert_int_equal(program_open(&program, stage, true), RC_OK); /* each can be trained */
                program_close(&program);
                network_init(stage, 3, part, NULL);
                assert_memory_equal(part, whole + n_params, stage->n_params * sizeof *part);
                n_params += stage->n_params;
                n_state += stage->n_state;
                n_segments += stage->n_segments;
                n_nodes += stage->n_nodes;
                network_close(&stage);
            }
            assert_int_equal(n_params, n->n_params);
            assert_int_equal(n_state, n->n_state);
            assert_int_equal(n_segments, n->n_segments);
            assert_int_equal(n_nodes, n->n_nodes);
        }
        free(cost);
        free(whole);
        free(part);
        network_close(&n);
    }
}

/* --- the order of the work --- */

enum { MOST_STAGES = 5, MOST_PARTS = 9, FORWARD = 1, BACKWARD = 2 };

/* When all is done, where every stage does its actions in order, each as soon as what it needs is there. */
static int makespan(enum stage_schedule schedule, int n_stages, size_t n_parts)
{
    int ended[2][MOST_STAGES][MOST_PARTS] = { { { 0 } } }, free_at[MOST_STAGES] = { 0 }, last = 0;
    size_t next[MOST_STAGES] = { 0 }, n_left = 2 * n_parts * (size_t)n_stages;

    while (n_left > 0) {
        const size_t n_before = n_left;
        for (int s = 0; s < n_stages; s++) {
            if (next[s] == 2 * n_parts)
                continue;
            const struct stage_action a = stage_action_at(schedule, s, n_stages, n_parts, next[s]);
            const bool back = a.is_backward;
            const int from = back ? s + 1 : s - 1;
            const bool waits = from >= 0 && from < n_stages;
            if (waits && ended[back][from][a.micro_batch] == 0)
                continue;
            int at = free_at[s];
            if (waits && ended[back][from][a.micro_batch] > at)
                at = ended[back][from][a.micro_batch];
            ended[back][s][a.micro_batch] = free_at[s] = at + (back ? BACKWARD : FORWARD);
            last = free_at[s] > last ? free_at[s] : last;
            next[s]++;
            n_left--;
        }
        assert_true(n_left < n_before); /* else all wait for another */
    }
    return last;
}

/* Each micro-batch once each way, in order (models.P1), and no more held than is said (models.P2). */
static void check_order(enum stage_schedule schedule, int s, int n_stages, size_t n_parts)
{
    size_t n_forward = 0, n_backward = 0, most = 0;

    for (size_t i = 0; i < 2 * n_parts; i++) {
        const struct stage_action a = stage_action_at(schedule, s, n_stages, n_parts, i);
        assert_int_equal(a.micro_batch, a.is_backward ? n_backward : n_forward);
        n_forward += !a.is_backward;
        most = n_forward - n_backward > most ? n_forward - n_backward : most;
        n_backward += a.is_backward;
        assert_true(n_backward <= n_forward);
    }
    assert_true(n_forward == n_parts && n_backward == n_parts);
    assert_int_equal(most, stage_held(schedule, s, n_stages, n_parts));
    if (schedule == SCHEDULE_1F1B)
        assert_true(most <= (size_t)(n_stages - s));
}

UNIT_TEST(schedules_are_in_order_and_as_fast_as_can_be)
{
    for (int n_stages = 1; n_stages <= MOST_STAGES; n_stages++)
        for (size_t n_parts = 1; n_parts <= MOST_PARTS; n_parts++) {
            const int best = ((int)n_parts + n_stages - 1) * (FORWARD + BACKWARD);
            for (int s = 0; s < n_stages; s++) {
                check_order(SCHEDULE_GPIPE, s, n_stages, n_parts);
                check_order(SCHEDULE_1F1B, s, n_stages, n_parts);
            }
            assert_int_equal(makespan(SCHEDULE_GPIPE, n_stages, n_parts), best);
            assert_int_equal(makespan(SCHEDULE_1F1B, n_stages, n_parts), best);
        }
}

UNIT_MAIN("network_stages")
