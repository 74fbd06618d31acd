/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_kit.c - made-up stamps, and what follows from them.
 *
 * made_ps, times in ms from the origin of the clock, batch 7:
 *   worker 0 starts at 1000, 12 steps of 10: gradient 6, queue at the server 1, update 0.5, wire 2, rest 0.5
 *   worker 1 starts at 1005, 12 steps of 15: gradient 9, queue at the server 2, update 1, wire 2, rest 1
 *   all train from 1005 to 1120. Of the completions in that time (1010, 1020, 1020, 1030, 1035, 1040, 1050, 1050,
 *   1060, 1065, 1070, 1080, 1080, 1090, 1095, 1100, 1110, 1110, 1120) every second ends a round: 9 rounds of 15, 10,
 *   10, 10, 15, 15, 10, 10, 10, on average 105 / 9, in which 14 samples are seen: 1200 samples/s.
 *   Steps that ended in the rounds: 11 of worker 0, 7 of worker 1.
 *   Loss: 21 in the first three completions, 1 afterwards. Means of the latest 20 completions: 4 after completion 20,
 *   3 after 21, 2 after 22, which is worker 1's at 1155: 155 after the first start, 154 samples.
 *
 * made_allreduce, batch 8: worker w has its gradient after 4 + w, exchanges for 4.75 - w and updates for 1; all end the
 * step together after 10, in each of the first 5 steps after 50.
 *
 * made_single, batch 8: steps of 14, 16 and 18: gradient 10, 11 and 12, update 2.
 */
#include "harness/train/suite/result_kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/exchange/collective.h"
#include "harness/report/suite/report_kit.h"
#include "models/replay/profile.h"

enum { US = 1000 };

static const struct world_ops VIRTUAL = { .module = { .name = "sim",
                                                      .caps = WORLD_SHARED_MEMORY | WORLD_VIRTUAL_TIME } };
static struct dataset line = { .name = "line", .n_train = 1000, .n_test = 10 };
static struct dataset images = { .name = "digits", .n_train = 1438, .n_test = 359 };
static struct profile recorded = { .model = "vgg16",
                                   .precision = "bf16",
                                   .device = "a device",
                                   .source = "measured by hand",
                                   .batch = 8,
                                   .image_size = 224 };
static float line_params[] = { 1.5f, -0.25f };

static const struct sync_mode *mode_named(const char *name)
{
    const struct module *m = NULL;

    assert_int_equal(module_find(&m, &mode_kind, name), RC_OK);
    return (const struct sync_mode *)m;
}

/* Options at their defaults, then those of this run. */
static void make_job(struct train_job *job, const char *mode, const char *world, const char *model, int n_workers,
                     int n_servers)
{
    struct opt_group group[TRAIN_MAX_OPT_GROUPS];

    *job = (struct train_job){ .n_workers = n_workers, .n_servers = n_servers, .n_ranks = n_workers + n_servers };
    const int n_groups = train_opt_groups(group, &job->opts);
    assert_int_equal(opt_parse(group, n_groups, train_opt_rules, 0, NULL), RC_OK);
    job->opts.mode = mode;
    job->opts.world = world;
    job->opts.model = model;
    job->opts.workers = (uint64_t)n_workers;
    job->opts.servers = (uint64_t)n_servers;
    job->mode = mode_named(mode);
    assert_non_null(job->mode);
    assert_int_equal(workload_find(&job->workload, model), RC_OK);
    job->compute = &compute_cpu;
    if (strcmp(world, "sim") == 0)
        job->world = &VIRTUAL;
    else
        assert_int_equal(world_find(&job->world, world), RC_OK);
}

static void make_result(struct train_result *r, const struct train_job *job)
{
    *r = (struct train_result){ .n_workers = job->n_workers,
                                .n_ranks = job->n_ranks,
                                .n_steps = job->n_steps,
                                .evaluation = { NAN, NAN },
                                .data_wait_s = NAN,
                                .peak_rss_bytes = NAN };
    r->stamp = calloc((size_t)job->n_workers * job->n_steps, sizeof *r->stamp);
    r->lr = calloc(job->n_steps, sizeof *r->lr);
    r->rank = calloc((size_t)job->n_ranks, sizeof *r->rank);
    assert_true(r->stamp && r->lr && r->rank);
    for (int i = 0; i < job->n_ranks; i++)
        r->rank[i].number = i;
    for (size_t step = 0; step < job->n_steps; step++)
        r->lr[step] = 0.5f + 0.25f * (float)step;
}

