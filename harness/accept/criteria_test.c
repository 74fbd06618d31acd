/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_test.c - criteria: their defaults, each wrong file's message (accept.C3), and files that come back
 * (accept.C2). */
#include "harness/accept/criteria.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/accept/criteria_keys.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

/* All values, and what follows from them. */
static void assert_same(const struct criteria *read, const struct criteria *wanted)
{
    char value[KEY_VALUE_BYTES], should[KEY_VALUE_BYTES];

    for (int i = 0; i < CRITERIA_N_KEYS; i++) {
        key_format(&criteria_keys[i], read, value, sizeof value);
        key_format(&criteria_keys[i], wanted, should, sizeof should);
        assert_string_equal(value, should);
    }
    assert_memory_equal(read->runs, wanted->runs, sizeof read->runs);
}

UNIT_TEST(defaults_are_sensible)
{
    struct criteria c;
    size_t size[ACCEPT_MAX_SIZES];

    criteria_default(&c);
    assert_string_equal(c.name, "unnamed");
    assert_string_equal(c.stages, "all");
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        assert_int_equal(c.runs[s], s != ACCEPT_SOAK); /* it has no minutes */
    assert_true(c.stage_limit_s == 600 && c.false_discovery_ratio == 0.05 && c.least_effect_ratio == 0.1);
    assert_true(c.least_repeats_count == 3 && c.most_repeats_count == 10);
    assert_true(c.least_flops_per_s == 0 && c.least_pair_bytes_per_s == 0 && c.most_detour_ratio == 0);
    assert_true(c.noise_quantum_s == 1e-3 && c.noise_s == 1 && c.pairwise_message_bytes == 4194304);
    assert_string_equal(c.reducer, "ring");
    assert_string_equal(c.training_model, "lenet");
    assert_true(c.training_steps_count == 60 && c.integrity_steps_count == 64 && c.integrity_every_steps == 16);
    assert_true(c.soak_minutes == 0 && c.most_drift_ratio == 0.1 && c.most_straggling_ratio == 0.2);
    assert_int_equal(criteria_sizes(c.collective_bytes, size), 3);
    assert_true(size[0] == 4096 && size[1] == 262144 && size[2] == 4194304);
    assert_int_equal(criteria_sizes(c.ps_bytes, size), 3);
    assert_int_equal(criteria_sizes("4Ki,1Mi", size), 2);
    assert_true(size[0] == 4096 && size[1] == 1048576);
}

/* base.K1, accept.C1: every member but runs has a row, and stages can name each stage. */
UNIT_TEST(the_table_is_sound)
{
    struct criteria c, again;
    char text[KEY_VALUE_BYTES];
    size_t n_bytes = sizeof c.runs;

    criteria_default(&c);
    memset(&again, 0x5a, sizeof again);
    for (int i = 0; i < CRITERIA_N_KEYS; i++) {
        const struct key *k = &criteria_keys[i];
        assert_int_equal(key_find(&criteria_key_table, k->name), i);
        assert_true(k->meaning[0] != '\0' && k->meaning[strlen(k->meaning) - 1] != '.');
        key_format(k, &c, text, sizeof text);
        assert_int_equal(key_set(k, &again, text), RC_OK);
        n_bytes += k->member_bytes;
    }
    memcpy(again.runs, c.runs, sizeof c.runs);
    assert_same(&again, &c);
    assert_true(n_bytes <= sizeof c && n_bytes + 32 > sizeof c); /* what is left is padding */
    const struct key *stages = &criteria_keys[key_find(&criteria_key_table, "stages")];
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        assert_int_equal(key_set(stages, &c, accept_stage_name((enum accept_stage)s)), RC_OK);
}

static enum rc parse(struct criteria *out, const char *text)
{
    return criteria_parse(out, "c.yaml", text, strlen(text));
}

