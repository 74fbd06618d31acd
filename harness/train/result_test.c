/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_test.c - every value of every record of three made-up runs (result_kit.c), worked out by hand.
 *
 * Expected records are JSON with ' for ". Both sides have the same keys; numbers differ by 1e-12 of their size at most.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/options_record.h"
#include "harness/train/suite/result_kit.h"
#include "harness/world/cores.h"

enum { MAX_RECORDS = 32, EXPECTED_BYTES = 8192 };

struct records {
    json_t *record[MAX_RECORDS];
    int n;
};

#define assert_near(value, expected) assert_within(value, expected, 1e-12)

static void summarise(struct train_summary *out, const struct made_run *m)
{
    assert_int_equal(train_summarise(out, &m->job, &m->result), RC_OK);
}

/* Summarise and write a run, read its records back. */
static void written(struct records *out, const struct made_run *m)
{
    char *text = made_records(m), *rest = NULL;

    *out = (struct records){ 0 };
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(out->n < MAX_RECORDS);
        out->record[out->n] = json_loads(line, 0, NULL);
        assert_non_null(out->record[out->n++]);
    }
    free(text);
}

static void records_free(struct records *r)
{
    for (int i = 0; i < r->n; i++)
        json_decref(r->record[i]);
    r->n = 0;
}

static bool is_same(json_t *value, json_t *expected);

/* Every key of expected is in value, with its value; further keys only where allowed (NULL: none). */
static bool has_same_keys(json_t *value, json_t *expected, const char *further)
{
    const char *key;
    json_t *v;
    int n_wrong = 0;

    json_object_foreach(expected, key, v)
    {
        json_t *found = json_object_get(value, key);
        if (found && is_same(found, v))
            continue;
        n_wrong++;
        char *is = found ? json_dumps(found, JSON_ENCODE_ANY) : NULL, *should = json_dumps(v, JSON_ENCODE_ANY);
        print_error("%s: is %s, not %s\n", key, is ? is : "missing", should);
        free(is);
        free(should);
    }
    json_object_foreach(value, key, v)
    {
        char word[64];
        snprintf(word, sizeof word, " %s ", key);
        if (json_object_get(expected, key) || strstr(OTHER_KEYS, word) || (further && strstr(further, word)))
            continue;
        n_wrong++;
        print_error("%s: is not expected\n", key);
    }
    return n_wrong == 0;
}

static bool is_same(json_t *value, json_t *expected)
{
    if (json_is_number(value) && json_is_number(expected))
        return fabs(json_number_value(value) - json_number_value(expected)) <=
               1e-12 * fabs(json_number_value(expected));
    if (json_is_object(value) && json_is_object(expected))
        return has_same_keys(value, expected, NULL);
    return json_equal(value, expected) == 1;
}

static void assert_record(json_t *record, const char *expected, const char *further)
{
    char text[EXPECTED_BYTES];
    json_error_t why;

    assert_true(strlen(expected) < sizeof text);
    strcpy(text, expected);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *e = json_loads(text, 0, &why);
    if (!e)
        fail_msg("expected record: %s at column %d", why.text, why.column);
    const bool same = has_same_keys(record, e, further);
    json_decref(e);
    if (!same)
        fail_msg("a record is not as expected");
}

/* Of a run that nobody stopped, and that wrote its checkpoint at the end. */
#define NO_SERVERS                                                                                                 \
    "'servers_beside_workers': null, 'placement': null, 'hot_server_index': null, 'hot_server_bytes': null, "      \
    "'imbalance_ratio': null, 'hot_tensor': null, 'hot_tensor_bytes': null, 'consistency': null, 'lr_staleness': " \
    "null, 'late_gradients_count': null, 'lead_max_count': null, 'refused_count': null, 'refused': null, "         \
    "'replicas_count': null, 'servers_replaced_count': null, "                                                     \
    "'servers_without_replica_count': null, 'replicas_copied_count': null, 'replicas_copied_bytes': null, "        \
    "'replicate_mean_s': null, 'pieces_in_flight_count': null, 'piece_max_bytes': null, "                          \
    "'push_steps_count': null, "
