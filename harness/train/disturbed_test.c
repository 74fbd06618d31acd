/* SPDX-License-Identifier: Apache-2.0 */
/* disturbed_test.c - what else ran on the hosts of made-up runs (result_kit.c), in records; and of a process's own. */
#include "harness/train/disturbed.h"

#include <math.h>

#include <jansson.h>

#include "harness/base/suite/file_tree.h"
#include "harness/report/suite/report_kit.h"
#include "harness/train/suite/result_kit.h"

enum { MAX_RECORDS = 32 };

static void set_rank(struct train_rank_info *rank, const char *host, const char *kernel, int64_t process,
                     const struct window_load *load)
{
    snprintf(rank->host, sizeof rank->host, "%s", host);
    snprintf(rank->kernel, sizeof rank->kernel, "%s", kernel);
    rank->process = process;
    rank->load = *load;
}

/* The `rank` records in order, then the summary; freed by the caller. Returns how many. */
static int records_of(json_t *record[MAX_RECORDS], const struct made_run *m)
{
    struct train_summary s;
    struct report *to = NULL;
    struct kit kit;
    char *line, *rest = NULL;
    int n = 0;

    assert_int_equal(train_summarise(&s, &m->job, &m->result), RC_OK);
    assert_true(kit_open(&kit));
    assert_int_equal(report_open(&to, kit_path(&kit, "r.jsonl")), RC_OK);
    assert_int_equal(train_write(to, &m->job, &m->result, &s), RC_OK);
    assert_int_equal(report_commit(to), RC_OK);
    report_close(&to);
    assert_non_null(kit_read(&kit, "r.jsonl"));
    for (line = strtok_r(kit.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "{\"kind\":\"rank\"", 14) == 0 || strncmp(line, "{\"kind\":\"summary\"", 17) == 0) {
            assert_true(n < MAX_RECORDS);
            record[n] = json_loads(line, 0, NULL);
            assert_non_null(record[n++]);
        }
    kit_close(&kit);
    return n;
}