UNIT_TEST(files_change_what_they_say)
{
    struct criteria c, wanted;

    criteria_default(&wanted);
    snprintf(wanted.stages, sizeof wanted.stages, "compute,pairwise");
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        wanted.runs[s] = s == ACCEPT_COMPUTE || s == ACCEPT_PAIRWISE;
    wanted.least_flops_per_s = 1.5e10;
    wanted.pairwise_message_bytes = 1048576;
    snprintf(wanted.ps_bytes, sizeof wanted.ps_bytes, "64,128");
    if (parse(&c, "# a comment\nstages: compute,pairwise\nleast_flops_per_s: 15e9 # measured\n"
                  "pairwise_message_bytes: 1Mi\nps_bytes: 64,128\n") != RC_OK)
        fail_msg("%s", rc_message());
    assert_same(&c, &wanted);
    assert_int_equal(parse(&c, "soak_minutes: 5\n"), RC_OK);
    assert_true(c.runs[ACCEPT_SOAK] && c.runs[ACCEPT_PREFLIGHT]);
    assert_int_equal(parse(&c, "ps_bytes: 4\n"), RC_OK);
    assert_string_equal(c.ps_bytes, "4");
}

#define CRITERIA_KEYS                                                                                    \
    "name, stages, stage_limit_s, false_discovery_ratio, least_effect_ratio, least_repeats_count, "      \
    "most_repeats_count, most_clock_skew_s, least_memory_free_bytes, least_link_bits_per_s, "            \
    "least_cores_count, least_flops_per_s, least_memory_bytes_per_s, noise_quantum_s, noise_s, "         \
    "most_detour_ratio, most_longest_detour_s, pairwise_message_bytes, least_pair_bytes_per_s, "         \
    "most_pair_latency_s, reducer, collective_bytes, least_busbw_bytes_per_s, least_busbw_bound_ratio, " \
    "rank_order_bytes, least_rank_order_ratio, ps_bytes, least_goodput_bytes_per_s, "                    \
    "least_goodput_bound_ratio, training_model, training_steps_count, rank_order_training_steps_count, " \
    "least_efficiency_ratio, most_exposed_ratio, integrity_steps_count, integrity_every_steps, "         \
    "soak_minutes, most_drift_ratio, most_straggling_ratio"