#define UNEVENTFUL                                                                                                   \
    "'for_lessons_without': null, 'stopped_by': null, 'saves_count': null, 'failed_saves_count': null, 'saving_s': " \
    "null, 'restarts_count': 0, 'restarted_from_steps': [], "
#define INLINE "'overlap': 'off', 'priority': 'off', 'overlap_reason': null, "
#define BUILD_KEYS " version git_commit git_dirty compiler compiler_flags build_type "
#define MACHINE_KEYS \
    " host kernel cpu_model cores_count memory_bytes date_utc libraries environment environment_left_out_count "

#define PS_FACTS                                                                                                    \
    ", 'params_count': 2, 'running_means_and_variances_count': 6, 'flops_per_sample_count': 8, 'dataset': 'line', " \
    "'train_samples_count': 1000, 'test_samples_count': 10, 'input_sha256': {}, 'planned_memory': "                 \
    "{'activations_bytes': 1000, "                                                                                  \
    "'params_bytes': 2000, 'exchange_bytes': 3000, 'server_bytes': 4000, 'host_bytes': 50000, 'available_bytes': "  \
    "600000}"

UNIT_TEST(ps_manifest)
{
    struct records r;
    struct made_run m;
    made_ps(&m);
    written(&r, &m);
    assert_int_equal(r.n, 1 + 12 + 3 + 1 + 1); /* every step: the target is reached when step 109 ends */
    assert_record(r.record[0],
                  "{'kind': 'manifest', 'options': " OPTIONS(
                      "'model': 'linear', 'mode': 'ps', 'workers': 2, 'resume': 'earlier', 'record-every': 5, "
                      "'world': 'threads', 'servers': 1, 'placement': 'split', 'consistency': 'async', 'reducer': "
                      "'ring', 'transport': 'zmq', 'compute': 'cpu', 'forward-only': false, 'batch': 7, "
                      "'image-size': null, 'classes': null, 'steps': 112, 'lr': 0.5, 'momentum': 0.25, "
                      "'target-loss': 2.5") PS_FACTS "}",
                  BUILD_KEYS MACHINE_KEYS);
    records_free(&r);
    made_free(&m);
}

/* Counts go on from the resumed run, time starts with this one; samples are of both workers. */
UNIT_TEST(ps_steps)
{
    struct made_run m;
    struct records r;

    made_ps(&m);
    written(&r, &m);
    assert_record(
        r.record[1],
        "{'kind': 'step', 'step_index': 100, 'samples_count': 5021, 'learning_rate': 0.5, 'loss': 21, "
        "'wall_s': 0.02, 'virtual_s': null, 'exposed_comm_s': [0.0035, 0.005], 'hidden_comm_s': [0.0005, 0.0005], "
        "'input_wait_s': [null, null]}",
        NULL);
    assert_record(
        r.record[6],
        "{'kind': 'step', 'step_index': 105, 'samples_count': 5105, 'learning_rate': 1.75, 'loss': 1, "
        "'wall_s': 0.095, 'virtual_s': null, 'exposed_comm_s': [0.0035, 0.005], 'hidden_comm_s': [0.0005, 0.0005], "
        "'input_wait_s': [null, null]}",
        NULL);
    assert_record(r.record[11],
                  "{'kind': 'step', 'step_index': 110, 'samples_count': 5161, 'learning_rate': 3, 'loss': 1, 'wall_s': "
                  "0.17, 'virtual_s': null, 'exposed_comm_s': [0.0035, 0.005], 'hidden_comm_s': [0.0005, 0.0005], "
                  "'input_wait_s': [null, null]}",
                  NULL);
    assert_record(
        r.record[12],
        "{'kind': 'step', 'step_index': 111, 'samples_count': 5168, 'learning_rate': 3.25, 'loss': 1, "
        "'wall_s': 0.185, 'virtual_s': null, 'exposed_comm_s': [0.0035, 0.005], 'hidden_comm_s': [0.0005, 0.0005], "
        "'input_wait_s': [null, null]}",
        NULL);
    records_free(&r);
    made_free(&m);
}

