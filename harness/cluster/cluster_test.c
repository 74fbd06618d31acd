/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_test.c - cluster descriptions: the right ones, each wrong one's message, and thousands of broken ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"
#include "harness/cluster/cluster_keys.h"

static const char valid[] = "name: four-nodes            # text\n"
                            "hosts_count: 4\n"
                            "ranks_per_host_count: 1\n"
                            "link_bits_per_s: 1e9\n"
                            "link_latency_s: 25e-6\n"
                            "local_bytes_per_s: 6e9\n"
                            "local_latency_s: 2e-6\n"
                            "flops_per_s: 20e9\n"
                            "memory_bytes_per_s: 8e9\n"
                            "cores_per_rank_count: 3\n";

/* Load text; what rc_message() says behind the path goes to said (RC_INVAL only). */
static enum rc load(struct cluster *out, const char *text, size_t n_bytes, char *said, size_t n_said)
{
    char path[] = "cluster-test-XXXXXX";
    const int fd = mkstemp(path);
    enum rc rc;

    assert_true(fd >= 0);
    assert_true(write(fd, text, n_bytes) == (ssize_t)n_bytes);
    close(fd);
    rc = cluster_load(out, NULL, path);
    said[0] = '\0';
    if (rc != RC_OK) {
        assert_true(strncmp(rc_message(), path, strlen(path)) == 0);
        snprintf(said, n_said, "%s", rc_message() + strlen(path));
    }
    unlink(path);
    return rc;
}

/* valid with line `line` (from 1) replaced ("" removes it). */
static void edit(char *out, size_t n_bytes, int line, const char *replacement)
{
    const char *at = valid;
    size_t n = 0;

    for (int l = 1; *at; l++) {
        const char *end = strchr(at, '\n') + 1;
        const int n_added = l == line ? snprintf(out + n, n_bytes - n, "%s%s", replacement, *replacement ? "\n" : "")
                                      : snprintf(out + n, n_bytes - n, "%.*s", (int)(end - at), at);
        n += (size_t)n_added;
        at = end;
    }
}

UNIT_TEST(a_valid_file_is_read)
{
    struct cluster c;
    char said[512];

    assert_int_equal(load(&c, valid, strlen(valid), said, sizeof said), RC_OK);
    assert_string_equal(c.name, "four-nodes");
    assert_int_equal(c.n_hosts, 4);
    assert_int_equal(c.n_ranks_per_host, 1);
    assert_int_equal(c.n_cores_per_rank, 3);
    assert_true(c.link_bytes_per_s == 125e6 && c.link_latency_s == 25e-6);
    assert_true(c.local_bytes_per_s == 6e9 && c.local_latency_s == 2e-6);
    assert_true(c.flops_per_s == 20e9 && c.memory_bytes_per_s == 8e9);
}

UNIT_TEST(optional_keys_have_defaults)
{
    static const char text[] = "{hosts_count: 0, ranks_per_host_count: 4, link_bits_per_s: 25e9,\n"
                               " link_latency_s: 1e-6, flops_per_s: 1, memory_bytes_per_s: 1}\n";
    struct cluster c, standard;
    char said[512];

    cluster_default(&standard);
    assert_int_equal(load(&c, text, strlen(text), said, sizeof said), RC_OK);
    assert_string_equal(c.name, "unnamed");
    assert_int_equal(c.n_hosts, 0);
    assert_int_equal(c.n_cores_per_rank, 1);
    assert_true(c.local_bytes_per_s == standard.local_bytes_per_s);
    assert_true(c.local_latency_s == standard.local_latency_s);
}

UNIT_TEST(all_missing_keys_are_named)
{
    static const char text[] = "{name: a, link_latency_s: 1e-6}\n";
    struct cluster c;
    char said[512];

    assert_int_equal(load(&c, text, strlen(text), said, sizeof said), RC_INVAL);
    assert_string_equal(said, ":1: hosts_count, ranks_per_host_count, link_bits_per_s: are missing; the file ends "
                              "without them");
}