/* 12 steps of one worker of made_ps, one after the other. */
static void stamp_ps(struct step_stamp *s, uint64_t start_us, uint64_t step_us, uint64_t gradient_us,
                     uint64_t server_us, uint64_t apply_us)
{
    for (uint64_t t = 0; t < 12; t++) {
        const uint64_t at_us = start_us + t * step_us;
        s[t] = (struct step_stamp){ .start_ns = at_us * US,
                                    .ready_ns = (at_us + gradient_us) * US,
                                    .end_ns = (at_us + step_us) * US,
                                    .server_ns = server_us * US,
                                    .apply_ns = apply_us * US,
                                    .exchange_ns = 2000 * US,
                                    .hidden_ns = 500 * US,
                                    .loss = 1 };
    }
}

void made_ps(struct made_run *out)
{
    struct train_job *job = &out->job;
    struct train_result *r = &out->result;

    make_job(job, "ps", "threads", "linear", 2, 1);
    job->opts.transport = "zmq";
    job->opts.batch = 7;
    job->opts.steps = 112;
    job->opts.record_every = 5;
    job->opts.target_loss = 2.5;
    job->opts.lr = 0.5;
    job->opts.momentum = 0.25;
    job->schedule = (struct schedule){ .lr = 0.5, .factor = 1 };
    job->opts.resume = "earlier";
    job->dataset = &line;
    job->n_params = 2;
    job->exchange.placement.kind = PLACEMENT_WHOLE;
    job->exchange.consistency = (struct consistency){ CONSISTENCY_SSP, 1 };
    job->exchange.n_replicas = 1;
    job->exchange.lr_staleness = LR_STALENESS_INVERSE;
    job->exchange.buckets.partition_bytes = 65536;
    job->hot_spot = (struct hot_spot){ 0, 2, 1, 1, 1 };
    strcpy(job->hot_tensor, "fc6/w");
    job->n_state = 6;
    job->flops_per_sample = 8;
    job->resume = (struct checkpoint){ .steps_count = 100, .samples_count = 5000 };
    job->n_steps = 12;
    job->memory = (struct train_memory){ 1000, 2000, 3000, 4000, 50000, 600000 };
    make_result(r, job);
    stamp_ps(r->stamp, 1000000, 10000, 6000, 1000, 500);
    stamp_ps(r->stamp + 12, 1005000, 15000, 9000, 2000, 1000);
    r->stamp[0].loss = r->stamp[1].loss = r->stamp[12].loss = 21;
    for (uint32_t t = 0; t < 12; t++) { /* 0 1 2 0 1 2 ...; 2 2 2 2 2 4 2 ... */
        r->stamp[t].staleness_count = t % 3;
        r->stamp[12 + t].staleness_count = t == 5 ? 4 : 2;
    }
    r->stamp[3].late_count = 2;
    for (int i = 0; i < 3; i++)
        r->rank[i] = (struct train_rank_info){ .number = i, .own_cores_count = i < 2 ? 2 + i : 0 };
    for (int i = 0; i < 2; i++) {
        r->rank[i].steps_count = 12 + (uint64_t)i;
        r->rank[i].counts = (struct period_counts){ .n_pushes = 7 + (uint64_t)i, .n_pulls = 5, .n_both = 3 };
    }
    r->rank[0].served.lead_max_count = 3;
    r->rank[2].served = (struct server_facts){ .pushes_count = { 3, 0, 5 },
                                               .late_count = 4,
                                               .lead_max_count = 6,
                                               .n_taken_over = 1,
                                               .n_alone = 1,
                                               .copies_count = 2,
                                               .copied_bytes = 3000,
                                               .replicated_count = 4,
                                               .replicate_ns = 2000000,
                                               .refused_count = { [REFUSED_NOT_FINITE] = 2, [REFUSED_STRANGER] = 1 } };
    (void)snprintf(r->rank[0].encryption, sizeof r->rank[0].encryption, "curve");
    r->rank[0].memory = (struct exchange_memory_facts){ MEMORY_PRIVATE, true, PAGES_TRANSPARENT, "", "" };
    r->rank[1].memory = (struct exchange_memory_facts){ MEMORY_SHARED, true, PAGES_HUGETLB, "file", "no memfd" };
    snprintf(r->rank[1].mpi_level, sizeof r->rank[1].mpi_level, "MPI_THREAD_FUNNELED");
    strcpy(r->rank[0].host, "first");
    strcpy(r->rank[1].host, "second");
    strcpy(r->rank[2].host, "third");
    r->limits =
        (struct train_limits){ .baseline_step_s = 0.00875, .compute_s = 0.008, .wire_s = 0.007, .server_s = 0.01 };
    r->limits_after = (struct train_limits){ .compute_s = 0.0075, .wire_s = 0.0072, .server_s = 0.0104 };
    r->has_limits_after = true;
    r->evaluation = (struct evaluation){ 0.75, 0.96875 };
    r->data_wait_s = 0.0003;
    r->peak_rss_bytes = 1.25e8;
    r->n_threads = 2;
    r->wait = WAIT_SLEEP;
    r->overlap.n_in_flight = 3;
    r->has_params = true;
    r->final = (struct checkpoint){ .n_params = 2, .param = line_params };
}