UNIT_TEST(ps_ranks_and_staleness)
{
    struct made_run m;
    struct records r;
    made_ps(&m);
    strcpy(m.result.rank[0].device, "0000:1b:00.0");
    written(&r, &m);
    assert_record(
        r.record[13],
        "{'kind': 'rank', 'rank': 0, 'role': 'worker', 'worker_index': 0, 'stage_index': 0, 'shard_index': 0, "
        "'stage_wait_s': null, 'shard_wait_s': null, 'host': 'first', 'own_cores_count': 2, 'device': "
        "'0000:1b:00.0', 'part_samples_count': null, 'part_batch_count': null, 'mpi_thread_level': null, "
        "'exchange_memory': 'private', 'exchange_pages': 'transparent huge', 'exchange_shared_by': null, "
        "'exchange_shared_reason': null, 'step_mean_s': 0.01, 'compute_s': 0.006, 'input_wait_s': null, 'exchange_s': "
        "0.004, 'wait_s': 0, 'wire_s': 0.002, 'server_s': 0.001, 'apply_s': 0.0005, 'rest_s': 0.0005, "
        "'exposed_comm_s': 0.0035, 'hidden_comm_s': 0.0005, 'steps_count': 12, 'push_steps_count': 7, "
        "'pull_steps_count': 5, 'staleness_mean_count': 1, 'late_gradients_count': 2, 'lead_max_count': 3, "
        "'refused_count': null, 'refused': null, "
        "'staleness_from_count': [0, 1, 2], 'staleness_pushes_count': [3, 4, 4]}",
        NULL);
    assert_record(
        r.record[14],
        "{'kind': 'rank', 'rank': 1, 'role': 'worker', 'worker_index': 1, 'stage_index': 0, 'shard_index': 0, "
        "'stage_wait_s': null, 'shard_wait_s': null, 'host': 'second', 'own_cores_count': 3, 'device': null, "
        "'part_samples_count': null, 'part_batch_count': null, 'mpi_thread_level': 'MPI_THREAD_FUNNELED', "
        "'exchange_memory': 'shared', 'exchange_pages': 'hugetlb', 'exchange_shared_by': 'file', "
        "'exchange_shared_reason': 'no memfd', 'step_mean_s': 0.015, 'compute_s': 0.009, 'input_wait_s': null, "
        "'exchange_s': 0.006, 'wait_s': 0, 'wire_s': 0.002, 'server_s': 0.002, 'apply_s': 0.001, 'rest_s': 0.001, "
        "'exposed_comm_s': 0.005, 'hidden_comm_s': 0.0005, 'steps_count': 13, 'push_steps_count': 8, "
        "'pull_steps_count': 5, 'staleness_mean_count': 2.16666666666666667, 'late_gradients_count': 0, "
        "'lead_max_count': 0, 'refused_count': null, 'refused': null, 'staleness_from_count': [0, 1, 2, 3, 4], "
        "'staleness_pushes_count': [0, 0, 11, 0, 1]}",
        NULL);
    assert_record(
        r.record[15],
        "{'kind': 'rank', 'rank': 2, 'role': 'server', 'worker_index': null, 'stage_index': 0, 'shard_index': null, "
        "'stage_wait_s': null, 'shard_wait_s': null, 'host': 'third', 'own_cores_count': 0, 'device': null, "
        "'part_samples_count': null, 'part_batch_count': null, 'mpi_thread_level': null, 'exchange_memory': null, "
        "'exchange_pages': null, 'exchange_shared_by': null, 'exchange_shared_reason': null, 'step_mean_s': null, "
        "'compute_s': null, 'input_wait_s': null, 'exchange_s': null, 'wait_s': null, 'wire_s': null, 'server_s': "
        "null, 'apply_s': null, 'rest_s': null, 'exposed_comm_s': null, 'hidden_comm_s': null, 'steps_count': null, "
        "'push_steps_count': null, 'pull_steps_count': null, 'staleness_mean_count': null, 'late_gradients_count': 4, "
        "'lead_max_count': 6, 'refused_count': 3, 'refused': 'stranger 1, not_finite 2', 'staleness_from_count': [0, "
        "1, 2], 'staleness_pushes_count': [3, 0, 5]}",
        NULL);
    assert_record(r.record[16],
                  "{'kind': 'staleness', 'last_bin_and_above_count': 4, 'pushes_count': [4, 4, 15, 0, 1]}", NULL);
    records_free(&r);
    made_free(&m);
}