/* Without rates computing takes no time, until one is set; who computes does not take such a description. */
UNIT_TEST(rates_of_computing_may_be_missing)
{
    static const char text[] =
        "{hosts_count: 0, ranks_per_host_count: 4, link_bits_per_s: 25e9, link_latency_s: 1e-6}\n";
    struct cluster c;
    char said[512];

    assert_int_equal(load(&c, text, strlen(text), said, sizeof said), RC_OK);
    assert_true(c.flops_per_s > 1e23 && c.memory_bytes_per_s > 1e17);
    assert_int_equal(cluster_check_compute(&c), RC_INVAL);
    assert_non_null(strstr(rc_message(), "flops_per_s, memory_bytes_per_s"));
    assert_int_equal(cluster_set(&c, NULL, "flops_per_s=1e12"), RC_OK);
    assert_int_equal(cluster_check_compute(&c), RC_INVAL);
    assert_int_equal(cluster_set(&c, NULL, "memory_bytes_per_s=1e12"), RC_OK);
    assert_int_equal(cluster_check_compute(&c), RC_OK);
}

UNIT_TEST(examples_are_valid)
{
    struct cluster c;

    assert_int_equal(cluster_load(&c, NULL, PRESETS "/ethernet-1g.yaml"), RC_OK);
    assert_string_equal(c.name, "ethernet-1g");
    assert_int_equal(c.n_hosts * c.n_ranks_per_host, 8);
    assert_true(c.link_bytes_per_s == 125e6);
    assert_int_equal(cluster_load(&c, NULL, PRESETS "/rdma-25g-4x4.yaml"), RC_OK);
    assert_string_equal(c.name, "rdma-25g-4x4");
    assert_int_equal(c.n_hosts * c.n_ranks_per_host, 512);
    assert_true(c.link_bytes_per_s == 25e9 / 8);
}

UNIT_TEST(each_error_names_line_and_key)
{
    static const struct {
        int line;
        const char *replacement, *message;
    } wrong[] = {
        { 2, "hosts_coun: 4", ":2: hosts_coun: no such key; the nearest is hosts_count" },
        { 2, "zzz: 4", ":2: zzz: no such key; there are name, hosts_count, ranks_per_host_count, " },
        { 2, "hosts_count: -1", ":2: hosts_count: is \"-1\"; use a whole number from 0 to 1e+06" },
        { 2, "hosts_count: 1000001", ":2: hosts_count: is \"1000001\"; use a whole number from 0 to 1e+06" },
        { 2, "hosts_count: 1.5", ":2: hosts_count: is \"1.5\"; use a whole number from 0 to 1e+06" },
        { 2, "hosts_count:", ":2: hosts_count: is \"\"; use a whole number from 0 to 1e+06" },
        { 2, "hosts_count: 99999999999999999999",
          ":2: hosts_count: is \"99999999999999999999\"; use a whole number from 0 to 1e+06" },
        { 10, "cores_per_rank_count: 0.5",
          ":10: cores_per_rank_count: is \"0.5\"; use a whole number from 1 to 1e+06" },
        { 3, "ranks_per_host_count: 0", ":3: ranks_per_host_count: is \"0\"; use a whole number from 1 to 1e+06" },
        { 4, "link_bits_per_s: nan", ":4: link_bits_per_s: is \"nan\"; use a number from 1 to 1e+18" },
        { 4, "link_bits_per_s: inf", ":4: link_bits_per_s: is \"inf\"; use a number from 1 to 1e+18" },
        { 4, "link_bits_per_s: 1e999", ":4: link_bits_per_s: is \"1e999\"; use a number from 1 to 1e+18" },
        { 4, "link_bits_per_s: 1 Gbit",
          ":4: link_bits_per_s: is \"1 Gbit\"; use a number from 1 to 1e+18 (1 Gbit is 1e+09 bits/s)" },
        { 4, "link_bits_per_s: 25GB/s",
          ":4: link_bits_per_s: is \"25GB/s\"; use a number from 1 to 1e+18 (25 GB/s is 2e+11 bits/s)" },
        { 5, "link_latency_s: 5us",
          ":5: link_latency_s: is \"5us\"; use a number from 1e-09 to 1000 (5 us is 5e-06 s)" },
        { 6, "local_bytes_per_s: 25 gbit/s",
          ":6: local_bytes_per_s: is \"25 gbit/s\"; use a number from 1 to 1e+18 (25 gbit/s is 3.125e+09 bytes/s)" },
        { 5, "link_latency_s: 0", ":5: link_latency_s: is \"0\"; use a number from 1e-09 to 1000" },
        { 5, "link_latency_s: -1e-6", ":5: link_latency_s: is \"-1e-6\"; use a number from 1e-09 to 1000" },
        { 6, "local_bytes_per_s:", ":6: local_bytes_per_s: is \"\"; use a number from 1 to 1e+18" },
        { 8, "flops_per_s: 0x10", ":8: flops_per_s: is \"0x10\"; use a number from 1 to 1e+24" },
        { 8, "flops_per_s: [1, 2]", ":8: the value is a list or a mapping; use one text or number" },
        { 9, "memory_bytes_per_s: 0", ":9: memory_bytes_per_s: is \"0\"; use a number from 1 to 1e+18" },
        { 5, "", ":9: link_latency_s: is missing; the file ends without it" },
        { 7, "hosts_count: 5 # again", ":7: hosts_count: is given twice" },
        { 3, "ranks_per_host_count: \"1", ":3: not YAML: found unexpected end of stream" },
        { 3, "\tranks_per_host_count: 1", ":3: not YAML: found a tab character that violates indentation" },
        { 3, "ranks_per_host_count 1",
          ":3: not YAML: could not find expected ':'; use a space behind the colon, as in key: value" },
        { 1, "\tname: a", ":1: not YAML: found character that cannot start any token; use spaces in place of a tab" },
        { 9, "memory_bytes_per_s: 1.5G",
          ":9: memory_bytes_per_s: is \"1.5G\"; use a number from 1 to 1e+18 (1.5 G is 1.5e9)" },
        { 9, "memory_bytes_per_s: 1\n---\nname: b", ":12: a second document begins; use one" },
        { 1, "name: \"a\\tb\"", ":1: name: has a control character; use printable text" },
        { 2, "hosts_count: *x", ":2: an alias (*) names nothing; use a text or number" },
    };
    char text[1024], said[512];
    struct cluster c;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&c, 0x5a, sizeof c);
        edit(text, sizeof text, wrong[i].line, wrong[i].replacement);
        assert_int_equal(load(&c, text, strlen(text), said, sizeof said), RC_INVAL);
        const size_t n = strlen(wrong[i].message);
        if (strcmp(wrong[i].message + n - 2, ", ") == 0 && strlen(said) > n)
            said[n] = '\0'; /* presets_test.c lists all keys */
        assert_string_equal(said, wrong[i].message);
        assert_int_equal(c.n_hosts, 0x5a5a5a5a); /* out only on success */
    }
}