void made_allreduce(struct made_run *out)
{
    struct train_job *job = &out->job;
    struct train_result *r = &out->result;

    make_job(job, "allreduce", "sim", "lenet", 3, 0);
    assert_int_equal(collective_find(&job->collective, &collective_kind, "ring"), RC_OK);
    job->opts.reducer = "ring";
    job->opts.transport = "sim";
    job->opts.compute = "hollow";
    job->opts.batch = 8;
    job->opts.steps = 24;
    job->opts.record_every = 10;
    job->opts.image_size = 8;
    job->opts.classes = 10;
    job->dataset = &images;
    job->network = (struct network_opts){ .image_size = 8, .n_classes = 10 };
    job->n_params = 5000;
    job->n_steps = 24;
    job->memory.available_bytes = 77;
    job->cluster = (struct cluster){ .name = "made-up",
                                     .n_hosts = 3,
                                     .n_ranks_per_host = 2,
                                     .link_bytes_per_s = 1e8,
                                     .link_latency_s = 25e-6,
                                     .local_bytes_per_s = 5e9,
                                     .local_latency_s = 1e-6,
                                     .flops_per_s = 2e10,
                                     .memory_bytes_per_s = 8e9,
                                     .n_cores_per_rank = 2,
                                     .assumed = UINT64_C(1) << cluster_key_find("link_bits_per_s") |
                                                UINT64_C(1) << cluster_key_find("job_placement") |
                                                UINT64_C(1) << cluster_key_find("tcp_latency_s") }; /* has no effect */
    make_result(r, job);
    r->rank[1].steps_count = 24;
    r->rank[1].memory = (struct exchange_memory_facts){ MEMORY_SHARED, true, PAGES_HUGETLB, "file", "no memfd" };
    for (uint64_t w = 0; w < 3; w++)
        for (uint64_t t = 0, at_us = 2000000; t < 24; t++) {
            const uint64_t step_us = t < 5 ? 50000 : 10000;
            r->stamp[w * 24 + t] = (struct step_stamp){ .start_ns = at_us * US,
                                                        .ready_ns = (at_us + 4000 + w * 1000) * US,
                                                        .end_ns = (at_us + step_us) * US,
                                                        .apply_ns = 1000 * US,
                                                        .exchange_ns = (4750 - w * 1000) * US,
                                                        .loss = NAN };
            at_us += step_us;
        }
    strcpy(r->rank[0].host, "must not show"); /* train.L4 */
    r->limits = (struct train_limits){ .baseline_step_s = 0.008, .compute_s = 0.005, .wire_s = 0.0075 };
    r->n_threads = 1;
}

void made_single(struct made_run *out)
{
    struct train_job *job = &out->job;
    struct train_result *r = &out->result;

    make_job(job, "single", "threads", "replay", 1, 0);
    job->opts.transport = "none";
    job->opts.forward_only = true;
    job->opts.batch = 8;
    job->opts.steps = 3;
    job->profile = &recorded;
    job->n_params = 9;
    job->n_steps = 3;
    job->memory.available_bytes = SIZE_MAX;
    make_result(r, job);
    for (uint64_t t = 0, at_us = 500000; t < 3; t++) {
        const uint64_t step_us = 14000 + t * 2000;
        r->stamp[t] = (struct step_stamp){ .start_ns = at_us * US,
                                           .ready_ns = (at_us + 10000 + t * 1000) * US,
                                           .end_ns = (at_us + step_us) * US,
                                           .apply_ns = 2000 * US,
                                           .loss = NAN };
        at_us += step_us;
    }
    strcpy(r->rank[0].host, "first");
    r->rank[0].own_cores_count = 4;
    r->limits = (struct train_limits){ .baseline_step_s = 0.02, .compute_s = 0.0125 };
    r->n_threads = 4;
    r->wait = WAIT_SPIN;
    r->has_params = true;
    r->final = (struct checkpoint){ .n_params = 2, .param = line_params };
}

void made_free(struct made_run *m)
{
    free(m->result.stamp);
    free(m->result.lr);
    free(m->result.rank);
    *m = (struct made_run){ 0 };
}

char *made_records(const struct made_run *m)
{
    struct train_summary s;
    struct report *to = NULL;
    struct kit kit;

    if (train_summarise(&s, &m->job, &m->result) != RC_OK)
        fail_msg("%s", rc_message());
    assert_true(kit_open(&kit));
    assert_int_equal(report_open(&to, kit_path(&kit, "r.jsonl")), RC_OK);
    assert_int_equal(train_write(to, &m->job, &m->result, &s), RC_OK);
    assert_int_equal(report_commit(to), RC_OK);
    report_close(&to);
    assert_non_null(kit_read(&kit, "r.jsonl"));
    char *text = strdup(kit.text);
    assert_non_null(text);
    kit_close(&kit);
    return text;
}
