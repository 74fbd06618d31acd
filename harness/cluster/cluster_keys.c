/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_keys.c - the keys of a description: their values from text and to text, and which contradict each other. */
#include "harness/cluster/cluster_keys.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"

#define MEMBER_(m, T)                                                                                         \
    (offsetof(struct cluster, m) + 0 * sizeof(struct {                                                        \
                                       _Static_assert(_Generic(((struct cluster *)0)->m, T : 1, default : 0), \
                                                      "cluster." #m " is not a " #T);                         \
                                       int unused;                                                            \
                                   }))
#define WHOLE_(name_, m, lo, hi, required, def_, unit_, meaning_)                                         \
    {                                                                                                     \
        name_, CLUSTER_WHOLE, MEMBER_(m, int), lo, hi, false, required, NULL, def_, unit_, meaning_, NULL \
    }
#define REAL_(name_, m, lo, hi, required, def_, unit_, meaning_, only_)                                      \
    {                                                                                                        \
        name_, CLUSTER_REAL, MEMBER_(m, double), lo, hi, false, required, NULL, def_, unit_, meaning_, only_ \
    }
#define CHOICE_(name_, m, choices_, def_, meaning_)                                                    \
    {                                                                                                  \
        name_, CLUSTER_CHOICE, MEMBER_(m, int), 0, 0, false, false, choices_, def_, "", meaning_, NULL \
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
const struct cluster_key cluster_keys[] = {
    { "name", CLUSTER_TEXT, MEMBER_(name[0], char), 0, 0, false, false, NULL, "unnamed", "", "of the cluster", NULL },
    WHOLE_("hosts_count", n_hosts, 0, 1e6, true, "0", "hosts", "of the cluster; 0: as many as the ranks need"),
    WHOLE_("ranks_per_host_count", n_ranks_per_host, 1, 1e6, true, "1", "ranks", "of a host: its GPUs"),
    { "link_bits_per_s", CLUSTER_REAL, MEMBER_(link_bytes_per_s, double), 1, 1e18, true, true, NULL, "1e9", "bits/s",
      "of each network card, each way", NULL },
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
    REAL_("flops_per_s", flops_per_s, 1, 1e24, true, "20e9", "flop/s", "of a worker's core or device", NULL),
    REAL_("memory_bytes_per_s", memory_bytes_per_s, 1, 1e18, true, "8e9", "bytes/s",
          "at which a worker streams through its memory: updates, sums and copies", NULL),
    WHOLE_("cores_per_rank_count", n_cores_per_rank, 1, 1e6, false, "1", "cores",
           "on which a rank's tasks compute, each at flops_per_s"),
    REAL_("server_flops_per_s", server_flops_per_s, 0, 1e24, false, "0", "flop/s",
          "of a parameter server; 0: as a worker's", NULL),
    REAL_("server_memory_bytes_per_s", server_memory_bytes_per_s, 0, 1e18, false, "0", "bytes/s",
          "at which a parameter server streams through its memory; 0: as a worker", NULL),
    CHOICE_("server_placement", server_placement, "own|beside", "own",
            "of parameter servers; own: on hosts as workers are, behind theirs; beside: on the workers' hosts in turn, "
            "as many "
            "on each as it has workers, and then again"),
    CHOICE_("job_placement", job_placement, "pack|spread|random", "pack",
            "of a job's hosts; pack: group after group; spread: over all groups in turn; random: by the seed"),
    CHOICE_("jitter", jitter, "none|exponential|halfnormal|lognormal", "none",
            "distribution of what a worker's step takes longer, drawn anew for each rank and step"),
    REAL_("jitter_ratio", jitter_ratio, 0, 100, false, "0", "", "its mean, of the time that the step computes", NULL),
    WHOLE_("stragglers_count", n_stragglers, 0, 1e6, false, "0", "workers", "that are slow, drawn by the seed"),
    REAL_("straggler_ratio", straggler_ratio, 1, 1e6, false, "1", "", "times so long a straggler computes", NULL),
    WHOLE_("slow_links_count", n_slow_links, 0, 1e6, false, "0", "hosts",
           "of workers, whose network cards are slow, drawn by the seed"),
    REAL_("slow_link_ratio", slow_link_ratio, 1, 1e6, false, "1", "", "times so slow those are, each way", NULL),
    { NULL, CLUSTER_TEXT, 0, 0, 0, false, false, NULL, NULL, NULL, NULL, NULL },
};
_Static_assert(sizeof cluster_keys / sizeof *cluster_keys == CLUSTER_N_KEYS + 1, "CLUSTER_N_KEYS is wrong");
_Static_assert((int)CLUSTER_N_KEYS <= (int)CLUSTER_MAX_KEYS, "cluster.assumed has no bit for the last key");

int cluster_key_find(const char *name)
{
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        if (strcmp(cluster_keys[i].name, name) == 0)
            return i;
    return -1;
}

/* out[n_bytes] := name number i of "a|b|c"; false: there are not so many. */
static bool choice_name(const char *choices, int i, char *out, size_t n_bytes)
{
    for (; i > 0 && choices; i--) {
        choices = strchr(choices, '|');
        choices += choices != NULL;
    }
    if (choices)
        snprintf(out, n_bytes, "%.*s", (int)strcspn(choices, "|"), choices);
    return choices != NULL;
}

static int whole_of(const struct cluster *c, const struct cluster_key *k)
{
    int value;

    memcpy(&value, (const char *)c + k->offset_bytes, sizeof value);
    return value;
}

double cluster_key_number(const struct cluster *c, int key)
{
    const struct cluster_key *k = &cluster_keys[key];
    double value;

    if (k->type != CLUSTER_REAL)
        return whole_of(c, k);
    memcpy(&value, (const char *)c + k->offset_bytes, sizeof value);
    return k->is_bits ? 8 * value : value;
}

/* As few digits as give the same number again. */
static void format_real(double value, char *out, size_t n_bytes)
{
    double again = 0;

    for (int n_digits = 6; n_digits <= 17; n_digits++) {
        snprintf(out, n_bytes, "%.*g", n_digits, value);
        if (text_to_f64(out, &again) && memcmp(&again, &value, sizeof value) == 0)
            return;
    }
}

void cluster_key_format(const struct cluster *c, int key, char *out, size_t n_bytes)
{
    const struct cluster_key *k = &cluster_keys[key];

    if (k->type == CLUSTER_TEXT)
        snprintf(out, n_bytes, "%s", (const char *)c + k->offset_bytes);
    else if (k->type == CLUSTER_CHOICE)
        (void)choice_name(k->choices, whole_of(c, k), out, n_bytes);
    else if (k->type == CLUSTER_WHOLE)
        snprintf(out, n_bytes, "%d", whole_of(c, k));
    else
        format_real(cluster_key_number(c, key), out, n_bytes);
}

void cluster_key_range(int key, char *out, size_t n_bytes)
{
    const struct cluster_key *k = &cluster_keys[key];

    if (k->type == CLUSTER_CHOICE)
        snprintf(out, n_bytes, "one of %s", k->choices);
    else
        snprintf(out, n_bytes, "a %snumber from %g to %g", k->type == CLUSTER_WHOLE ? "whole " : "", k->least, k->most);
}

/* RC_INVAL for a value that key cannot have. */
static enum rc wrong(int key, const char *text)
{
    char shown[64], range[128];

    snprintf(shown, sizeof shown, "%s", text);
    for (char *c = shown; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            *c = '?';
    cluster_key_range(key, range, sizeof range);
    return rc_raise(RC_INVAL, "is \"%s\"; %s would be right", shown, range);
}

static enum rc set_text(char *member, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            return rc_raise(RC_INVAL, "has a control character; printable text would be right");
    if (strlen(text) >= sizeof((struct cluster *)0)->name)
        return rc_raise(RC_INVAL, "is too long; at most %zu bytes would be right",
                        sizeof((struct cluster *)0)->name - 1);
    snprintf(member, sizeof((struct cluster *)0)->name, "%s", text[0] ? text : "unnamed");
    return RC_OK;
}

/* *out := the index of text among the choices of key. */
static enum rc set_choice(int *out, int key, const char *text)
{
    char name[32];

    for (int i = 0; choice_name(cluster_keys[key].choices, i, name, sizeof name); i++)
        if (strcmp(name, text) == 0) {
            *out = i;
            return RC_OK;
        }
    return wrong(key, text);
}

enum rc cluster_key_set(struct cluster *c, int key, const char *text)
{
    const struct cluster_key *k = &cluster_keys[key];
    char *member = (char *)c + k->offset_bytes;
    uint64_t whole = 0;
    double real = 0;
    int value = 0;
    enum rc rc = RC_OK;

    if (k->type == CLUSTER_TEXT)
        return set_text(member, text);
    if (k->type == CLUSTER_CHOICE)
        TRY(set_choice(&value, key, text));
    else if (k->type == CLUSTER_WHOLE) {
        if (!text_to_u64(text, &whole) || (double)whole < k->least || (double)whole > k->most)
            return wrong(key, text);
        value = (int)whole;
    } else if (!text_to_f64(text, &real) || real < k->least || real > k->most)
        return wrong(key, text);
    real = k->is_bits ? real / 8 : real;
    if (k->type == CLUSTER_REAL)
        memcpy(member, &real, sizeof real);
    else
        memcpy(member, &value, sizeof value);
out:
    return rc;
}

bool cluster_key_matters(const struct cluster *c, int key)
{
    const char *only = cluster_keys[key].only;
    const char *equals = only ? strchr(only, '=') : NULL;
    char name[64], value[64];

    if (!equals)
        return true;
    snprintf(name, sizeof name, "%.*s", (int)(equals - only), only);
    cluster_key_format(c, cluster_key_find(name), value, sizeof value);
    return strcmp(value, equals + 1) == 0;
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
