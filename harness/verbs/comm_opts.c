/* SPDX-License-Identifier: Apache-2.0 */
/* comm_opts.c - the options of gradmark comm, and how all its types use them; see comm_opts.h. */
#include "harness/verbs/comm_opts.h"

#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/file.h"
#include "harness/base/host_memory.h"
#include "harness/base/rule.h"
#include "harness/exchange/collective.h"
#include "harness/verbs/comm_output.h"
#include "harness/world/cores.h"
#include "harness/world/wait.h"

enum { PROGRESS_PARTS = 1000, LEAST_REPEATS = 10 };

#define UNKNOWN_CACHE_BYTES ((size_t)1 << 26) /* where the system does not tell of its caches */
#define PROGRESS_NS UINT64_C(100000000)

const struct module_kind *const comm_kinds[] = { &collective_kind, NULL };

static const struct opt table[] = {
    { "reducer", OPT_LIST, OPT_AT_(struct comm_opts, reducer, const char *), "all", 0, 0, "", "all",
      "algorithms to measure. They take turns. With all, each that has this operation and runs in this world. The "
      "output says which ones are left out, and why",
      &collective_kind, OPT_NO_FILE },
    OPT_TEXT_(struct comm_opts, bytes, "bytes", "4:64Mi:x4", "SIZE,...",
              "sizes of the array, or sweeps. 4:1Gi:x4 is 4, 16, 64 and so on, to 1 GiB. 4:1Gi doubles. Sizes are "
              "whole floats. The default of comm ps is 1Ki:64Mi:x4"),
    OPT_U64_(struct comm_opts, repeats, "repeats", "100", 1, COMM_MOST_REPEATS, "",
             "most repeats of each size and algorithm. At least 10 are made if N allows them. More follow until each "
             "interval is narrower than 2 % to either side. In world sim 2 are made"),
    OPT_U64_(struct comm_opts, warmup, "warmup", "3", 1, 100, "",
             "repeats before the measured ones. None in world sim"),
    OPT_F64_(struct comm_opts, budget_s, "budget-s", "60", 0.1, 1e6, "s",
             "time limit for all sizes together. A size that has begun makes its 10 repeats all the same. Sizes that "
             "have not begun by then are left out, and a message says so"),
    OPT_U64_(
        struct comm_opts, rotate_bytes, "rotate-bytes", "", 0, 1ULL << 36, "bytes",
        "memory that calls use in turn (default: twice the last-level caches). It belongs to all ranks of a host. It "
        "is read before each repeat, so that no data is in a cache. With 0 all calls use the same memory, which caches "
        "keep"),
    OPT_BOOL_(struct comm_opts, out_of_place, "out-of-place", "true",
              "measure out-of-place calls, too. An allreduce then reads one array and writes another one. Other types "
              "copy the data of a rank, and work on the copy. Out-of-place calls take half of the time"),
    OPT_U64_(struct comm_opts, servers, "servers", "1", 1, 1024, "",
             "parameter servers of comm ps. They are the ranks after the workers, and each has an equal part of every "
             "array. Without --workers there is 1 worker, or all other ranks that were started"),
    OPT_U64_(struct comm_opts, partition_bytes, "partition-bytes", "", 4, 1ULL << 34, "bytes",
             "largest chunk in comm ps (default: 256Ki or all). The default is 256Ki for each server over shm, ipc, "
             "tcp and zmq, else the whole array. Several chunks are outstanding at once"),
    OPT_FILE_(struct comm_opts, records, "records", OPT_WRITTEN, "", "FILE",
              "file for the records: a manifest, then one for each row"),
    OPT_FILE_(
        struct comm_opts, chart, "chart", OPT_CHART, "", "FILE.png",
        "draw bus bandwidth by size, and the ceiling, as .png and .svg. Its data is written beside them, as .tsv"),
    OPT_END_,
};

const struct opt comm_format_table[] = {
    OPT_CHOICE_(
        struct verb_output, format, "format", "text", "text|osu|csv",
        "form of the output. osu: as the OSU micro-benchmarks print it, for one algorithm, or for comm ps with 1 "
        "worker and 1 server. csv: one table, as comma-separated values"),
    OPT_END_,
};

const struct verb_group comm_groups[] = { { "measurement", table, 0, NULL },
                                          { "ranks and machine", machine_opt_table, offsetof(struct comm_opts, machine),
                                            NULL },
                                          { NULL, NULL, 0, NULL } };

/* --- what does not go together --- */

enum fact { OF_BARRIER, OF_SENDRECV, OF_PS, NO_PS, ON_DEVICE, N_FACTS };

static const char *const fact_words[N_FACTS] = {
    [OF_BARRIER] = "comm barrier",
    [OF_SENDRECV] = "comm sendrecv",
    [OF_PS] = "comm ps",
    [ON_DEVICE] = "--compute cuda",
};

