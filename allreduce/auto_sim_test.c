/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto_sim_test.c - what "auto" chooses on a simulated cluster, and why it says so: values that follow from the
 * description.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/rates.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { MAX_ELEMS = 1 << 24, TIMEOUT_MS = 60000 };

struct look { /* at a call, by every rank */
    size_t n_elems;
    char chosen[32], why[512]; /* of rank 0 */
    int n_others;              /* ranks that chose otherwise */
};

static enum rc look_at(struct world *w, void *arg)
{
    struct look *look = arg;
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = look->n_elems };
    const struct transport_ops *sim = NULL;
    const struct compute_backend *hollow = NULL;
    const struct collective_ops *automatic = NULL;
    struct transport *t = NULL;
    struct compute *c = NULL;
    struct collective *collective = NULL;
    enum rc rc;

    TRY(transport_find(&sim, "sim"));
    TRY(compute_find(&hollow, "hollow"));
    TRY(collective_find(&automatic, &collective_kind, "auto"));
    TRY(transport_open(&t, sim, w));
    TRY(compute_open(&c, hollow, &(struct compute_env){ 0 }));
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = t,
                                        .compute = c,
                                        .timeout_ms = TIMEOUT_MS,
                                        .types = COLL_ALLREDUCE,
                                        .max_elems = MAX_ELEMS };
    TRY(collective_open(&collective, automatic, &env));
    const char *name = collective_chosen(collective, &call)->module.name;
    if (w->rank == 0) {
        snprintf(look->chosen, sizeof look->chosen, "%s", name);
        collective_explain(collective, &call, look->why, sizeof look->why);
    }
    TRY(world_barrier(w));
    look->n_others += strcmp(name, look->chosen) != 0;
    TRY(collective_run(collective, &call, NULL)); /* what was chosen can run */
out:
    transport_close(&t);
    collective_close(&collective);
    compute_close(&c);
    return rc;
}

static struct look looked(int n_ranks, size_t n_elems, const char *settings)
{
    struct look look = { .n_elems = n_elems };
    const struct world_ops *sim = NULL;
    struct cluster cluster;

    cluster_default(&cluster);
    assert_int_equal(cluster_set(&cluster, NULL, settings), RC_OK);
    const struct world_opts opts = { .cluster = &cluster };
    assert_int_equal(world_find(&sim, "sim"), RC_OK);
    assert_int_equal(world_run(sim, &opts, n_ranks, look_at, &look), RC_OK);
    assert_int_equal(look.n_others, 0);
    return look;
}

UNIT_TEST(the_cheapest_is_chosen)
{
#define LINKS "link_bits_per_s=1e9,link_latency_s=50e-6,memory_bytes_per_s=1e10"
    static const struct {
        int n_ranks;
        size_t n_elems;
        const char *settings, *chosen, *why, *and_why;
    } of[] = {
        /* Many bytes go around the ring, of 6 ranks in 10 messages of a sixth, which are added in three segments:
         * 10 x (50 us + 16/6 MB / 125 MB/s) + 8 / 3 MB / 10 GB/s */
        { 6, 4000000, LINKS, "ring", "ring for 16000000 bytes: 2.14e+05 us expected",
          "of 50 us a message, 0 us each other one, 0.125 GB/s a link, 10 GB/s memory, 0 us a meeting" },
        /* With 4 ranks there are as many bytes in 4 messages as in the ring's 6: 4 x 50 us + 24 MB / 125 MB/s, and 3 x
         * 12 MB / 10 GB/s to add; but the ring adds while it sends.
         * Regression: it took as long as with whole chunks, and halving-doubling was chosen, 3 to 20 % slower. */
        { 4, 4000000, LINKS, "ring", "ring for 16000000 bytes: 1.93e+05 us expected",
          "(halving-doubling: 1.96e+05 us)" },
        /* A chunk of 1 MB is not cut. 4 x 50 us + 6 MB / 125 MB/s + 9 MB / 10 GB/s */
        { 4, 1000000, LINKS, "halving-doubling", "halving-doubling for 4000000 bytes: 4.91e+04 us expected",
          "(ring: 4.92e+04 us)" },
        /* Few bytes climb a tree, with 6 ranks in 4 latencies, where halving and doubling have 6. */
        { 6, 1, LINKS, "tree", "tree for 4 bytes: 200 us expected", "(halving-doubling: 300 us)" },
        /* An empty call takes nobody any time, the ring first of all. */
        { 4, 0, LINKS, "ring", "", "" },
        /* Ranks that share a host have its memory: 8 arrays of 4 MB, each a quarter, read or written. */
        { 4, 4000000, LINKS ",ranks_per_host_count=4", "shm", "shm for 16000000 bytes: 3.2e+03 us expected", "" },
        /* Several hosts sum in theirs first. */
        { 4, 4000000, LINKS ",ranks_per_host_count=2", "hierarchical", "", "(halving-doubling: 1.96e+05 us)" },
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct look look = looked(of[i].n_ranks, of[i].n_elems, of[i].settings);
        assert_string_equal(look.chosen, of[i].chosen);
        if (!strstr(look.why, of[i].why) || !strstr(look.why, of[i].and_why))
            fail_msg("case %zu: \"%s\"", i, look.why);
    }
}

