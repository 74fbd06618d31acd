/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_file_test.c - what is written reads as it was: every preset, and values and comments that YAML could take
 * for something else. */
#include "harness/cluster/cluster_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cluster/cluster_keys.h"

struct known {
    struct cluster cluster;
    struct cluster_sources sources;
};

/* Write k, read it again. */
static struct known again(const struct known *k, const char *head)
{
    char folder[] = "cluster-write-test-XXXXXX", path[64];
    struct known read = { 0 };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/c.yaml", folder);
    if (cluster_write(&k->cluster, &k->sources, head, path) != RC_OK)
        fail_msg("%s", rc_message());
    if (cluster_load(&read.cluster, &read.sources, path) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    return read;
}

static void assert_same(const struct known *read, const struct known *wanted)
{
    char value[64], should[64];

    for (int i = 0; i < CLUSTER_N_KEYS; i++) {
        cluster_key_format(&read->cluster, i, value, sizeof value);
        cluster_key_format(&wanted->cluster, i, should, sizeof should);
        assert_string_equal(value, should);
        if (cluster_keys[i].type == KEY_REAL)
            assert_true(cluster_key_number(&read->cluster, i) == cluster_key_number(&wanted->cluster, i));
    }
    assert_true(read->cluster.assumed == wanted->cluster.assumed);
}

static void presets_come_back(void **state)
{
    struct known k;

    (void)state;
    for (int i = 0; cluster_preset_name(i); i++) {
        if (cluster_find(&k.cluster, &k.sources, cluster_preset_name(i)) != RC_OK)
            fail_msg("%s", rc_message());
        const struct known read = again(&k, "a head\n\nof three lines: # : \" {");
        assert_same(&read, &k);
        for (int key = 0; key < CLUSTER_N_KEYS; key++)
            if (strcmp(read.sources.text[key], "assumed: not given") != 0)
                assert_string_equal(read.sources.text[key], k.sources.text[key]);
    }
}

static void the_default_comes_back(void **state)
{
    struct known k;

    (void)state;
    if (cluster_find(&k.cluster, &k.sources, "") != RC_OK)
        fail_msg("%s", rc_message());
    struct known read = again(&k, NULL);
    assert_same(&read, &k);
    /* a value that was given, though it is the default's and has no effect */
    assert_int_equal(cluster_set(&k.cluster, &k.sources, "rdma_message_s=0.5e-6"), RC_OK);
    read = again(&k, NULL);
    assert_same(&read, &k);
}

/* Values to the last digit, and names and comments that mean something in YAML. */
static void nothing_is_taken_for_syntax(void **state)
{
    static const char *const name[] = { "a: b", "x #y", "\"quoted\\", "- 1", "{}", "12", "no", "\xc3\xa4 b", "'", "|" };
    struct known k;

    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        cluster_default(&k.cluster);
        memset(&k.sources, 0, sizeof k.sources);
        snprintf(k.cluster.name, sizeof k.cluster.name, "%s", name[i]);
        assert_int_equal(cluster_set(&k.cluster, &k.sources,
                                     "link_bits_per_s=939876543.21098765,link_latency_s=0.00001234567890123456,"
                                     "protocol=tcp,tcp_message_s=3.3e-07,jitter=lognormal,jitter_ratio=0.1"),
                         RC_OK);
        snprintf(k.sources.text[0], sizeof k.sources.text[0], "%s", name[i]);
        snprintf(k.sources.text[3], sizeof k.sources.text[3], "measured: 28 pairs # of \"8\": {a, b}, 4.1 %%");
        const struct known read = again(&k, NULL);
        assert_same(&read, &k);
        assert_string_equal(read.cluster.name, name[i]);
        assert_string_equal(read.sources.text[0], name[i]);
        assert_string_equal(read.sources.text[3], k.sources.text[3]);
    }
}

/* 255 bytes, wrapped over lines, come back as one; an assumed value says so even where its source does not. */
static void long_sources_are_wrapped(void **state)
{
    const int key = cluster_key_find("flops_per_s"), other = cluster_key_find("memory_bytes_per_s");
    struct known k;

    (void)state;
    cluster_default(&k.cluster);
    memset(&k.sources, 0, sizeof k.sources);
    for (size_t i = 0; i < CLUSTER_SOURCE_BYTES - 1; i++)
        k.sources.text[key][i] = i % 7 == 6 ? ' ' : (char)('a' + i % 26);
    k.sources.text[key][CLUSTER_SOURCE_BYTES - 2] = 'z';
    snprintf(k.sources.text[other], CLUSTER_SOURCE_BYTES, "no link to measure");
    k.cluster.assumed &= ~(UINT64_C(1) << key);
    const struct known read = again(&k, NULL);
    assert_same(&read, &k);
    assert_string_equal(read.sources.text[key], k.sources.text[key]);
    assert_string_equal(read.sources.text[other], "assumed: no link to measure");
}

static void errors_name_the_file_and_leave_none(void **state)
{
    struct known k;

    (void)state;
    cluster_default(&k.cluster);
    memset(&k.sources, 0, sizeof k.sources);
    assert_int_equal(cluster_write(&k.cluster, &k.sources, NULL, "no-such-folder/c.yaml"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "no-such-folder/c.yaml"));
    k.cluster.jitter_ratio = 0.1; /* without a distribution */
    assert_int_equal(cluster_write(&k.cluster, &k.sources, NULL, "cluster-write-test.yaml"), RC_INVAL);
    assert_int_not_equal(access("cluster-write-test.yaml", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_come_back),
        cmocka_unit_test(the_default_comes_back),
        cmocka_unit_test(nothing_is_taken_for_syntax),
        cmocka_unit_test(long_sources_are_wrapped),
        cmocka_unit_test(errors_name_the_file_and_leave_none),
    };

    return cmocka_run_group_tests_name("cluster_file", tests, NULL, NULL);
}