/* 11 steps of worker 0 and 7 of worker 1 in the rounds; 95 % interval with 81 / 11 effective rounds: t(6.36) =
 * 2.41341, standard error 0.934353 ms. One worker alone: 7 / 8.75 ms = 800 samples/s; the server allows 14 / 10 ms. */
UNIT_TEST(ps_summary)
{
    struct made_run m;
    struct records r;

    made_ps(&m);
    for (int i = 0; i < 2; i++) { /* of one host, on one GPU */
        strcpy(m.result.rank[i].host, "first");
        strcpy(m.result.rank[i].device, "0000:1b:00.0");
    }
    written(&r, &m);
    json_t *s = r.record[17];
    assert_true(fabs(json_number_value(json_object_get(s, "throughput_low_samples_per_s")) - 1005.62805) < 0.01);
    assert_true(fabs(json_number_value(json_object_get(s, "throughput_high_samples_per_s")) - 1487.51259) < 0.01);
    assert_record(
        s,
        "{'kind': 'summary', 'mode': 'ps', 'world': 'threads', 'model': 'linear', 'task': 'training', 'reducer': "
        "null, 'reducer_reason': null, " INLINE
        "'transport': 'zmq', 'encryption': 'curve', 'workers_count': 2, 'servers_count': 1, 'scaling': 'weak', "
        "'global_batch_count': 14, 'batch_per_worker_count': 7, 'steps_count': 112, " UNEVENTFUL
        "'compute': 'cpu', 'precision': 'fp32', 'workers_per_device_max_count': 2, 'threads_per_worker_count': 2, "
        "'wait_policy': 'sleep', 'image_size_px': 0, 'classes_count': 0, 'params_count': 2, 'dataset': 'line', "
        "'planned_memory_bytes': 50000, 'worker_memory_bytes': 6000, 'peak_resident_bytes': 125000000, 'data_wait_s': "
        "0.0003, "
        "'throughput_samples_per_s': 1200, 'efficiency_ratio': 0.75, 'bound_ratio': 0.857142857142857143, "
        "'bound_failed': false, 'loss_first': 21, 'loss_last': 1, 'loss_test': 0.75, 'accuracy_ratio': 0.96875, "
        "'params_sha256': 'abb24382fb190a25ddc6a44c79d3e13ccab2fae15f97bd4d31e59396a4cd6a58', 'staleness_mean_count': "
        "1.58333333333333333, 'servers_beside_workers': false, 'placement': 'whole', 'hot_server_index': 0, "
        "'hot_server_bytes': 8, 'imbalance_ratio': 1, 'hot_tensor': 'fc6/w', 'hot_tensor_bytes': 4, 'consistency': "
        "'ssp:1', 'lr_staleness': 'inverse', 'late_gradients_count': 2, 'lead_max_count': 3, 'refused_count': 3, "
        "'refused': 'stranger 1, not_finite 2', 'replicas_count': 1, 'servers_replaced_count': 1, "
        "'servers_without_replica_count': 1, 'replicas_copied_count': 2, "
        "'replicas_copied_bytes': 3000, 'replicate_mean_s': 0.0005, "
        "'pieces_in_flight_count': 3, 'piece_max_bytes': 65536, 'push_steps_count': 15, 'staleness_max_count': 4, "
        "'wall_s': 0.185, 'virtual_s': "
        "null, 'slope': 1.5, 'offset': -0.25, 'seconds_to_target_loss_s': 0.155, 'samples_to_target_loss_count': 154, "
        "'learned': 'not_known', 'learned_reason': 'too_short', 'not_learned_advice': null, 'step_p50_s': 0.01, "
        "'step_p95_s': 0.015, 'step_p99_s': 0.015, 'step_mean_s': 0.0119444444444444444, 'step_min_s': 0.01, "
        "'step_max_s': 0.015, 'compute_s': 0.00716666666666666667, 'wait_s': 0, 'wire_s': 0.002, 'server_s': "
        "0.00138888888888888889, 'apply_s': 0.000694444444444444444, 'rest_s': 0.000694444444444444444, "
        "'exposed_comm_s': 0.00408333333333333333, 'hidden_comm_s': 0.0005, 'limit_compute_s': 0.0075, 'limit_wire_s': "
        "0.007, 'limit_server_s': 0.01, 'limit_compute_before_s': 0.008, 'limit_wire_before_s': 0.007, "
        "'limit_server_before_s': 0.01, 'limit_compute_after_s': 0.0075, 'limit_wire_after_s': 0.0072, "
        "'limit_server_after_s': 0.0104, 'bound_samples_per_s': 1400, 'baseline_samples_per_s': 800, "
        "'steady_state_rule': 'mser5', 'steady_state': 'too short', 'warmup_rounds_count': 0, "
        "'speed_switch_round_index': null, 'speed_switch_ratio': null, 'rounds_count': 9, "
        "'effective_rounds_count': 7.36363636363636364}",
        " throughput_low_samples_per_s throughput_high_samples_per_s bound_low_ratio bound_high_ratio ");
    records_free(&r);
    made_free(&m);
}