UNIT_TEST(each_error_names_line_key_and_value)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        { "name: a\nleast_flop_per_s: 1\n",
          "c.yaml:2: least_flop_per_s: no such key; the nearest is least_flops_per_s" },
        { "name: a\n\nstages: compute,nois\n",
          "c.yaml:3: stages: is \"compute,nois\"; the nearest to nois is noise; use names with commas between, each "
          "one of "
          "all|preflight|compute|noise|pairwise|collectives|ps|training|integrity|soak" },
        { "stages:\n", "c.yaml:1: stages: is \"\"; use names with commas between, each one of "
                       "all|preflight|compute|noise|pairwise|collectives|ps|training|integrity|soak" },
        { "stages: all,ps\n", "c.yaml:1: stages: is all,ps; use all alone, or names of stages" },
        { "stages: ps,all\n", "c.yaml:1: stages: is ps,all; use all alone, or names of stages" },
        { "stages: ps,soak\n", "c.yaml:1: soak_minutes: is 0; use more than 0, as stages names the soak" },
        { "name: a\nsoak_minutes: 0\nstages: soak\n",
          "c.yaml:2: soak_minutes: is 0; use more than 0, as stages names the soak" },
        { "soak_minutes: -1\n", "c.yaml:1: soak_minutes: is \"-1\"; use a number from 0 to 100000" },
        { "least_repeats_count: 5\nmost_repeats_count: 4\n",
          "c.yaml:2: most_repeats_count: is 4; use at least least_repeats_count, 5" },
        { "least_repeats_count: 11\n", "c.yaml:1: most_repeats_count: is 10; use at least least_repeats_count, 11" },
        { "least_repeats_count: 1\n", "c.yaml:1: least_repeats_count: is \"1\"; use a whole number from 2 to 64" },
        { "most_repeats_count: 65\n", "c.yaml:1: most_repeats_count: is \"65\"; use a whole number from 2 to 64" },
        { "least_cores_count: 1.5\n", "c.yaml:1: least_cores_count: is \"1.5\"; use a whole number from 0 to 1e+06" },
        { "false_discovery_ratio: 0\n", "c.yaml:1: false_discovery_ratio: is \"0\"; use a number from 1e-09 to 0.5" },
        { "stage_limit_s: 0\n", "c.yaml:1: stage_limit_s: is \"0\"; use a number from 1 to 86400" },
        { "least_flops_per_s: fast\n", "c.yaml:1: least_flops_per_s: is \"fast\"; use a number from 0 to 1e+24" },
        { "least_efficiency_ratio: 90\n", "c.yaml:1: least_efficiency_ratio: is \"90\"; use a number from 0 to 1" },
        { "noise_quantum_s: 0.2\n", "c.yaml:1: noise_s: is 1; use at least 10 times noise_quantum_s, 2" },
        { "integrity_every_steps: 65\n",
          "c.yaml:1: integrity_every_steps: is 65; use at most integrity_steps_count, 64" },
        { "collective_bytes: 4096,2\n",
          "c.yaml:1: collective_bytes: is \"4096,2\"; use whole numbers with commas between, each from 4 to 1e+10" },
        { "collective_bytes: 4096,64\n",
          "c.yaml:1: collective_bytes: is \"4096,64\"; use sizes that rise: 64 is not above 4096" },
        { "name: a\nps_bytes: 64,64\n", "c.yaml:2: ps_bytes: is \"64,64\"; use sizes that rise: 64 is not above 64" },
        { "name: a\ncollective_bytes: 4096,4098\n",
          "c.yaml:2: collective_bytes: is \"4096,4098\"; use multiples of 4: 4098 is none, 4096 and 4100 are" },
        { "ps_bytes: 5\n", "c.yaml:1: ps_bytes: is \"5\"; use multiples of 4: 5 is none, 4 and 8 are" },
        { "training_steps_count: 100000001\n",
          "c.yaml:1: training_steps_count: is \"100000001\"; use a whole number from 10 to 1e+08" },
        { "integrity_steps_count: 1e9\n",
          "c.yaml:1: integrity_steps_count: is \"1e9\"; use a whole number from 1 to 1e+08" },
        { "integrity_every_steps: 100000001\n",
          "c.yaml:1: integrity_every_steps: is \"100000001\"; use a whole number from 1 to 1e+08" },
        { "ps_bytes: 4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20\n",
          "c.yaml:1: ps_bytes: has 17 sizes; use at most 16" },
        { "ps_bytes: [64, 128]\n", "c.yaml:1: the value is a list or a mapping; use one text or number" },
        { "reducer: rin\n", NULL },
        { "training_model: leenet\n", NULL },
        { "name: a\nname: b\n", "c.yaml:2: name: is given twice" },
        { "name: \"a\n", "c.yaml:1: not YAML: found unexpected end of stream" },
        { "", "c.yaml:1: is empty; use lines of the form key: value" },
        { "- a\n", "c.yaml:1: use lines of the form key: value" },
    };
    struct criteria c;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&c, 0x5a, sizeof c);
        assert_int_equal(parse(&c, wrong[i].text), RC_INVAL);
        if (wrong[i].message)
            assert_string_equal(rc_message(), wrong[i].message);
        assert_int_equal(c.least_repeats_count, 0x5a5a5a5a); /* out only on success */
    }
    assert_int_equal(parse(&c, "reducer: rin\n"), RC_INVAL); /* modules come and go: not the list of all */
    assert_names(rc_message(), "c.yaml:1: reducer: ... \"rin\" ... ring");
    assert_int_equal(parse(&c, "training_model: leenet\n"), RC_INVAL);
    assert_names(rc_message(), "training_model: ... \"leenet\" ... lenet");
    assert_int_equal(criteria_load(&c, "no/such.yaml"), RC_INVAL);
    assert_names(rc_message(), "no/such.yaml:");
}

UNIT_TEST(settings_change_values)
{
    struct criteria c;

    criteria_default(&c);
    assert_int_equal(criteria_set(&c, "stages=compute,noise\ncollective_bytes=64,128,soak_minutes=2\n"), RC_OK);
    assert_true(c.runs[ACCEPT_COMPUTE] && c.runs[ACCEPT_NOISE] && !c.runs[ACCEPT_PS]);
    assert_string_equal(c.collective_bytes, "64,128");
    assert_true(c.soak_minutes == 2 && !c.runs[ACCEPT_SOAK]);
    assert_int_equal(criteria_set(&c, "stages=all"), RC_OK);
    assert_true(c.runs[ACCEPT_SOAK] && c.runs[ACCEPT_PS]);
    assert_int_equal(criteria_set(&c, ""), RC_OK);
    const struct criteria before = c;
    assert_int_equal(criteria_set(&c, "noise_s=2,nois_s=3"), RC_INVAL);
    assert_string_equal(rc_message(), "--criteria-set nois_s=3: no such key; the nearest is noise_s");
    assert_int_equal(criteria_set(&c, "most_repeats_count=2"), RC_INVAL);
    assert_names(rc_message(), "--criteria-set most_repeats_count: ... 2 ... least_repeats_count, 3");
    assert_same(&c, &before);
}

