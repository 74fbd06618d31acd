/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_keys.c - the keys of a criteria file, and which of their values contradict each other. */
#include "harness/accept/criteria_keys.h"

#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/text.h"
#include "models/workload.h"

#define STAGES_ "all|preflight|compute|noise|pairwise|collectives|ps|training|integrity|soak"
/* Least and most message, or vector. */
#define LEAST_BYTES_ 4
#define MOST_BYTES_ 1e10
/* That gradmark train takes, as --steps and --verify-every. */
#define MOST_STEPS_ 1e8

#define NUMBER_(type_, m, T, lo, hi, def_, unit_, meaning_)                                                  \
    {                                                                                                        \
        .name = #m, .type = type_, KEY_MEMBER_(struct criteria, m, T), .least = lo, .most = hi, .def = def_, \
        .unit = unit_, .meaning = meaning_                                                                   \
    }
#define WHOLE_(m, lo, hi, def_, unit_, meaning_) NUMBER_(KEY_WHOLE, m, int, lo, hi, def_, unit_, meaning_)
#define COUNT_(m, lo, hi, def_, unit_, meaning_) NUMBER_(KEY_COUNT, m, double, lo, hi, def_, unit_, meaning_)
#define REAL_(m, lo, hi, def_, unit_, meaning_) NUMBER_(KEY_REAL, m, double, lo, hi, def_, unit_, meaning_)
#define NAME_(m, kind_, def_, meaning_)                                                                               \
    {                                                                                                                 \
        .name = #m, .type = KEY_TEXT, KEY_LETTERS_(struct criteria, m), .def = def_, .unit = "", .meaning = meaning_, \
        .kind = kind_                                                                                                 \
    }
#define LIST_(m, choices_, def_, unit_, meaning_)                                                                   \
    {                                                                                                               \
        .name = #m, .type = KEY_LIST, KEY_LETTERS_(struct criteria, m), .least = LEAST_BYTES_, .most = MOST_BYTES_, \
        .choices = choices_, .def = def_, .unit = unit_, .meaning = meaning_                                        \
    }