UNIT_TEST(unreadable_files_are_named)
{
    struct cluster c;
    char said[512];

    assert_int_equal(cluster_load(&c, NULL, "no/such/file.yaml"), RC_INVAL);
    assert_names(rc_message(), "no/such/file.yaml:");
    assert_int_equal(cluster_load(&c, NULL, "/"), RC_INVAL);
    assert_string_equal(rc_message(), "/: cannot be read: Is a directory");
    assert_int_equal(load(&c, "", 0, said, sizeof said), RC_INVAL);
    assert_string_equal(said, ":1: is empty; use lines of the form key: value");
    assert_int_equal(load(&c, "# nothing\n", 10, said, sizeof said), RC_INVAL);
    assert_string_equal(said, ":1: is empty; use lines of the form key: value");
    assert_int_equal(load(&c, "- a\n", 4, said, sizeof said), RC_INVAL);
    assert_string_equal(said, ":1: use lines of the form key: value");
}

UNIT_TEST(a_long_file_is_refused)
{
    const size_t n_bytes = (size_t)10 << 20;
    char *text = malloc(n_bytes), said[512];
    struct cluster c;

    assert_non_null(text);
    memset(text, '\n', n_bytes);
    assert_int_equal(load(&c, text, n_bytes, said, sizeof said), RC_INVAL);
    assert_string_equal(said, ": cannot be read: longer than 65536 bytes, so not a cluster description");
    memset(text, '[', n_bytes);
    assert_int_equal(load(&c, text, 60000, said, sizeof said), RC_INVAL);
    free(text);
}

UNIT_TEST(ranks_must_fit)
{
    struct cluster c;

    cluster_default(&c);
    assert_int_equal(cluster_check(&c, CLUSTER_MAX_RANKS, CLUSTER_MAX_RANKS), RC_OK); /* as many hosts as needed */
    assert_int_equal(cluster_check(&c, CLUSTER_MAX_RANKS + 1, CLUSTER_MAX_RANKS + 1), RC_INVAL);
    assert_non_null(strstr(rc_message(), "at most 8192"));
    c.n_hosts = 1000000;
    c.n_ranks_per_host = 1000000;
    assert_int_equal(cluster_check(&c, CLUSTER_MAX_RANKS, CLUSTER_MAX_RANKS), RC_OK); /* the product exceeds an int */
    c.n_hosts = 3;
    c.n_ranks_per_host = 4;
    assert_int_equal(cluster_check(&c, 12, 12), RC_OK);
    assert_int_equal(cluster_check(&c, 13, 13), RC_INVAL);
    assert_names(rc_message(), "cluster default: 13 ranks ... 3 hosts ... 4 ranks ... 12 ranks ... hosts_count ... 4");
    assert_int_equal(cluster_check(&c, 0, 0), RC_INVAL);
}

