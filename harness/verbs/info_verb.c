/* SPDX-License-Identifier: Apache-2.0 */
/* info_verb.c - gradmark info: what was built, what was not and why, and what this machine offers. */
#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/nccl_state.h"
#include "harness/base/file.h"
#include "harness/base/opt.h"
#include "harness/campaign/prediction_inputs.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/cluster/topology.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/report/chart.h"
#include "harness/report/manifest.h"
#include "harness/report/record.h"
#include "harness/train/train.h"
#include "harness/verbs/verb.h"
#include "harness/world/cores.h"
#include "harness/world/mpi_level.h"
#include "harness/world/world.h"
#include "models/workload.h"

struct info_opts {
    const char *cluster;
    struct opt_joined cluster_set;
};

static const struct opt info_table[] = {
    OPT_FILE_(struct info_opts, cluster, "cluster", OPT_READ, "", "PRESET|FILE",
              "cluster description to show: a built-in name or a file"),
    OPT_JOINED_(struct info_opts, cluster_set, "cluster-set", "KEY=VALUE", "change one of its values"),
    OPT_END_,
};

static const struct verb_group groups[] = { { "cluster", info_table, 0, NULL }, { NULL, NULL, 0, NULL } };

static void print_missing(const char *what, const char *why_not)
{
    if (why_not[0])
        printf("  %-12s not built: %s\n", what, why_not);
}

static void print_kind(const char *what, const struct module_kind *kind)
{
    printf("%-12s", what);
    for (int i = 0; kind->at(i); i++)
        printf(" %s", kind->at(i)->name);
    printf("\n");
}

static void print_parts(void)
{
    print_kind("worlds", &world_kind);
    print_kind("transports", &transport_kind);
    print_kind("compute", &compute_kind);
    printf("models      ");
    for (int i = 0; workload_at(i); i++)
        printf(" %s (data %s)", workload_at(i)->module.name,
               workload_at(i)->dataset ? workload_at(i)->dataset : "none: repeats a profile");
    printf("\n");
    print_kind("modes", &mode_kind);
    print_kind("reducers", &collective_kind);
    printf("charts       %s\n",
           chart_available() ? "gnuplot found" : "gnuplot not found: no charts (Debian: gnuplot-nox)");
    printf("cores        %d allowed to this process\n", cores_allowed_count());
}

/* Of a message between the first two ranks that are as far apart as that; nothing where no two are. */
static void print_message(const struct topology *t, const char *what, int to)
{
    if (to < t->n_ranks)
        printf("  %-44s %8.3g us + bytes at %.4g GB/s\n", what, 1e6 * topology_message_time_s(t, 0, to, 0),
               1e-9 / (topology_message_time_s(t, 0, to, 1e9) - topology_message_time_s(t, 0, to, 0)) * 1e9);
}

/* What follows from a description: of a job of as many workers as it holds, or two hosts' where it names no number. */
static void print_messages(const struct cluster *c)
{
    const int n_each = c->n_ranks_per_host, n_hosts = c->n_hosts > 0 ? c->n_hosts : 2;
    const double n_held = (double)n_hosts * n_each;
    const int n_ranks = n_held < CLUSTER_MAX_RANKS ? (int)n_held : CLUSTER_MAX_RANKS;
    const double next = c->n_hosts_per_group > 0 ? (double)c->n_hosts_per_group * n_each : n_ranks;
    const int next_group = next < n_ranks ? (int)next : n_ranks;
    struct topology t;

    topology_init(&t, c, n_ranks, n_ranks);
    t.cluster.job_placement = PLACE_PACK; /* so that ranks 0 and next_group are in different groups */
    printf("a message, alone:\n");
    print_message(&t, "within a host", n_each > 1 ? 1 : n_ranks);
    print_message(&t, "to another host", n_each);
    print_message(&t, "to another group", next_group);
}

enum group { GIVEN, NOT_GIVEN, WITHOUT_EFFECT, N_GROUPS };

static const char *const group_title[N_GROUPS] = { "", "\nnot given in the description, so assumed:\n\n",
                                                   "\nwithout effect here:\n\n" };

static enum group group_of(const struct cluster *c, const struct cluster_sources *sources, int key)
{
    if (!cluster_key_matters(c, key))
        return WITHOUT_EFFECT;
    return strcmp(sources->text[key], CLUSTER_NOT_GIVEN) == 0 ? NOT_GIVEN : GIVEN;
}