UNIT_TEST(few_nodes_make_all_repeats)
{
    struct criteria c;

    criteria_default(&c);
    criteria_for_nodes(&c, CRITERIA_FEW_NODES);
    assert_int_equal(c.least_repeats_count, 3);
    criteria_for_nodes(&c, CRITERIA_FEW_NODES - 1);
    assert_int_equal(c.least_repeats_count, c.most_repeats_count);
    assert_int_equal(c.most_repeats_count, 10);
}

UNIT_TEST(stages_can_be_chosen)
{
    struct criteria c;

    criteria_default(&c);
    assert_int_equal(criteria_choose(&c, "--stages", "pairwise,noise"), RC_OK);
    assert_string_equal(c.stages, "noise,pairwise");
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        assert_int_equal(c.runs[s], s == ACCEPT_NOISE || s == ACCEPT_PAIRWISE);
    assert_int_equal(criteria_choose(&c, "--stages", ""), RC_OK);
    assert_int_equal(criteria_choose(&c, "--stages", "soka"), RC_INVAL);
    assert_names(
        rc_message(),
        "--stages soka: ... soak ... preflight, compute, noise, pairwise, collectives, ps, training, integrity, soak");
    assert_string_equal(c.stages, "noise,pairwise");
}

/* Write c, read it again; the file's text to text. */
static void come_back(const struct criteria *c, const struct criteria_sources *sources, char *text, size_t n_bytes)
{
    char folder[] = "criteria-test-XXXXXX", path[64];
    struct criteria again;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/c.yaml", folder);
    if (criteria_write(c, sources, "Criteria\nof a test", path) != RC_OK || criteria_load(&again, path) != RC_OK)
        fail_msg("%s", rc_message());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, n_bytes - 1, f)] = '\0';
    fclose(f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    assert_same(&again, c);
}

UNIT_TEST(what_is_written_comes_back)
{
    static struct criteria_sources sources;
    static char text[32768];
    struct criteria c;

    criteria_default(&c);
    come_back(&c, NULL, text, sizeof text);
    assert_int_equal(strncmp(text, "# Criteria\n# of a test\n", 22), 0);
    assert_non_null(strstr(
        text, "\n# least rate of a matrix product, of every rank; 0: no limit (flop/s: a number from 0 to 1e+24)\n"
              "least_flops_per_s: 0            # the default\n"));
    assert_int_equal(criteria_set(&c,
                                  "name=a: # \"b\",stages=ps,soak,soak_minutes=0.1,least_flops_per_s=12345678901.25,"
                                  "false_discovery_ratio=0.0123456789012345,pairwise_message_bytes=123456789,"
                                  "collective_bytes=4Ki,1Mi,training_steps_count=100000000"),
                     RC_OK);
    snprintf(sources.text[key_find(&criteria_key_table, "least_flops_per_s")], CRITERIA_SOURCE_BYTES,
             "healthy run: x # \"y\": {");
    come_back(&c, &sources, text, sizeof text);
    assert_non_null(strstr(text, "least_flops_per_s: 12345678901.25 # healthy run: x # \"y\": {\n"));
    c.most_repeats_count = 2;
    assert_int_equal(criteria_write(&c, NULL, NULL, "criteria-test.yaml"), RC_INVAL);
    assert_int_not_equal(access("criteria-test.yaml", F_OK), 0);
    criteria_default(&c);
    assert_int_equal(criteria_write(&c, NULL, NULL, "no-such-folder/c.yaml"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "no-such-folder/c.yaml"));
}

UNIT_TEST(few_steps_compare_no_orders)
{
    struct criteria c;

    criteria_default(&c);
    assert_int_equal(criteria_set(&c, "rank_order_training_steps_count=9"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "is 9; use 0, or at least 10"));
    assert_int_equal(criteria_set(&c, "rank_order_training_steps_count=10"), RC_OK);
}

UNIT_MAIN("criteria")