static void assert_number(const json_t *record, const char *key, double expected)
{
    const json_t *value = json_object_get(record, key);

    assert_non_null(value);
    if (isnan(expected) ? !json_is_null(value) : !(fabs(json_number_value(value) - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%s is %.17g, not %.17g", key, json_number_value(value), expected);
}

/* word NULL: null. */
static void assert_disturbed(json_t *record, const char *word, const struct disturbance *d)
{
    const json_t *said = json_object_get(record, "disturbed");

    assert_non_null(said);
    if (word)
        assert_string_equal(json_string_value(said), word);
    else
        assert_true(json_is_null(said));
    assert_number(record, "steal_ratio", d->steal_ratio);
    assert_number(record, "others_cores_count", d->others_cores);
    assert_number(record, "taken_cores_ratio", d->taken_ratio);
    assert_number(record, "taken_cores_limit_ratio", d->taken_limit_ratio);
    assert_number(record, "frequency_hz", d->frequency_hz);
    json_decref(record);
}

/* Two processes of one host: a worker of 2 threads and a server use 3 of its 4 cores; of 3 busy ones 1.5 + 0.9 are
 * theirs: 0.6 and 0.02 x 4 of 3. The other host: a worker of 2 threads, 2.1 busy and 2 its own, nothing stolen. */
UNIT_TEST(ranks_of_a_host_are_summed_up)
{
    static const struct disturbance first = { 0.02, 0.6, 0.68 / 3, 0.1 + 0.04 / 3, 2e9 },
                                    second = { 0, 0.1, 0.05, 0.115, 3e9 },
                                    worst = { 0.02, 0.6, 0.68 / 3, 0.1 + 0.04 / 3, 2e9 };
    json_t *record[MAX_RECORDS];
    struct made_run m;

    made_ps(&m);
    set_rank(&m.result.rank[0], "a", "", 7, &(struct window_load){ 2, 1.5, 4, 3, 0.02, 2e9 });
    set_rank(&m.result.rank[1], "b", "", 7, &(struct window_load){ 2, 2, 2, 2.1, 0, 3e9 });
    set_rank(&m.result.rank[2], "a", "", 8, &(struct window_load){ 1, 0.9, 0, 0, 0, 0 });
    assert_int_equal(records_of(record, &m), 4);
    assert_disturbed(record[0], "yes", &first);
    assert_disturbed(record[1], "no", &second);
    assert_disturbed(record[2], "yes", &first);
    assert_disturbed(record[3], "yes", &worst);
    made_free(&m);
}

/* In threads, all ranks tell the time of the same process: it counts once, as the first tells it. More threads than
 * cores use all cores. */
UNIT_TEST(a_process_counts_once)
{
    static const struct disturbance all = { 0, 0.5, 0.25, 0.115, NAN };
    json_t *record[MAX_RECORDS];
    struct made_run m;

    made_ps(&m);
    for (int i = 0; i < 3; i++)
        set_rank(&m.result.rank[i], "a", "k", 7, &(struct window_load){ 2, i == 0 ? 1.5 : 1.7, 0, 0, 0, 0 });
    m.result.rank[0].load = (struct window_load){ 2, 1.5, 2, 2, 0, NAN };
    assert_int_equal(records_of(record, &m), 4);
    for (int i = 0; i < 4; i++)
        assert_disturbed(record[i], "yes", &all);
    made_free(&m);
}

/* Two stages, each a process of a worker with 4 threads: both use cores, and neither is one of the others. */
UNIT_TEST(all_stages_are_of_the_run)
{
    static const struct disturbance all = { 0.02, 0.6, 0.92 / 8, 0.1 + 0.09 / 8, 2e9 };
    struct train_rank_info stage_rank[2] = { { .process = 0 } };
    struct made_run m;

    made_single(&m);
    set_rank(&stage_rank[0], "a", "", 7, &(struct window_load){ 2, 1.5, 16, 3, 0.02, 2e9 });
    set_rank(&stage_rank[1], "a", "", 8, &(struct window_load){ 2, 0.9, 0, 0, 0, 0 });
    struct train_result of_second = m.result;
    of_second.n_stages = 2;
    of_second.stage_rank = stage_rank;
    of_second.rank = &stage_rank[1];
    const struct disturbance run = disturbance_of_run(&m.job, &of_second),
                             second = disturbance_of_rank(&m.job, &of_second, 0);
    for (int i = 0; i < 2; i++) {
        const struct disturbance *d = i == 0 ? &run : &second;

        assert_true(fabs(d->others_cores - all.others_cores) < 1e-12);
        assert_true(fabs(d->taken_ratio - all.taken_ratio) < 1e-12);
        assert_true(fabs(d->taken_limit_ratio - all.taken_limit_ratio) < 1e-12);
    }
    made_free(&m);
}

/* Two host names, one kernel: the other's rank is none of the others. Both ask; the first's figures count. Processes
 * have a number for each host. */
UNIT_TEST(namespaces_of_one_machine_are_one)
{
    static const struct disturbance all = { 0, 0.25, 0.0625, 0.1125, NAN };
    json_t *record[MAX_RECORDS];
    struct made_run m;

    made_ps(&m);
    set_rank(&m.result.rank[0], "a", "k", 7, &(struct window_load){ 2, 1.5, 4, 4, 0, NAN });
    set_rank(&m.result.rank[1], "b", "k", 7, &(struct window_load){ 2, 1.25, 4, 3, 0.5, 1e9 });
    set_rank(&m.result.rank[2], "b", "k", 8, &(struct window_load){ 2, 1, 0, 0, 0, 0 });
    assert_int_equal(records_of(record, &m), 4);
    for (int i = 0; i < 4; i++)
        assert_disturbed(record[i], "no", &all);
    made_free(&m);
}

/* A rank that asked was lost; a system that tells nothing. */
UNIT_TEST(what_nobody_told_is_not_known)
{
    json_t *record[MAX_RECORDS];
    struct made_run m;

    made_ps(&m);
    for (int i = 0; i < 3; i++)
        set_rank(&m.result.rank[i], "a", "k", 7 + i, &(struct window_load){ 2, 1.5, 0, 0, 0, 0 });
    assert_int_equal(records_of(record, &m), 4);
    for (int i = 0; i < 4; i++)
        assert_disturbed(record[i], "not_known", &DISTURBANCE_NOT_KNOWN);
    made_free(&m);
}

/* train.L4 */
UNIT_TEST(simulations_tell_nothing)
{
    json_t *record[MAX_RECORDS];
    struct made_run m;

    made_allreduce(&m);
    for (int i = 0; i < 3; i++)
        set_rank(&m.result.rank[i], "a", "k", 7, &(struct window_load){ 2, 1.5, 4, 4, 0.5, 1e9 });
    assert_int_equal(records_of(record, &m), 4);
    for (int i = 0; i < 4; i++)
        assert_disturbed(record[i], NULL, &DISTURBANCE_NOT_KNOWN);
    made_free(&m);
}

static const struct world_ops REAL = { .module = { .name = "threads" } },
                              VIRTUAL = { .module = { .name = "sim", .caps = WORLD_VIRTUAL_TIME } };
#define SELF \
    "7 (x) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 0\n"
#define FREQUENCY "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"

/* Between two readings 1.5 s of busy time and 0.25 s of stolen time go by, of two cores. */
TREE_TEST(the_first_rank_of_a_host_asks)
{
    struct tree *t = *state;
    struct host_load before;

    for (int host_rank = 0; host_rank < 2; host_rank++) {
        const struct world w = { .ops = &REAL, .rank = 5, .host_rank = host_rank };
        struct train_rank_info info = { .process = 0 };
        t->n_paths = 0; /* the same files */
        put(t, "/proc/thread-self/stat", SELF);
        put(t, "/proc/sys/kernel/random/boot_id", "the-kernel\n");
        put(t, FREQUENCY, "1000000\n");
        put(t, "/proc/stat", "cpu  100 0 0 4000 500 0 0 80 0 0\ncpu0 1\ncpu1 1\n");
        disturbance_begin(&before, &w, t->root);
        put(t, "/proc/stat", "cpu  200 20 30 4000 500 0 0 105 0 0\ncpu0 1\ncpu1 1\n");
        put(t, FREQUENCY, "3000000\n");
        disturbance_end(&info, &before, &w, t->root);
        assert_int_equal(info.process, getpid());
        assert_string_equal(info.kernel, "the-kernel");
        assert_true(info.load.window_s > 0 && info.load.own_cores >= 0);
        assert_int_equal(info.load.n_host_cores, host_rank == 0 ? 2 : 0);
        if (host_rank == 0) {
            assert_true(fabs(info.load.busy_cores * info.load.window_s - 1.5) < 1e-9);
            assert_true(fabs(info.load.steal_ratio * info.load.window_s - 0.125) < 1e-9);
            assert_true(fabs(info.load.frequency_hz - 2e9) < 1);
        }
    }
}

TREE_TEST(nothing_is_read_in_virtual_time)
{
    static const struct world w = { .ops = &VIRTUAL };
    struct tree *t = *state;
    struct train_rank_info info = { .process = 0 };
    struct host_load before = { .n_cores = 77 };

    put(t, "/proc/stat", "cpu  100 0 0 4000 500 0 0 80 0 0\ncpu0 1\ncpu1 1\n");
    disturbance_begin(&before, &w, t->root);
    disturbance_end(&info, &before, &w, t->root);
    assert_int_equal(before.n_cores, 77);
    assert_int_equal(info.process, 0);
    assert_int_equal(info.load.n_host_cores, 0);
}

UNIT_MAIN("disturbed")
