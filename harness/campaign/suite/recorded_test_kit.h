/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded_test_kit.h - the files that a campaign of made-up launches (campaign_test_kit.h) leaves: runs.jsonl, its
 * points in another order in each block, and manifest.json.
 */
#ifndef HARNESS_CAMPAIGN_SUITE_RECORDED_TEST_KIT_H
#define HARNESS_CAMPAIGN_SUITE_RECORDED_TEST_KIT_H

#include "harness/base/suite/printed.h"
#include "harness/campaign/recorded.h"
#include "harness/campaign/suite/campaign_test_kit.h"

struct recorded_kit {           /* what made-up records say of all launches */
    const char *host, *options; /* options: more members of each launch's, ",\"batch\":32" */
    const char *manifest;       /* more members of each manifest: ",\"dataset\":\"digits\"" */
    const char *summary, *rank; /* likewise of each summary, of each rank */
    const char *of_linear;      /* likewise of each summary of model linear */
    double rate_ratio;          /* every throughput times this; 0: 1 */
    int n_ranks_per_host;       /* the second host is HOST-1; 0: there is one */
};

/* The options that a campaign's manifest has; the order of models and modes is that of MADE_CAMPAIGN. */
#define RECORDED_OPTIONS                                                                                  \
    "\"options\":{\"kind\":\"options\",\"model\":\"lenet,linear\",\"mode\":\"none,single,ps,allreduce\"," \
    "\"workers\":\"\",\"launches\":3,\"world\":\"threads\",\"bucket-bytes\":null,\"overlap\":\"auto\"}"
#define RECORDED_MACHINE                                                                                   \
    "\"version\":\"0.1.0\",\"git_commit\":\"0123456789abcdef\",\"git_dirty\":true,\"kernel\":\"Linux 6.1 " \
    "x86_64\",\"cpu_model\":\"A processor\",\"cores_count\":2,\"date_utc\":\"2026-11-22T10:00:00Z\","      \
    "\"libraries\":{\"hwloc\":\"2.9.0\",\"mpi\":null}"

static inline const char *recorded_or(const char *text, const char *instead)
{
    return text ? text : instead;
}

/* The records of one launch, as they are in runs.jsonl; index < 0: of a run, which has none. */
static inline void recorded_launch(FILE *to, const struct made_point *m, int launch, int index,
                                   const struct recorded_kit *k)
{
    char *summary = NULL, mark[64] = "";
    struct made_point scaled = *m;

    scaled.samples_per_s *= k->rate_ratio > 0 ? k->rate_ratio : 1;
    if (index >= 0)
        snprintf(mark, sizeof mark, ",\"launch_index\":%d,\"block_position\":0", index);
    fprintf(to,
            "{\"kind\":\"manifest\",\"options\":{\"kind\":\"options\",\"model\":\"%s\",\"mode\":\"%s\",\"workers\":%d,"
            "\"seed\":%d%s},\"host\":\"%s\"," RECORDED_MACHINE "%s%s}\n",
            m->model, m->mode, m->n_workers, 1 + launch, recorded_or(k->options, ""), recorded_or(k->host, "host0"),
            recorded_or(k->manifest, ""), mark);
    made_steps(to, m, launch, false);
    for (int rank = 0; rank < m->n_workers + m->n_servers; rank++) {
        char nth[16] = "";
        if (k->n_ranks_per_host > 0 && rank >= k->n_ranks_per_host)
            snprintf(nth, sizeof nth, "-%d", rank / k->n_ranks_per_host);
        fprintf(to, "{\"kind\":\"rank\",\"rank\":%d,\"role\":\"%s\",\"host\":\"%s%s\",\"own_cores_count\":0%s%s}\n",
                rank, rank < m->n_workers ? "worker" : "server", recorded_or(k->host, "host0"), nth,
                recorded_or(k->rank, ""), mark);
    }
    struct printed p;
    printed_begin(&p);
    made_summary(p.to, &scaled, launch);
    summary = printed_end(&p);
    fprintf(to, "%.*s,\"steps_count\":3,\"virtual_s\":null%s%s%s}\n", (int)strcspn(summary, "\n") - 1, summary,
            recorded_or(k->summary, ""), strcmp(m->model, "linear") == 0 ? recorded_or(k->of_linear, "") : "", mark);
    free(summary);
}

/* One launch more that failed, in runs.jsonl; more: other members, ",\"is_given_up\":true". */
static inline void recorded_failure(struct kit *kit, const struct made_point *m, const char *message, const char *more)
{
    FILE *to = fopen(kit_path(kit, "runs.jsonl"), "a");

    assert_non_null(to);
    fprintf(to,
            "{\"kind\":\"failure\",\"model\":\"%s\",\"mode\":\"%s\",\"workers\":\"%d\",\"servers_count\":%d,"
            "\"threads_per_worker_count\":1,\"launch_index\":0,\"message\":\"%s\"%s}\n",
            m->model, m->mode, m->n_workers, m->n_servers, message, more);
    assert_int_equal(fclose(to), 0);
}

/* The folder of a campaign of these points: launches by blocks, every second one backwards. */
static inline void recorded_write(struct kit *kit, const struct made_point *point, size_t n_points,
                                  const struct recorded_kit *k)
{
    FILE *to = fopen(kit_path(kit, "runs.jsonl"), "w");

    assert_non_null(to);
    for (int launch = 0; launch < MADE_LAUNCHES; launch++)
        for (size_t i = 0; i < n_points; i++) {
            const struct made_point *m = &point[launch % 2 ? i : n_points - 1 - i];
            if (launch < m->n_launches)
                recorded_launch(to, m, launch, launch, k);
        }
    assert_int_equal(fclose(to), 0);
    to = fopen(kit_path(kit, "manifest.json"), "w");
    assert_non_null(to);
    fprintf(to,
            "{\"kind\":\"campaign\"," RECORDED_OPTIONS ",\"launcher\":null,\"host\":\"%s\"," RECORDED_MACHINE "%s}\n",
            recorded_or(k->host, "host0"), recorded_or(k->manifest, ""));
    assert_int_equal(fclose(to), 0);
}

#endif