/* Simulated time under its own name; nothing of this machine (train.L4). */
#define SIM_FACTS                                                                                                      \
    ", 'params_count': 5000, 'running_means_and_variances_count': 0, 'flops_per_sample_count': 0, 'dataset': "         \
    "'digits', 'train_samples_count': 1438, 'test_samples_count': 359, 'input_sha256': {}, 'planned_memory': "         \
    "{'activations_bytes': "                                                                                           \
    "0, 'params_bytes': 0, 'exchange_bytes': 0, 'server_bytes': 0, 'host_bytes': 0, 'available_bytes': null}, "        \
    "'cluster': {'kind': 'cluster', 'name': 'made-up', 'hosts_count': 3, 'ranks_per_host_count': 2, "                  \
    "'link_bytes_per_s': 1e8, 'link_latency_s': 25e-6, 'link_duplex_ratio': 0, 'nics_per_host_count': 0, "             \
    "'protocol': 'bare', 'tcp_latency_s': 0, 'tcp_message_s': 0, 'tcp_eager_bytes': 0, 'tcp_rate_ratio': 0, "          \
    "'tcp_process_bytes_per_s': 0, 'rdma_latency_s': 0, 'rdma_message_s': 0, 'rdma_eager_bytes': 0, "                  \
    "'rdma_rate_ratio': 0, 'rdma_process_bytes_per_s': 0, 'grpc_latency_s': 0, 'grpc_message_s': 0, "                  \
    "'grpc_eager_bytes': 0, 'grpc_rate_ratio': 0, 'grpc_process_bytes_per_s': 0, 'hosts_per_group_count': 0, "         \
    "'oversubscription_ratio': 0, 'group_latency_s': 0, 'local_bytes_per_s': 5e9, 'local_latency_s': 1e-6, "           \
    "'local_sharing': 'none', 'staging_bytes_per_s': 0, 'staging_latency_s': 0, 'flops_per_s': 2e10, "                 \
    "'flops_precision': 'fp32', 'memory_bytes_per_s': 8e9, 'cores_per_rank_count': 2, 'collective_copy_bytes_per_s': " \
    "0, 'collective_sum_bytes_per_s': 0, 'server_flops_per_s': 0, "                                                    \
    "'server_memory_bytes_per_s': "                                                                                    \
    "0, 'server_local_bytes_per_s': 0, 'server_aggregation': 'none', 'server_placement': 'own', "                      \
    "'job_placement': 'pack', 'start': 'together', 'jitter': 'none', 'jitter_ratio': 0, "                              \
    "'stragglers_count': 0, 'straggler_ratio': 0, 'slow_links_count': 0, 'slow_link_ratio': 0, 'assumed': "            \
    "['link_bytes_per_s', 'job_placement']}"