static void print_key(const struct cluster *c, const struct cluster_sources *sources, int key, const char *title)
{
    const struct key *k = &cluster_keys[key];
    char value[64];

    cluster_key_format(c, key, value, sizeof value);
    printf("%s%-26s %s %s\n    %s%s%s\n    %s%s\n", title, k->name, value, k->unit, k->meaning,
           cluster_key_matters(c, key) ? "" : "; without effect here: needs ",
           cluster_key_matters(c, key) ? "" : k->only, sources->text[key][0] ? "source: " : "source: none given",
           sources->text[key]);
}

static enum rc print_cluster(const struct info_opts *o)
{
    struct cluster_sources sources;
    struct cluster c;
    enum rc rc;

    TRY(file_of_option(cluster_find(&c, &sources, o->cluster), "cluster"));
    TRY(cluster_set(&c, &sources, o->cluster_set.text));
    for (enum group group = GIVEN; group < N_GROUPS; group++)
        for (int i = 0, n = 0; i < CLUSTER_N_KEYS; i++)
            if (group_of(&c, &sources, i) == group)
                print_key(&c, &sources, i, n++ == 0 ? group_title[group] : "");
    print_messages(&c);
out:
    return rc;
}

/* The release of the kernel's driver of NVIDIA: the first number with a point in its line. */
static void print_driver(void)
{
    char line[256] = "", *rest = line, *word;
    FILE *file = fopen("/proc/driver/nvidia/version", "re");

    if (file) {
        if (!fgets(line, sizeof line, file))
            line[0] = '\0';
        fclose(file);
    }
    while ((word = strtok_r(rest, " \t\n", &rest)))
        if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.'))
            break;
    if (word)
        printf("driver       NVIDIA %s\n", word);
    else
        printf("driver       none of NVIDIA is loaded: no /proc/driver/nvidia/version\n");
}

/* Of every backend that computes on some. */
static void print_devices(void)
{
    const struct module *m;
    char text[256];
    int n_devices;

    for (int i = 0; (m = compute_kind.at(i)); i++) {
        const struct compute_backend *b = (const struct compute_backend *)m;
        if (b->device_count == NULL)
            continue;
        if (b->device_count(&n_devices) != RC_OK) {
            printf("%ss         none for %s: %s\n", b->device_kind, m->name, rc_message());
            continue;
        }
        printf("%ss         %d for %s\n", b->device_kind, n_devices, m->name);
        for (int k = 0; b->device_text && k < n_devices; k++) {
            b->device_text(k, text, sizeof text);
            printf("  %s %-8d %s\n", b->device_kind, k, text);
        }
    }
}

static enum rc info_run(struct verb_call *call)
{
    const struct info_opts *o = call->opts;
    char nccl[RC_MESSAGE_BYTES + 64], mpi[RC_MESSAGE_BYTES + 64];
    struct report *to = NULL;
    enum rc rc;

    if (verb_given(call, "cluster") || verb_given(call, "cluster-set"))
        return call->output.json ? used_cluster_print_json("cluster", o->cluster, o->cluster_set.text)
                                 : print_cluster(o);
    call->stage = STAGE_RUN;
    print_parts();
    print_missing("world mpi", GRADMARK_MPI_WHY_NOT);
    print_missing("cpu bf16", GRADMARK_ONEDNN_WHY_NOT);
    print_missing("JPEG files", GRADMARK_JPEG_WHY_NOT);
    print_missing("PNG files", GRADMARK_PNG_WHY_NOT);
    print_missing("reducer gloo", GRADMARK_GLOO_WHY_NOT);
    print_missing("cuda tests", GRADMARK_CXX_WHY_NOT);
    printf("products     %s\n", GRADMARK_PRODUCTS);
    mpi_level_text(mpi, sizeof mpi);
    printf("mpi threads  %s\n", mpi);
    nccl_state(nccl, sizeof nccl);
    print_driver();
    printf("cuda         %s\nnccl         %s\n", GRADMARK_CUDA_STATE, nccl);
    print_devices();
    fflush(stdout);
    TRY(report_open(&to, "-"));
    manifest_fill(report_begin(to, "build"), false);
    TRY(report_end(to));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

static const struct verb_example examples[] = {
    { "info", "List modules, libraries and devices" },
    { "info --cluster piz-daint", "Show a built-in cluster" },
    { "info --cluster laptop --cluster-set hosts_count=4", "Show it with another number of hosts" },
    { NULL, NULL },
};

const struct verb verb_info = {
    .name = "info",
    .summary = "show what this program and machine offer, or a cluster",
    .introduction = "Prints what was built, what was not built and why, and the devices of this machine. The last line "
                    "is a record (JSON) with the versions of all libraries.\n\n"
                    "With --cluster it prints a description of a cluster: each value with its unit and source, and the "
                    "time of a message.",
    .example = examples,
    .page = "install",
    .has_records = true,
    .opts_bytes = sizeof(struct info_opts),
    .group = groups,
    .run = info_run,
};
