/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_keys.c - the keys of a description, and which of their values contradict each other. */
#include "harness/cluster/cluster_keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/key_table.h"
#include "harness/base/key_yaml.h"

#define WHOLE_(name_, m, lo, hi, required, def_, unit_, meaning_)                                       \
    {                                                                                                   \
        .name = name_, .type = KEY_WHOLE, KEY_MEMBER_(struct cluster, m, int), .least = lo, .most = hi, \
        .is_required = required, .def = def_, .unit = unit_, .meaning = meaning_                        \
    }
#define REAL_(name_, m, lo, hi, required, def_, unit_, meaning_, only_)                                   \
    {                                                                                                     \
        .name = name_, .type = KEY_REAL, KEY_MEMBER_(struct cluster, m, double), .least = lo, .most = hi, \
        .is_required = required, .def = def_, .unit = unit_, .meaning = meaning_, .only = only_           \
    }
#define CHOICE_(name_, m, choices_, def_, meaning_)                                                               \
    {                                                                                                             \
        .name = name_, .type = KEY_CHOICE, KEY_MEMBER_(struct cluster, m, int), .choices = choices_, .def = def_, \
        .unit = "", .meaning = meaning_                                                                           \
    }
#define PROTOCOL_(p, latency, message, rate, process)                                                             \
    REAL_(#p "_latency_s", p.latency_s, 0, 1e3, false, latency, "s", "of " #p ", one way, beside the link's",     \
          "protocol=" #p),                                                                                        \
        REAL_(#p "_message_s", p.message_s, 0, 1, false, message, "s",                                            \
              "for which a message of " #p " occupies the process that sends it, and the one that gets it",       \
              "protocol=" #p),                                                                                    \
        REAL_(#p "_eager_bytes", p.eager_bytes, 0, 1e18, false, "0", "bytes",                                     \
              "longest message of " #p " whose sender does not wait until it has arrived; 0: no sender waits",    \
              "protocol=" #p),                                                                                    \
        REAL_(#p "_rate_ratio", p.rate_ratio, 1e-3, 1, false, rate, "", "of the link's rate that " #p " carries", \
              "protocol=" #p),                                                                                    \
        REAL_(#p "_process_bytes_per_s", p.process_bytes_per_s, 0, 1e18, false, process, "bytes/s",               \
              "what one process sends and receives by " #p ", together, at most; 0: no limit", "protocol=" #p)

/* The defaults of the protocols are assumptions, from the middle of what was published for each; a preset says more. */
const struct key cluster_keys[] = {
    { .name = "name",
      .type = KEY_TEXT,
      KEY_LETTERS_(struct cluster, name),
      .def = "unnamed",
      .unit = "",
      .meaning = "of the cluster" },
    WHOLE_("hosts_count", n_hosts, 0, 1e6, true, "0", "hosts", "of the cluster; 0: as many as the ranks need"),
    WHOLE_("ranks_per_host_count", n_ranks_per_host, 1, 1e6, true, "1", "ranks", "of a host: its GPUs"),
    { .name = "link_bits_per_s",
      .type = KEY_REAL,
      KEY_MEMBER_(struct cluster, link_bytes_per_s, double),
      .least = 1,
      .most = 1e18,
      .is_bits = true,
      .is_required = true,
      .def = "1e9",
      .unit = "bits/s",
      .meaning = "of each network card, each way" },
    REAL_("link_latency_s", link_latency_s, 1e-9, 1e3, true, "25e-6", "s", "one way, host to host, within a group",
          NULL),
    REAL_("link_duplex_ratio", link_duplex_ratio, 1, 2, false, "2", "",
          "what a card carries both ways at once, over what it carries one way; 2: full duplex", NULL),
    WHOLE_("nics_per_host_count", n_nics_per_host, 1, 64, false, "1", "cards",
           "network cards of a host; its ranks use them in turn"),
    CHOICE_("protocol", protocol, "bare|tcp|rdma|grpc", "bare",
            "what carries messages to other hosts (grpc: all messages); bare: latency and rate of the link alone"),
    PROTOCOL_(tcp, "20e-6", "5e-6", "0.94", "0"),
    PROTOCOL_(rdma, "1.5e-6", "0.5e-6", "0.95", "0"),
    PROTOCOL_(grpc, "50e-6", "20e-6", "0.94", "1e9"),
    WHOLE_("hosts_per_group_count", n_hosts_per_group, 0, 1e6, false, "0", "hosts",
           "of a rack, or a group of a dragonfly; 0: all are on one switch"),
    REAL_("oversubscription_ratio", oversubscription_ratio, 1e-3, 1e6, false, "1", "",
          "what the cards of a group's hosts carry together, over what leaves or enters the group", NULL),
    REAL_("group_latency_s", group_latency_s, 0, 1e3, false, "0", "s", "one way, added between groups", NULL),
    REAL_("local_bytes_per_s", local_bytes_per_s, 1, 1e18, false, "5e9", "bytes/s", "between ranks of a host", NULL),
    REAL_("local_latency_s", local_latency_s, 1e-9, 1e3, false, "1e-6", "s", "one way, between ranks of a host", NULL),
    CHOICE_("local_sharing", local_sharing, "none|rank|host", "none",
            "which messages within a host share that rate; rank: those that leave, or enter, one rank (NVLink and its "
            "switch, PCIe slots of one switch); host: all of a host (one bus)"),
    REAL_("staging_bytes_per_s", staging_bytes_per_s, 0, 1e18, false, "0", "bytes/s",
          "between a worker's device and the memory of its host, each way, on the way to a network card; 0: the card "
          "reaches the device itself",
          NULL),
    REAL_("staging_latency_s", staging_latency_s, 0, 1e3, false, "0", "s", "added by it at each end", NULL),
    REAL_("flops_per_s", flops_per_s, 1, 1e24, false, "20e9", "flop/s", "of a worker's core or device", NULL),
    CHOICE_(
        "flops_precision", flops_precision, "fp32|tf32|bf16|fp16|fp8", "fp32",
        "of the products that flops_per_s counts; gradmark accept multiplies in fp32, and takes no limit from another"),
    REAL_("memory_bytes_per_s", memory_bytes_per_s, 1, 1e18, false, "8e9", "bytes/s",
          "at which a worker streams through its memory: updates, sums and copies", NULL),
    WHOLE_("cores_per_rank_count", n_cores_per_rank, 1, 1e6, false, "1", "cores",
           "on which a rank's tasks compute, each at flops_per_s"),
    REAL_("collective_copy_bytes_per_s", collective.copy_bytes_per_s, 0, 1e18, false, "0", "bytes/s",
          "at which gradients are copied before a collective, and back after it, as between GPU and host; 0: no copies",
          NULL),
    REAL_("collective_sum_bytes_per_s", collective.sum_bytes_per_s, 0, 1e18, false, "0", "bytes/s",
          "at which the sums of a collective stream through memory, as on a core of the host; 0: memory_bytes_per_s",
          NULL),
    REAL_("server_flops_per_s", server_flops_per_s, 0, 1e24, false, "0", "flop/s",
          "of a parameter server; 0: as a worker's", NULL),
    REAL_("server_memory_bytes_per_s", server_memory_bytes_per_s, 0, 1e18, false, "0", "bytes/s",
          "at which a parameter server streams through its memory; 0: as a worker", NULL),
    REAL_("server_local_bytes_per_s", server_local_bytes_per_s, 0, 1e18, false, "0", "bytes/s",
          "between a parameter server and ranks of its host, each way; each rank still has local_bytes_per_s; 0: as a "
          "worker",
          NULL),
    CHOICE_("server_aggregation", server_aggregation, "none|host", "none",
            "in simulate and reproduce, before parameter servers; host: the GPUs of a host sum their gradients, and "
            "one of them pushes and pulls for all (MXNet, BytePS)"),
    CHOICE_("server_placement", server_placement, "own|beside", "own",
            "of parameter servers; own: on hosts as workers are, behind theirs; beside: on the workers' hosts in turn, "
            "as many "
            "on each as it has workers, and then again"),
    CHOICE_("job_placement", job_placement, "pack|spread|random", "pack",
            "of a job's hosts; pack: group after group; spread: over all groups in turn; random: by the seed"),
    CHOICE_("start", start, "together|spread", "together",
            "of workers; spread: in its first step worker w of n computes w/n longer, as in the middle of a long run "
            "without a common step"),
    CHOICE_("jitter", jitter, "none|exponential|halfnormal|lognormal", "none",
            "distribution of what a worker's step takes longer, drawn anew for each rank and step"),
    REAL_("jitter_ratio", jitter_ratio, 0, 100, false, "0", "", "its mean, of the time that the step computes", NULL),
    WHOLE_("stragglers_count", n_stragglers, 0, 1e6, false, "0", "workers", "that are slow, drawn by the seed"),
    REAL_("straggler_ratio", straggler_ratio, 1, 1e6, false, "1", "", "times so long a straggler computes", NULL),
    WHOLE_("slow_links_count", n_slow_links, 0, 1e6, false, "0", "hosts",
           "of workers, whose network cards are slow, drawn by the seed"),
    REAL_("slow_link_ratio", slow_link_ratio, 1, 1e6, false, "1", "", "times so slow those are, each way", NULL),
    { .name = NULL },
};
_Static_assert(sizeof cluster_keys / sizeof *cluster_keys == CLUSTER_N_KEYS + 1, "CLUSTER_N_KEYS is wrong");
_Static_assert((int)CLUSTER_N_KEYS <= (int)CLUSTER_MAX_KEYS && (int)CLUSTER_MAX_KEYS <= (int)KEY_MAX_KEYS,
               "cluster.assumed has no bit for the last key");

const struct key_table cluster_key_table = { cluster_keys, CLUSTER_N_KEYS, "cluster description",
                                             "a file with the description of a cluster (YAML)" };

int cluster_key_find(const char *name)
{
    return key_find(&cluster_key_table, name);
}

double cluster_key_number(const struct cluster *c, int key)
{
    return key_number(&cluster_keys[key], c);
}

void cluster_key_format(const struct cluster *c, int key, char *out, size_t n_bytes)
{
    key_format(&cluster_keys[key], c, out, n_bytes);
}

enum rc cluster_key_set(struct cluster *c, int key, const char *text)
{
    return key_set(&cluster_keys[key], c, text);
}

bool cluster_key_matters(const struct cluster *c, int key)
{
    return key_matters(&cluster_key_table, c, key);
}

size_t cluster_assumed(const struct cluster *c, int out[CLUSTER_MAX_KEYS])
{
    size_t n = 0;

    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        if (c->assumed >> i & 1 && cluster_key_matters(c, i))
            out[n++] = i;
    return n;
}

/* Was the value of this key left out? One that is given as "none" goes with every other: so a sweep may begin there. */
static bool is_left_out(const struct cluster *c, const char *name)
{
    return c->assumed >> cluster_key_find(name) & 1;
}

enum rc cluster_keys_agree(const struct cluster *c, int *key)
{
    const struct {
        bool is_wrong;
        const char *name, *needs;
    } rule[] = {
        { c->n_hosts_per_group == 0 && (c->oversubscription_ratio < 1 || c->oversubscription_ratio > 1),
          "oversubscription_ratio", "groups: hosts_per_group_count of at least 1" },
        { c->n_hosts_per_group == 0 && c->group_latency_s > 0, "group_latency_s",
          "groups: hosts_per_group_count of at least 1" },
        { c->staging_latency_s > 0 && !(c->staging_bytes_per_s > 0), "staging_latency_s",
          "staging: staging_bytes_per_s above 0" },
        { c->server_local_bytes_per_s > 0 && c->local_sharing != SHARING_RANK, "server_local_bytes_per_s",
          "links of each rank: local_sharing of rank" },
        { c->jitter_ratio > 0 && c->jitter == JITTER_NONE && is_left_out(c, "jitter"), "jitter_ratio",
          "a distribution: jitter of exponential, halfnormal or lognormal" },
        { c->jitter != JITTER_NONE && !(c->jitter_ratio > 0) && is_left_out(c, "jitter_ratio"), "jitter",
          "a size: jitter_ratio above 0" },
        { c->n_stragglers > 0 && !(c->straggler_ratio > 1) && is_left_out(c, "straggler_ratio"), "stragglers_count",
          "to be slower: straggler_ratio above 1" },
        { c->n_stragglers == 0 && c->straggler_ratio > 1 && is_left_out(c, "stragglers_count"), "straggler_ratio",
          "stragglers: stragglers_count of at least 1" },
        { c->n_slow_links > 0 && !(c->slow_link_ratio > 1) && is_left_out(c, "slow_link_ratio"), "slow_links_count",
          "to be slower: slow_link_ratio above 1" },
        { c->n_slow_links == 0 && c->slow_link_ratio > 1 && is_left_out(c, "slow_links_count"), "slow_link_ratio",
          "slow links: slow_links_count of at least 1" },
    };
    char value[64];

    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].is_wrong) {
            *key = cluster_key_find(rule[i].name);
            cluster_key_format(c, *key, value, sizeof value);
            return rc_raise(RC_INVAL, "is %s, which needs %s", value, rule[i].needs);
        }
    return RC_OK;
}

bool cluster_source_range(double *low, double *high, const char **unusable, const char *source)
{
    static const char before[] = "range ", between[] = " to ";
    char *end = NULL;

    *unusable = NULL;
    for (const char *at = strstr(source, before); at; at = strstr(at + 1, before)) {
        const char *number = at + sizeof before - 1;
        if (strspn(number, "+-.0123456789") == 0)
            continue; /* prose */
        *low = strtod(number, &end);
        if (strncmp(end, between, sizeof between - 1) == 0) {
            number = end + sizeof between - 1;
            *high = strtod(number, &end);
            if (end != number && *low > 0 && *high >= *low && isfinite(*high))
                return true;
        }
        if (!*unusable)
            *unusable = at;
    }
    return false;
}

/* An assumed number whose range would be passed over. */
static enum rc check_range(const struct key_file *file, int key, const char *source)
{
    const char *unusable = NULL;
    char shown[64];
    double low, high;

    if (cluster_source_range(&low, &high, &unusable, source) || !unusable)
        return RC_OK;
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(unusable, ";"), unusable);
    const enum rc rc =
        rc_raise(RC_INVAL, "\"%s\" cannot be used; use range LOW to HIGH, two numbers above 0, the lower first", shown);
    return rc == RC_OK ? rc : key_file_refuse(file, key);
}

/* A cluster description as a YAML file: values, which of them are assumed, and their sources. */

/* Take the value of a key, or leave the default where the document has no such key. */
static enum rc convert(struct cluster *c, struct cluster_sources *sources, const struct key_file *file, int key)
{
    char comment[CLUSTER_SOURCE_BYTES];
    enum rc rc;

    TRY(key_file_set(file, key, c));
    if (key_file_line(file, key) == 0)
        return RC_OK;
    key_file_comment(file, key, comment, sizeof comment);
    if (strncmp(comment, "assumed", strlen("assumed")) != 0) /* cluster.B3 */
        c->assumed &= ~(UINT64_C(1) << key);
    else if (cluster_keys[key].type == KEY_REAL || cluster_keys[key].type == KEY_WHOLE)
        TRY(check_range(file, key, comment));
    if (sources)
        snprintf(sources->text[key], sizeof sources->text[key], "%s", comment);
out:
    return rc;
}

/* Rates that only those need whose computing no profile times: without one, it takes no time. */
static enum rc convert_rates(struct cluster *c, struct cluster_sources *sources, const struct key_file *file)
{
    static const char *const name[] = { "flops_per_s", "memory_bytes_per_s" };
    char most[32];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const int key = cluster_key_find(name[i]);
        if (key_file_line(file, key) > 0)
            continue;
        snprintf(most, sizeof most, "%.17g", cluster_keys[key].most);
        TRY(cluster_key_set(c, key, most));
        c->unlimited |= UINT64_C(1) << key;
        if (sources)
            snprintf(sources->text[key], sizeof sources->text[key], CLUSTER_NOT_GIVEN ", so no limit");
    }
out:
    return rc;
}

static enum rc convert_all(struct cluster *out, struct cluster_sources *sources, const struct key_file *file)
{
    struct cluster c;
    int key = 0;
    enum rc rc;

    cluster_default(&c);
    snprintf(c.name, sizeof c.name, "unnamed");
    for (int i = 0; sources && i < CLUSTER_N_KEYS; i++)
        snprintf(sources->text[i], sizeof sources->text[i], CLUSTER_NOT_GIVEN);
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        TRY(convert(&c, sources, file, i));
    TRY(convert_rates(&c, sources, file));
    if (cluster_keys_agree(&c, &key) != RC_OK)
        TRY(key_file_refuse(file, key));
    snprintf(c.place, sizeof c.place, "%.*s:%d", CLUSTER_PLACE_BYTES - 16, key_file_name(file),
             key_file_line(file, cluster_key_find("hosts_count")));
    *out = c;
out:
    return rc;
}

enum rc cluster_load(struct cluster *out, struct cluster_sources *sources, const char *path)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_load(&file, &cluster_key_table, path));
    TRY(convert_all(out, sources, file));