static const struct rule rows[] = {
    { "reducer", "*", OF_BARRIER, "a barrier is not done by a reducer; leave it out" },
    { "reducer", "*", OF_SENDRECV, "sendrecv is not done by a reducer; leave it out" },
    { "reducer", "*", OF_PS, "comm ps is not done by a reducer; leave it out" },
    { "bytes", "*", OF_BARRIER, "a barrier moves none; leave it out" },
    { "rotate-bytes", "*", OF_BARRIER, "a barrier moves no data; leave it out" },
    { "chart", "*", OF_BARRIER, "a barrier has no bandwidth; leave it out" },
    { "servers", "*", NO_PS, "comm ps alone has servers; leave it out" },
    { "partition-bytes", "*", NO_PS, "comm ps alone cuts arrays; leave it out" },
    { "out-of-place", "*", OF_BARRIER, "a barrier is not done by a reducer; leave it out" },
    { "out-of-place", "*", OF_SENDRECV, "sendrecv is not done by a reducer; leave it out" },
    { "out-of-place", "*", OF_PS, "comm ps is not done by a reducer; leave it out" },
    { "out-of-place", "true", ON_DEVICE, "is not measured with --compute cuda, in the memory of a GPU; leave it out" },
};

const struct rules comm_rules = { .table = (const struct opt *const[]){ table, NULL },
                                  .row = rows,
                                  .n_rows = sizeof rows / sizeof *rows,
                                  .fact_words = fact_words };

enum rc comm_check_use(const struct verb_call *call, int type, bool is_on_device)
{
    const bool holds[N_FACTS] = { [OF_BARRIER] = type == COMM_BARRIER,
                                  [OF_SENDRECV] = type == COMM_SENDRECV,
                                  [OF_PS] = type == COMM_N_TYPES,
                                  [NO_PS] = type != COMM_N_TYPES,
                                  [ON_DEVICE] = is_on_device };

    return rules_check(&comm_rules, holds, call->group, call->n_groups, NULL);
}

/* --- what is asked for --- */

enum rc comm_check_files(const struct comm_opts *o)
{
    enum rc rc = RC_OK;

    if (strcmp(o->records, "-") == 0)
        FAIL(RC_INVAL, "--records -: name a file for the records; the table goes to standard output");
    TRY(file_of_option(file_check_writable(o->records), "records"));
    if (o->chart[0])
        TRY(comm_check_chart(o->chart));
out:
    return rc;
}

size_t comm_rotated_bytes(const struct verb_call *call, size_t *cache_bytes)
{
    const struct comm_opts *o = call->opts;
    const bool is_given = verb_given(call, "rotate-bytes");

    if (is_given && o->rotate_bytes == 0)
        return 0;
    *cache_bytes = caches_last_level_bytes();
    return is_given ? (size_t)o->rotate_bytes : 2 * (*cache_bytes ? *cache_bytes : UNKNOWN_CACHE_BYTES);
}

int comm_ranks_here(const struct machine *m)
{
    return m->world->module.caps & WORLD_LAUNCHED ? world_launcher().n_host_ranks : m->n_ranks;
}

enum rc comm_check_memory(const char *bytes, const struct machine *m, size_t rank_bytes)
{
    const int n_here = comm_ranks_here(m);
    const size_t available_bytes = host_memory_available("");

    if (n_here == 0 || !m->compute->touches_memory || available_bytes == SIZE_MAX)
        return RC_OK;
    const double needed_bytes = (double)rank_bytes * n_here;
    if (needed_bytes > (double)available_bytes)
        return rc_raise(RC_INVAL,
                        "--bytes %s: needs %.0f MB on a host of %d ranks, %.0f MB are available; use a smaller largest "
                        "size",
                        bytes, needed_bytes * 1e-6, n_here, (double)available_bytes * 1e-6);
    return RC_OK;
}

/* --- what is told --- */

static void show_progress(void *arg, double done_ratio, const char *what)
{
    struct comm_progress *p = arg;
    const uint64_t now_ns = wait_clock_ns();

    if (!p->has_progress)
        progress_init(&p->progress, stderr, PROGRESS_PARTS, now_ns);
    else if (done_ratio < 1 && now_ns - p->shown_ns < PROGRESS_NS)
        return;
    p->has_progress = true;
    p->progress.hides_number = true;
    p->shown_ns = now_ns;
    progress_weigh(&p->progress, done_ratio);
    progress_update(&p->progress, (size_t)(done_ratio * PROGRESS_PARTS), what, now_ns);
}

void comm_end_progress(struct comm_progress *p)
{
    if (p->has_progress)
        progress_fini(&p->progress, wait_clock_ns());
}

struct comm_plan comm_plan_of(const struct comm_opts *o, struct comm_progress *p)
{
    const int n_repeats = (int)o->repeats;

    return (struct comm_plan){ .least_repeats = n_repeats < LEAST_REPEATS ? n_repeats : LEAST_REPEATS,
                               .most_repeats = n_repeats,
                               .n_warmup = (int)o->warmup,
                               .budget_s = o->budget_s,
                               .progress = show_progress,
                               .arg = p };
}