UNIT_TEST(allreduce_in_sim_l4)
{
    struct made_run m;
    struct records r;

    made_allreduce(&m);
    written(&r, &m);
    assert_int_equal(r.n, 1 + 4 + 3 + 1);
    assert_record(r.record[0],
                  "{'kind': 'manifest', 'options': " OPTIONS(
                      "'model': 'lenet', 'mode': 'allreduce', 'workers': 3, 'resume': '', 'record-every': 10, "
                      "'world': 'sim', 'servers': null, 'placement': 'split', 'consistency': 'async', 'reducer': "
                      "'ring', 'transport': 'sim', 'compute': 'hollow', 'forward-only': false, 'batch': 8, "
                      "'image-size': 8, 'classes': 10, 'steps': 24, 'lr': null, 'momentum': null, 'target-loss': null")
                      SIM_FACTS "}",
                  BUILD_KEYS);
    assert_record(
        r.record[2],
        "{'kind': 'step', 'step_index': 10, 'samples_count': 264, 'learning_rate': 3, 'loss': null, "
        "'wall_s': null, 'virtual_s': 0.31, 'exposed_comm_s': [0.005, 0.004, 0.003], 'hidden_comm_s': [0.0, 0.0, 0.0], "
        "'input_wait_s': [null, null, null]}",
        NULL);
    assert_record(
        r.record[4],
        "{'kind': 'step', 'step_index': 23, 'samples_count': 576, 'learning_rate': 6.25, 'loss': null, "
        "'wall_s': null, 'virtual_s': 0.44, 'exposed_comm_s': [0.005, 0.004, 0.003], 'hidden_comm_s': [0.0, 0.0, 0.0], "
        "'input_wait_s': [null, null, null]}",
        NULL);
    assert_record(
        r.record[6], /* of the 19 steps behind the warm-up, as the summary */
        "{'kind': 'rank', 'rank': 1, 'role': 'worker', 'worker_index': 1, 'stage_index': 0, 'shard_index': 0, "
        "'stage_wait_s': null, 'shard_wait_s': null, 'host': null, 'own_cores_count': 0, 'device': null, "
        "'part_samples_count': null, 'part_batch_count': null, 'mpi_thread_level': null, 'exchange_memory': 'shared', "
        "'exchange_pages': null, 'exchange_shared_by': null, 'exchange_shared_reason': null, 'step_mean_s': 0.01, "
        "'compute_s': 0.005, 'input_wait_s': null, 'exchange_s': 0.005, 'wait_s': 0.001, 'wire_s': 0.00275, "
        "'server_s': 0, 'apply_s': 0.001, 'rest_s': 0.00025, 'exposed_comm_s': 0.004, 'hidden_comm_s': 0, "
        "'steps_count': 24, 'push_steps_count': null, 'pull_steps_count': null, 'staleness_mean_count': null, "
        "'late_gradients_count': null, 'lead_max_count': null, 'refused_count': null, 'refused': null, "
        "'staleness_from_count': null, 'staleness_pushes_count': null}",
        NULL);
    records_free(&r);
    made_free(&m);
}