out:
    key_file_close(&file);
    return rc;
}

enum rc cluster_parse(struct cluster *out, struct cluster_sources *sources, const char *name, const char *text,
                      size_t n_bytes)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_parse(&file, &cluster_key_table, name, text, n_bytes));
    TRY(convert_all(out, sources, file));
out:
    key_file_close(&file);
    return rc;
}

/* --- to write --- */

static void write_key(FILE *to, const struct cluster *c, int key, const char *source)
{
    static const char assumed[] = "assumed";
    char comment[CLUSTER_SOURCE_BYTES + sizeof assumed + 2];
    const bool adds = c->assumed >> key & 1 && strncmp(source, assumed, strlen(assumed)) != 0; /* cluster.B3 */

    snprintf(comment, sizeof comment, "%s%s%s", adds ? assumed : "", adds && source[0] ? ": " : "", source);
    key_write_value(to, &cluster_keys[key], c, comment);
}

/* Does the loader know it without being told? */
static bool is_idle_default(const struct cluster *c, int key)
{
    char value[KEY_VALUE_BYTES], standard[KEY_VALUE_BYTES];
    struct cluster d;

    cluster_default(&d);
    cluster_key_format(c, key, value, sizeof value);
    cluster_key_format(&d, key, standard, sizeof standard);
    return c->assumed >> key & 1 && !cluster_key_matters(c, key) && strcmp(value, standard) == 0;
}

enum rc cluster_write(const struct cluster *c, const struct cluster_sources *sources, const char *head,
                      const char *path)
{
    struct atomic_file file = { 0 };
    int key = 0;
    enum rc rc;

    TRY(cluster_keys_agree(c, &key));
    TRY(atomic_file_open(&file, path));
    key_write_head(file.stream, head);
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        if (!is_idle_default(c, i))
            write_key(file.stream, c, i, sources->text[i]);
out:
    return atomic_file_finish(&file, rc);
}