const struct key criteria_keys[] = {
    NAME_(name, NULL, "unnamed", "name of the cluster"),
    LIST_(stages, STAGES_, "all", "", "stages to run; soak runs only if soak_minutes is above 0"),
    REAL_(stage_limit_s, 1, 86400, "600", "s",
          "time limit of a stage, which then has no data; in the soak, of each training"),

    REAL_(false_discovery_ratio, 1e-9, 0.5, "0.05", "", "part of a stage's findings that may be false"),
    REAL_(least_effect_ratio, 1e-3, 0.9, "0.1", "",
          "least difference: a rank, node or link is blamed only if it is worse than the rest by this part"),
    WHOLE_(least_repeats_count, 2, ACCEPT_MAX_REPEATS, "3", "repeats",
           "least repeats of each measurement of ranks and pairs of nodes"),
    WHOLE_(most_repeats_count, 2, ACCEPT_MAX_REPEATS, "10", "repeats",
           "most repeats of each such measurement, used while the result is not clear"),

    REAL_(most_clock_skew_s, 0, 1e6, "0", "s",
          "largest difference of a node's clock from the median of all clocks; 0: no limit"),
    COUNT_(least_memory_free_bytes, 0, 1e18, "0", "bytes", "least free memory of a node; 0: no limit"),
    REAL_(least_link_bits_per_s, 0, 1e18, "0", "bits/s",
          "least rate that the network card of a node reports; 0: no limit"),
    COUNT_(least_cores_count, 0, 1e6, "0", "cores", "least cores that the test can use on a node; 0: no limit"),

    REAL_(least_flops_per_s, 0, 1e24, "0", "flop/s", "least rate of a matrix product, of every rank; 0: no limit"),
    REAL_(least_memory_bytes_per_s, 0, 1e18, "0", "bytes/s", "least rate of memory, of every rank; 0: no limit"),

    REAL_(noise_quantum_s, 1e-6, 10, "1e-3", "s", "approximate time of one fixed piece of work"),
    REAL_(noise_s, 1e-4, 1e5, "1", "s", "approximate time for which such pieces are repeated"),
    REAL_(most_detour_ratio, 0, 1, "0", "", "largest part of a rank's time that other work may take; 0: no limit"),
    REAL_(most_longest_detour_s, 0, 1e5, "0", "s", "longest interruption of a rank by other work; 0: no limit"),

    COUNT_(pairwise_message_bytes, LEAST_BYTES_, MOST_BYTES_, "4194304", "bytes",
           "size of the message that measures the rate between two nodes"),
    REAL_(least_pair_bytes_per_s, 0, 1e18, "0", "bytes/s",
          "least rate from every node to every other, in bytes (8 bits); 0: no limit"),
    REAL_(most_pair_latency_s, 0, 1e3, "0", "s", "most latency between every two nodes, one way; 0: no limit"),

    NAME_(reducer, &collective_kind, "", "allreduce algorithm to measure"),
    LIST_(collective_bytes, NULL, "4096,262144,4194304", "bytes",
          "sizes of the summed vectors (4 bytes a number), smallest first"),
    REAL_(least_busbw_bytes_per_s, 0, 1e18, "0", "bytes/s",
          "least bus bandwidth of allreduce with the largest vector; 0: no limit"),
    REAL_(least_busbw_bound_ratio, 0, 1, "0", "",
          "least bus bandwidth as a part of what the slowest link allows, with the largest vector; 0: no limit"),
    COUNT_(rank_order_bytes, 0, MOST_BYTES_, "4194304", "bytes",
           "size of the vector that compares orders of ranks (pack, spread, by switches); 0: do not compare"),
    REAL_(least_rank_order_ratio, 0, 1, "0", "",
          "least bus bandwidth in the launcher's order of ranks, divided by that in the best order; 0: no limit"),

    LIST_(ps_bytes, NULL, "4096,262144,4194304", "bytes",
          "sizes of the parameters that are pushed and pulled (4 bytes each), smallest first"),
    REAL_(least_goodput_bytes_per_s, 0, 1e18, "0", "bytes/s",
          "least goodput of all servers together, with the most parameters; 0: no limit"),
    REAL_(least_goodput_bound_ratio, 0, 1, "0", "",
          "least goodput as a part of what the slowest link allows, with the most parameters; 0: no limit"),

    NAME_(training_model, &workload_kind, "", "model to train on 1, 2, 4, ... nodes, and on all"),
    COUNT_(training_steps_count, 10, MOST_STEPS_, "60", "steps", "steps of each training"),
    COUNT_(rank_order_training_steps_count, 0, MOST_STEPS_, "0", "steps",
           "steps of each training that compares the best order of ranks with the launcher's, at least 10; 0: do not "
           "compare"),
    REAL_(least_efficiency_ratio, 0, 1, "0", "",
          "least scaling efficiency: speed of all nodes / (nodes x speed of one node); first set a training_model of "
          "your size; 0: no limit"),
    REAL_(most_exposed_ratio, 0, 1, "0", "",
          "largest part of a step of all nodes that waits for communication; 0: no limit"),

    COUNT_(integrity_steps_count, 1, MOST_STEPS_, "64", "steps", "training steps of this stage"),
    COUNT_(integrity_every_steps, 1, MOST_STEPS_, "16", "steps", "compare the parameters of all ranks every N steps"),

    REAL_(soak_minutes, 0, 1e5, "0", "min", "duration of the soak, which is a long training; 0: no soak"),
    REAL_(most_drift_ratio, 0, 1e3, "0.1", "",
          "largest part by which steps may become slower between begin and end of the soak; 0: no limit"),
    REAL_(most_straggling_ratio, 0, 1e3, "0.2", "",
          "largest part by which steps of the worst minute of the soak may be slower than the median; 0: no limit"),
};
_Static_assert(sizeof criteria_keys / sizeof *criteria_keys == CRITERIA_N_KEYS, "CRITERIA_N_KEYS is wrong");
_Static_assert((int)CRITERIA_N_KEYS <= (int)CRITERIA_MAX_KEYS && (int)CRITERIA_MAX_KEYS <= (int)KEY_MAX_KEYS,
               "the last key has no source");

const struct key_table criteria_key_table = { criteria_keys, CRITERIA_N_KEYS, "criteria file",
                                              "a file with the criteria of an acceptance test (YAML)" };

int criteria_sizes(const char *list, size_t out[ACCEPT_MAX_SIZES])
{
    char element[KEY_VALUE_BYTES];
    const char *rest = list;
    uint64_t n_bytes;
    int n = 0;

    while (n < ACCEPT_MAX_SIZES && text_next(&rest, element, sizeof element))
        if (text_to_u64(element, &n_bytes))
            out[n++] = (size_t)n_bytes;
    return n;
}