/* One random edit of text[n]: overwrite, insert, remove, cut, or copy a piece elsewhere. */
static size_t mutate(char *text, size_t n, size_t n_max, uint64_t seed)
{
    static const char alphabet[] = "0123456789eE+-.:#{}[]\"'\\,&*!|>%@` \n\t_azn?\0\x01\x80\xff";
    const uint64_t a = rng_u64(seed, RNG_TEST, 1), b = rng_u64(seed, RNG_TEST, 2), c = rng_u64(seed, RNG_TEST, 3);
    const size_t at = n ? a % n : 0;
    size_t n_piece = n ? 1 + b % 24 : 0;

    if (n_piece > n - at)
        n_piece = n - at;
    switch (c % 5) {
    case 0:
        if (n)
            text[at] = alphabet[b % (sizeof alphabet - 1)];
        return n;
    case 1:
        if (n + 1 > n_max)
            return n;
        memmove(text + at + 1, text + at, n - at);
        text[at] = alphabet[b % (sizeof alphabet - 1)];
        return n + 1;
    case 2:
        memmove(text + at, text + at + n_piece, n - at - n_piece);
        return n - n_piece;
    case 3:
        return b % 8 ? n : at;
    default:
        if (n + n_piece > n_max)
            return n;
        memmove(text + at + n_piece, text + at, n - at);
        return n + n_piece;
    }
}

UNIT_TEST(broken_files_give_one_line)
{
    enum { N_FILES = 4000, TEXT_BYTES = 2048 };
    char text[TEXT_BYTES], said[600];
    int n_valid = 0, n_refused = 0;

    for (uint64_t i = 0; i < N_FILES; i++) {
        size_t n = strlen(valid);
        struct cluster c;
        memcpy(text, valid, n);
        for (uint64_t k = 0; k <= i % 6; k++)
            n = mutate(text, n, sizeof text, 8 * i + k);
        const enum rc rc = load(&c, text, n, said, sizeof said);
        assert_true(rc == RC_OK || rc == RC_INVAL);
        *(rc == RC_OK ? &n_valid : &n_refused) += 1;
        if (rc == RC_OK) {
            assert_true(c.link_bytes_per_s > 0 && c.link_latency_s > 0 && c.flops_per_s > 0);
            assert_true(c.n_hosts >= 0 && c.n_ranks_per_host >= 1);
            continue;
        }
        assert_true(said[0] == ':' && said[1] >= '1' && said[1] <= '9'); /* FILE:LINE */
        for (const char *s = said; *s; s++)
            assert_true((unsigned char)*s >= 0x20 && *s != 0x7f);
    }
    assert_true(n_valid > N_FILES / 50 && n_refused > N_FILES / 2); /* both kinds were tried */
}

/* What is written reads as it was: every preset, and values and comments that YAML could take
 * for something else. */

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

UNIT_TEST(presets_come_back)
{
    struct known k;

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

UNIT_TEST(the_default_comes_back)
{
    struct known k;

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
UNIT_TEST(nothing_is_taken_for_syntax)
{
    static const char *const name[] = { "a: b", "x #y", "\"quoted\\", "- 1", "{}", "12", "no", "\xc3\xa4 b", "'", "|" };
    struct known k;

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
UNIT_TEST(long_sources_are_wrapped)
{
    const int key = cluster_key_find("flops_per_s"), other = cluster_key_find("memory_bytes_per_s");
    struct known k;

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

UNIT_TEST(errors_name_the_file_and_leave_none)
{
    struct known k;

    cluster_default(&k.cluster);
    memset(&k.sources, 0, sizeof k.sources);
    assert_int_equal(cluster_write(&k.cluster, &k.sources, NULL, "no-such-folder/c.yaml"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "no-such-folder/c.yaml"));
    k.cluster.jitter_ratio = 0.1; /* without a distribution */
    assert_int_equal(cluster_write(&k.cluster, &k.sources, NULL, "cluster-write-test.yaml"), RC_INVAL);
    assert_int_not_equal(access("cluster-write-test.yaml", F_OK), 0);
}

UNIT_MAIN("cluster")