UNIT_TEST(times_follow_from_rates)
{
    const struct rates rates = { .alpha_s = 1e-3, .bytes_per_s = 100, .memory_bytes_per_s = 1000, .meeting_s = 0.25 };
    const struct collective_cost cost = { .msgs = 3, .bytes = 50, .adds = 7, .memory_bytes = 2000, .meetings = 2 };

    assert_true(fabs(rates_time_s(&rates, &cost, 9) - (0.003 + 0.5 + 2 + 0.5)) < 1e-12);
    /* 0.25 of 0.5 s on the link, and 1.5 of 2 s in memory, at the same time. */
    struct rates both = rates;
    struct collective_cost beside = cost;
    beside.beside_bytes = 25;
    beside.beside_memory_bytes = 1500;
    assert_true(fabs(rates_time_s(&both, &beside, 9) - (0.003 + 0.5 + 2 + 0.5)) < 1e-12);
    both.adds_meanwhile = true;
    assert_true(fabs(rates_time_s(&both, &beside, 9) - (0.003 + 0.25 + 2 + 0.5)) < 1e-12);
    struct rates crowded = rates;
    crowded.other_s = 0.25;
    assert_true(fabs(rates_time_s(&crowded, &cost, 4) - (0.003 + 1 + 0.5 + 2 + 0.5)) < 1e-12);
}

/* Of 6 ranks at once an exchange takes 70 us, of two 30: each message more takes 10, and one alone takes 20. */
UNIT_TEST(other_messages_cost_what_all_take_longer)
{
    struct rates rates = { .bytes_per_s = 1 };

    rates_of_messages(&rates, 70e-6, 30e-6, 6);
    assert_true(fabs(rates.alpha_s - 20e-6) < 1e-12 && fabs(rates.other_s - 10e-6) < 1e-12);
    rates_of_messages(&rates, 30e-6, 31e-6, 6); /* nobody is in the way of another */
    assert_true(rates.alpha_s == 30e-6 && rates.other_s == 0);
    rates_of_messages(&rates, 30e-6, NAN, 2);
    assert_true(rates.alpha_s == 30e-6 && rates.other_s == 0);
    rates_of_messages(&rates, 500e-6, 10e-6, 4); /* no message takes less than nothing */
    assert_true(rates.alpha_s == 0 && rates.other_s == 10e-6);
}

/* Of 4 workers and 10^6 floats tree needs 4 x 10^6 bytes; of half as many hierarchical 4 (500000 / 2 + 1), of a quarter
 * halving-doubling 4 x 250000 / 2, of an eighth ring 4 (125000 / 4 + 1): no two are for the longest calls. */
UNIT_TEST(memory_is_that_of_lengths_that_halve)
{
    const struct job_facts facts = { .n_workers = 4, .n_params = 1000000 };
    const struct collective_ops *automatic = NULL;

    assert_int_equal(collective_find(&automatic, &collective_kind, "auto"), RC_OK);
    const struct memory_need need = automatic->module.memory(NULL, &facts);
    assert_int_equal(need.worker_bytes, 4000000 + 1000004 + 500000 + 125004);
    assert_int_equal(need.rank_0_bytes, 4 * 4096); /* of root, for few bytes alone */
}

UNIT_MAIN("auto_sim")
