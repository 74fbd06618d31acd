/* SPDX-License-Identifier: Apache-2.0 */
/* info_verb.c - gradmark info: what was built, what was not and why, and what this machine offers. */
#include <stdio.h>

#include "allreduce/collective_list.h"
#include "harness/base/opt.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/report/chart.h"
#include "harness/report/manifest.h"
#include "harness/report/record.h"
#include "harness/train/train.h"
#include "harness/verbs/verb.h"
#include "harness/world/cores.h"
#include "harness/world/world.h"
#include "models/workload.h"

static const struct verb_group no_groups[] = { { NULL, NULL, 0 } };

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

static enum rc info_run(struct verb_call *call)
{
    struct report *to = NULL;
    struct record *r = NULL;
    enum rc rc;

    call->stage = STAGE_RUN;
    print_parts();
    print_missing("world mpi", GRADMARK_MPI_WHY_NOT);
    print_missing("world sim", GRADMARK_SIMGRID_WHY_NOT);
    print_missing("cpu bf16", GRADMARK_ONEDNN_WHY_NOT);
    print_missing("cuda tests", GRADMARK_CXX_WHY_NOT);
    printf("products     %s\n", GRADMARK_PRODUCTS);
    printf("cuda         %s\nnccl         %s\n", GRADMARK_CUDA_STATE, GRADMARK_NCCL_STATE);
    fflush(stdout);
    TRY(record_open(&r, "build"));
    manifest_fill(r, false);
    TRY(report_open(&to, "-"));
    TRY(report_write(to, r));
    TRY(report_commit(to));
out:
    report_close(&to);
    record_close(&r);
    return rc;
}

const struct verb verb_info = {
    .name = "info",
    .summary = "what this binary was built with, what not and why, and what this machine offers",
    .group = no_groups,
    .run = info_run,
};
