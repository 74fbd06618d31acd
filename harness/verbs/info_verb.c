/* SPDX-License-Identifier: Apache-2.0 */
/* info_verb.c - gradmark info: what was built, what was not and why, and what this machine offers. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/nccl_state.h"
#include "harness/base/file.h"
#include "harness/base/opt.h"
#include "harness/base/terminal.h"
#include "harness/bench/calibration.h"
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

enum { TEXT_COLUMN = 13, DEEP_COLUMN = 15 };

/* "name   text", in lines that fit; a name that begins with two blanks belongs to the row above. */
static void print_row(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void print_row(const char *name, const char *fmt, ...)
{
    const int n_before = name[0] == ' ' ? DEEP_COLUMN : TEXT_COLUMN;
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    printf("%-*s ", n_before - 1, name);
    terminal_fill(stdout, text, n_before, terminal_line_columns(stdout));
}

static void print_missing(const char *what, const char *why_not)
{
    char name[32];

    snprintf(name, sizeof name, "  %s", what);
    if (why_not[0])
        print_row(name, "not built: %s", why_not);
}

static void print_kind(const char *what, const struct module_kind *kind)
{
    char names[1024] = "";

    for (int i = 0; kind->at(i); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", kind->at(i)->name);
    print_row(what, "%s", names + (names[0] == ' '));
}

static void print_models(void)
{
    char names[1024] = "";

    for (int i = 0; workload_at(i); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s (%s)", i > 0 ? ", " : "",
                 workload_at(i)->module.name, workload_at(i)->dataset ? workload_at(i)->dataset : "repeats a profile");
    print_row("models", "with their data: %s", names);
}

static void print_parts(void)
{
    print_kind("worlds", &world_kind);
    print_kind("transports", &transport_kind);
    print_kind("compute", &compute_kind);
    print_models();
    print_kind("modes", &mode_kind);
    print_kind("reducers", &collective_kind);
    print_row("charts", "%s",
              chart_available() ? "gnuplot found" : "gnuplot not found: no charts (Debian: gnuplot-nox)");
    print_row("cores", "%d allowed to this process", cores_allowed_count());
}

static void print_version(void)
{
    char text[4096];

    manifest_version(text, sizeof text);
    print_row("version", "%s", text);
    manifest_build(text, sizeof text);
    print_row("build", "%s", text);
    manifest_libraries(text, sizeof text);
    print_row("libraries", "%s", text);
    manifest_machine(text, sizeof text);
    print_row("machine", "%s", text);
}

/* Of a message between the first two ranks that are as far apart as that; nothing where no two are. */
static void print_message(const struct topology *t, const char *what, int to)
{
    if (to < t->n_ranks)
        terminal_note(stdout, "  %-44s %8.3g us + bytes at %.4g GB/s", what, 1e6 * topology_message_time_s(t, 0, to, 0),
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

/* Below a key. */
static void print_deeper(const char *fmt, ...) PRINTF_LIKE(1, 2);

static void print_deeper(const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    terminal_wrap(stdout, text, terminal_line_columns(stdout));
    fputc('\n', stdout);
}

static void print_key(const struct cluster *c, const struct cluster_sources *sources, int key, const char *title)
{
    const struct key *k = &cluster_keys[key];
    char value[64];

    cluster_key_format(c, key, value, sizeof value);
    printf("%s%-26s %s%s%s\n", title, k->name, value, k->unit[0] ? " " : "", k->unit);
    print_deeper("    %s%s%s", k->meaning, cluster_key_matters(c, key) ? "" : "; without effect here: needs ",
                 cluster_key_matters(c, key) ? "" : k->only);
    print_deeper("    %s%s", sources->text[key][0] ? "source: " : "source: none given", sources->text[key]);
}

static enum rc find_cluster(struct cluster *c, struct cluster_sources *sources, const struct info_opts *o)
{
    enum rc rc;

    TRY(file_of_option(cluster_find(c, sources, o->cluster), "cluster"));
    TRY(cluster_set(c, sources, o->cluster_set.text));
out:
    return rc;
}

static void print_cluster(const struct cluster *c, const struct cluster_sources *sources, const char *name)
{
    calibration_tell_doubt(sources, name, stdout);
    for (enum group group = GIVEN; group < N_GROUPS; group++)
        for (int i = 0, n = 0; i < CLUSTER_N_KEYS; i++)
            if (group_of(c, sources, i) == group)
                print_key(c, sources, i, n++ == 0 ? group_title[group] : "");
    print_messages(c);
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
        print_row("driver", "NVIDIA %s", word);
    else
        print_row("driver", "none of NVIDIA is loaded: no /proc/driver/nvidia/version");
}

/* Of every backend that computes on some. */
static void print_devices(void)
{
    const struct module *m;
    char text[256], name[32];
    int n_devices;

    for (int i = 0; (m = compute_kind.at(i)); i++) {
        const struct compute_backend *b = (const struct compute_backend *)m;
        if (b->device_count == NULL)
            continue;
        snprintf(name, sizeof name, "%ss", b->device_kind);
        if (b->device_count(&n_devices) != RC_OK) {
            print_row(name, "none for %s: %s", m->name, rc_message());
            continue;
        }
        print_row(name, "%d for %s", n_devices, m->name);
        for (int k = 0; b->device_text && k < n_devices; k++) {
            b->device_text(k, text, sizeof text);
            printf("  %s %-8d %s\n", b->device_kind, k, text);
        }
    }
}

static void print_info(void)
{
    char nccl[RC_MESSAGE_BYTES + 64], mpi[RC_MESSAGE_BYTES + 64];

    print_parts();
    print_missing("world mpi", GRADMARK_MPI_WHY_NOT);
    print_missing("cpu bf16", GRADMARK_ONEDNN_WHY_NOT);
    print_missing("JPEG files", GRADMARK_JPEG_WHY_NOT);
    print_missing("PNG files", GRADMARK_PNG_WHY_NOT);
    print_missing("reducer gloo", GRADMARK_GLOO_WHY_NOT);
    print_missing("cuda tests", GRADMARK_CXX_WHY_NOT);
    print_row("products", "%s", GRADMARK_PRODUCTS);
    mpi_level_text(mpi, sizeof mpi);
    print_row("mpi threads", "%s", mpi);
    nccl_state(nccl, sizeof nccl);
    print_driver();
    print_row("cuda", "%s", GRADMARK_CUDA_STATE);
    print_row("nccl", "%s", nccl);
    print_devices();
    print_version();
}

static enum rc print_record(void)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, "-"));
    manifest_fill(report_begin(to, "build"), false);
    TRY(report_end(to));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

static enum rc info_run(struct verb_call *call)
{
    const struct info_opts *o = call->opts;
    const bool of_cluster = verb_given(call, "cluster") || verb_given(call, "cluster-set");
    struct cluster_sources sources;
    struct cluster c;
    enum rc rc;

    if (of_cluster)
        TRY(find_cluster(&c, &sources, o));
    call->stage = STAGE_RUN;
    if (call->output.json)
        TRY(of_cluster ? used_cluster_print_json("cluster", o->cluster, o->cluster_set.text) : print_record());
    else if (of_cluster)
        print_cluster(&c, &sources, o->cluster);
    else
        print_info();
    TRY(output_flush(stdout));
out:
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
    .introduction =
        "Prints what was built, what was not built and why, the devices of this machine, and the versions of "
        "the program and its libraries. With --json it prints these versions as a record.\n\n"
        "With --cluster it prints a description of a cluster: each value with its unit and source, and the "
        "time of a message.",
    .example = examples,
    .page = "install",
    .has_records = true,
    .opts_bytes = sizeof(struct info_opts),
    .group = groups,
    .run = info_run,
};