/* runs[] := the stages that are named; returns how many names there are, "all" among them. */
static int named_stages(const char *names, bool runs[ACCEPT_N_STAGES])
{
    char name[32];
    const char *rest = names;
    int n = 0;

    memset(runs, 0, ACCEPT_N_STAGES * sizeof *runs);
    for (; text_next(&rest, name, sizeof name); n++)
        for (int s = 0; s < ACCEPT_N_STAGES; s++)
            runs[s] = runs[s] || strcmp(name, "all") == 0 || strcmp(name, accept_stage_name((enum accept_stage)s)) == 0;
    return n;
}

static bool names_all(const char *stages)
{
    return strncmp(stages, "all,", 4) == 0 || strstr(stages, ",all") != NULL;
}

/* RC_INVAL: a list of sizes has too many, they do not rise, or one holds no whole number of floats. */
static enum rc check_sizes(const char *list)
{
    size_t size[ACCEPT_MAX_SIZES];
    const int n = criteria_sizes(list, size);
    int n_elements = 1;

    for (const char *c = list; *c; c++)
        n_elements += *c == ',';
    if (n_elements > ACCEPT_MAX_SIZES)
        return rc_raise(RC_INVAL, "has %d sizes; use at most %d", n_elements, ACCEPT_MAX_SIZES);
    for (int i = 0; i < n; i++)
        if (size[i] % sizeof(float) != 0)
            return rc_raise(RC_INVAL, "is \"%.63s\"; use multiples of %zu: %zu is none, %zu and %zu are", list,
                            sizeof(float), size[i], size[i] / sizeof(float) * sizeof(float),
                            (size[i] / sizeof(float) + 1) * sizeof(float));
    for (int i = 1; i < n; i++)
        if (size[i] <= size[i - 1])
            return rc_raise(RC_INVAL, "is \"%.63s\"; use sizes that rise: %zu is not above %zu", list, size[i],
                            size[i - 1]);
    return RC_OK;
}

/* RC_INVAL: value of key is wrong beside another one; needs: what to use. */
static enum rc contradicts(const struct criteria *c, const char *name, const char *needs, int *key)
{
    char value[KEY_VALUE_BYTES];

    *key = key_find(&criteria_key_table, name);
    key_format(&criteria_keys[*key], c, value, sizeof value);
    return rc_raise(RC_INVAL, "is %.63s; use %s", value, needs);
}

enum rc criteria_settle(struct criteria *c, int *key)
{
    const int n_names = named_stages(c->stages, c->runs);
    char least[64], all[64], quanta[64];
    enum rc rc = RC_OK;

    snprintf(least, sizeof least, "at least least_repeats_count, %d", c->least_repeats_count);
    snprintf(all, sizeof all, "at most integrity_steps_count, %.0f", c->integrity_steps_count);
    snprintf(quanta, sizeof quanta, "at least 10 times noise_quantum_s, %g", 10 * c->noise_quantum_s);
    if (n_names > 1 && names_all(c->stages))
        TRY(contradicts(c, "stages", "all alone, or names of stages", key));
    if (c->runs[ACCEPT_SOAK] && !(c->soak_minutes > 0)) {
        c->runs[ACCEPT_SOAK] = false;
        if (strcmp(c->stages, "all") != 0)
            TRY(contradicts(c, "soak_minutes", "more than 0, as stages names the soak", key));
    }
    if (c->most_repeats_count < c->least_repeats_count)
        TRY(contradicts(c, "most_repeats_count", least, key));
    if (c->noise_s < 10 * c->noise_quantum_s)
        TRY(contradicts(c, "noise_s", quanta, key));
    if (c->integrity_every_steps > c->integrity_steps_count)
        TRY(contradicts(c, "integrity_every_steps", all, key));
    if (c->rank_order_training_steps_count > 0 && c->rank_order_training_steps_count < TRAINING_LEAST_STEPS)
        TRY(contradicts(c, "rank_order_training_steps_count", "0, or at least 10", key));
    *key = key_find(&criteria_key_table, "collective_bytes");
    TRY(check_sizes(c->collective_bytes));
    *key = key_find(&criteria_key_table, "ps_bytes");
    TRY(check_sizes(c->ps_bytes));
out:
    return rc;
}