/* The 5 slow steps are warm-up: 24 samples in 10 ms. Waits are 2, 1 and 0 ms. Percentiles are of the other steps. */
UNIT_TEST(allreduce_summary)
{
    struct made_run m;
    struct records r;

    made_allreduce(&m);
    written(&r, &m);
    assert_record(
        r.record[8],
        "{'kind': 'summary', 'mode': 'allreduce', 'world': 'sim', 'model': 'lenet', 'task': 'training', 'reducer': "
        "'ring', 'reducer_reason': null, " INLINE
        "'transport': 'sim', 'encryption': null, 'workers_count': 3, 'servers_count': 0, 'scaling': "
        "'weak', 'global_batch_count': 24, 'batch_per_worker_count': 8, 'steps_count': 24, " UNEVENTFUL
        "'compute': 'hollow', 'precision': 'fp32', 'workers_per_device_max_count': null, 'threads_per_worker_count': "
        "1, 'wait_policy': null, 'image_size_px': 8, 'classes_count': 10, 'params_count': 5000, 'dataset': 'digits', "
        "'planned_memory_bytes': 0, 'worker_memory_bytes': 0, 'peak_resident_bytes': null, 'data_wait_s': null, "
        "'throughput_samples_per_s': "
        "2400, 'throughput_low_samples_per_s': 2400, 'throughput_high_samples_per_s': 2400, 'efficiency_ratio': 0.8, "
        "'bound_ratio': 0.75, 'bound_low_ratio': 0.75, 'bound_high_ratio': 0.75, 'bound_failed': false, 'loss_first': "
        "null, 'loss_last': null, 'loss_test': null, 'accuracy_ratio': null, 'params_sha256': null, "
        "'staleness_mean_count': null, " NO_SERVERS
        "'staleness_max_count': null, 'wall_s': null, 'virtual_s': 0.44, 'slope': null, 'offset': null, "
        "'seconds_to_target_loss_s': null, 'samples_to_target_loss_count': null, 'learned': 'not_known', "
        "'learned_reason': 'no_training_loss', 'not_learned_advice': null, 'step_p50_s': 0.01, 'step_p95_s': 0.01, "
        "'step_p99_s': 0.01, 'step_mean_s': 0.01, 'step_min_s': 0.01, 'step_max_s': 0.01, 'compute_s': 0.005, "
        "'wait_s': 0.001, 'wire_s': 0.00275, 'server_s': 0, 'apply_s': 0.001, 'rest_s': 0.00025, 'exposed_comm_s': "
        "0.004, 'hidden_comm_s': 0, 'limit_compute_s': 0.005, 'limit_wire_s': 0.0075, 'limit_server_s': 0, "
        "'limit_compute_before_s': 0.005, 'limit_wire_before_s': 0.0075, 'limit_server_before_s': 0, "
        "'limit_compute_after_s': null, 'limit_wire_after_s': null, 'limit_server_after_s': null, "
        "'bound_samples_per_s': 3200, 'baseline_samples_per_s': 1000, 'steady_state_rule': 'mser5', 'steady_state': "
        "'reached', 'warmup_rounds_count': 5, 'rounds_count': 24, 'speed_switch_round_index': null, "
        "'speed_switch_ratio': null, 'effective_rounds_count': 19}",
        NULL);
    records_free(&r);
    made_free(&m);
}

/* single is 1 by definition (8 / 16 ms over 8 / 20 ms would be 1.25); three steps have no interval; what is replayed
 * has its profile's precision, and no line though it has two parameters. */
UNIT_TEST(single_of_a_profile)
{
    struct made_run m;
    struct records r;

    made_single(&m);
    written(&r, &m);
    assert_int_equal(r.n, 1 + 3 + 1 + 1);
    assert_record(
        json_object_get(r.record[0], "profile"),
        "{'model': 'vgg16', 'device': 'a device', 'precision': 'bf16', 'batch_count': 8, 'image_size_px': 224, "
        "'source': 'measured by hand'}",
        NULL);
    assert_true(json_is_null(json_object_get(r.record[0], "dataset")));
    assert_true(json_is_null(json_object_get(json_object_get(r.record[0], "planned_memory"), "available_bytes")));
    assert_record(
        r.record[5],
        "{'kind': 'summary', 'mode': 'single', 'world': 'threads', 'model': 'replay', 'task': 'inference', "
        "'reducer': null, 'reducer_reason': null, 'overlap': null, 'priority': null, 'overlap_reason': null, "
        "'transport': 'none', 'encryption': null, 'workers_count': 1, 'servers_count': 0, "
        "'scaling': 'weak', 'global_batch_count': 8, 'batch_per_worker_count': 8, 'steps_count': 3, " UNEVENTFUL
        "'compute': 'cpu', 'precision': 'bf16', 'workers_per_device_max_count': null, 'threads_per_worker_count': 4, "
        "'wait_policy': 'spin', 'image_size_px': 0, 'classes_count': 0, 'params_count': 9, 'dataset': null, "
        "'planned_memory_bytes': 0, 'worker_memory_bytes': 0, 'peak_resident_bytes': null, 'data_wait_s': null, "
        "'throughput_samples_per_s': 500, "
        "'throughput_low_samples_per_s': null, 'throughput_high_samples_per_s': null, 'efficiency_ratio': 1, "
        "'bound_ratio': 0.78125, 'bound_low_ratio': null, 'bound_high_ratio': null, 'bound_failed': false, "
        "'loss_first': null, 'loss_last': null, 'loss_test': null, 'accuracy_ratio': null, 'params_sha256': "
        "'abb24382fb190a25ddc6a44c79d3e13ccab2fae15f97bd4d31e59396a4cd6a58', 'staleness_mean_count': null, " NO_SERVERS
        "'staleness_max_count': null, 'wall_s': 0.048, 'virtual_s': null, 'slope': null, 'offset': null, "
        "'seconds_to_target_loss_s': null, 'samples_to_target_loss_count': null, 'learned': 'not_known', "
        "'learned_reason': 'no_training_loss', 'not_learned_advice': null, 'step_p50_s': 0.0160235515, 'step_p95_s': "
        "0.018, 'step_p99_s': 0.018, 'step_mean_s': 0.016, 'step_min_s': 0.014, 'step_max_s': 0.018, 'compute_s': "
        "0.011, 'wait_s': 0, 'wire_s': 0, 'server_s': 0, 'apply_s': 0.002, 'rest_s': 0.003, 'exposed_comm_s': 0.003, "
        "'hidden_comm_s': 0, 'limit_compute_s': 0.0125, 'limit_wire_s': 0, 'limit_server_s': 0, "
        "'limit_compute_before_s': 0.0125, 'limit_wire_before_s': 0, 'limit_server_before_s': 0, "
        "'limit_compute_after_s': null, 'limit_wire_after_s': null, 'limit_server_after_s': null, "
        "'bound_samples_per_s': 640, 'baseline_samples_per_s': 400, 'steady_state_rule': 'mser5', 'steady_state': 'too "
        "short', 'warmup_rounds_count': 0, 'speed_switch_round_index': null, 'speed_switch_ratio': null, "
        "'rounds_count': 3, 'effective_rounds_count': 3}",
        NULL);
    records_free(&r);
    made_free(&m);
}

/* Of a loss that is reached in the middle: seconds from the first start, samples of all workers by then. */
UNIT_TEST(the_target_loss_is_timed_from_the_first_start)
{
    struct train_summary s;
    struct made_run m;

    made_ps(&m);
    summarise(&s, &m);
    assert_near(s.seconds_to_target_loss, 0.155);
    assert_int_equal(s.samples_to_target_loss_count, 154);
    m.job.opts.target_loss = 3; /* at most 3, not below */
    summarise(&s, &m);
    assert_near(s.seconds_to_target_loss, 0.14); /* worker 1's at 1140 is completion 21 */
    assert_int_equal(s.samples_to_target_loss_count, 147);
    m.job.opts.target_loss = 0.5; /* never */
    summarise(&s, &m);
    assert_true(isnan(s.seconds_to_target_loss));
    assert_int_equal(s.samples_to_target_loss_count, 0);
    m.job.opts.target_loss = NAN; /* not asked for */
    summarise(&s, &m);
    assert_true(isnan(s.seconds_to_target_loss));
    made_free(&m);
}

UNIT_MAIN("result")
