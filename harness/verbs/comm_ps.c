/* SPDX-License-Identifier: Apache-2.0 */
/* comm_ps.c - gradmark comm ps: push and pull of the parameter server, and what the way between its ranks allows. */
#include <stdlib.h>
#include <string.h>

#include "harness/bench/byte_sizes.h"
#include "harness/bench/ps_bench.h"
#include "harness/net/transport.h"
#include "harness/verbs/comm_formats.h"
#include "harness/verbs/comm_opts.h"
#include "harness/verbs/comm_ps_report.h"
#include "harness/verbs/same_options.h"
#include "harness/world/stop.h"
#include "ps/ps.h"

static const char every_size[] = "1Ki:64Mi:x4";

struct run { /* shared by the ranks of this process */
    const struct comm_opts *opts;
    struct machine_opts machine_opts;
    struct machine machine;
    size_t n_bytes[BYTE_SIZES_MAX];
    size_t cache_bytes;
    struct ps_terms terms;
    struct ps_results results;
    struct comm_progress progress;
};

/* --- all that can be wrong with the input --- */

static enum rc check_use(const struct verb_call *call)
{
    enum rc rc;

    TRY(comm_check_use(call, COMM_N_TYPES, false));
    for (int g = 0; g < call->n_groups; g++)
        if (call->group[g].module && opt_first_given(&call->group[g]) >= 0)
            FAIL(RC_INVAL, "--%s...: are options of reducer %s, and ps has none; leave them out",
                 call->group[g].module->name, call->group[g].module->name);
out:
    return rc;
}

static int no_ranks(const struct cluster *c)
{
    (void)c; /* there are servers, so that --workers says how many there are */
    return 0;
}

static enum rc find_ranks(struct run *run)
{
    const int n_servers = (int)run->opts->servers;

    run->terms.n_servers = n_servers;
    run->terms.n_workers = run->machine.n_ranks - n_servers;
    if (run->terms.n_workers < 1)
        return rc_raise(RC_INVAL, "--servers %d: %d ranks were launched, and no worker is left; use %d or fewer",
                        n_servers, run->machine.n_ranks, run->machine.n_ranks - 1);
    if (compute_has_own_memory(run->machine.compute))
        return rc_raise(RC_INVAL, "--compute %s: comm measures in the memory of the host; use cpu",
                        run->machine.compute->module.name);
    return RC_OK;
}

static enum rc prepare(struct run *run, const struct verb_call *call)
{
    const struct comm_opts *o = run->opts;
    const char *bytes = verb_given(call, "bytes") ? o->bytes : every_size;
    enum rc rc;

    run->machine_opts = o->machine;
    run->machine_opts.n_servers = o->servers;
    run->terms = (struct ps_terms){ .plan = comm_plan_of(o, &run->progress), .partition_bytes = o->partition_bytes };
    run->terms.plan.n_bytes = run->n_bytes;
    TRY(check_use(call));
    TRY(rc_prefix(byte_sizes_parse(run->n_bytes, &run->terms.plan.n_sizes, bytes, sizeof(float), COMM_MOST_BYTES),
                  "--bytes %s: ", bytes));
    TRY(machine_prepare(&run->machine, &run->machine_opts, no_ranks));
    TRY(find_ranks(run));
    TRY(comm_check_ps_osu(call, &run->terms));
    if (run->terms.partition_bytes == 0 && run->machine.transport->module.caps & TR_CUTS) /* as in a training */
        run->terms.partition_bytes = (size_t)run->terms.n_servers * PS_PARTITION_BYTES;
    run->terms.transport = run->machine.transport;
    run->terms.timeout_ms = machine_is_virtual(&run->machine) ? WAIT_FOREVER : COMM_MESSAGE_LIMIT_MS;
    if (!machine_is_virtual(&run->machine))
        run->terms.rotated_bytes = comm_rotated_bytes(call, &run->cache_bytes);
    const int n_here = comm_ranks_here(&run->machine);
    TRY(comm_check_memory(bytes, &run->machine, ps_bench_bytes(&run->terms, n_here > 0 ? n_here : 1)));
    if (run->machine.is_root)
        TRY(comm_check_files(o));
out:
    return rc;
}

/* --- the run --- */

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;
    struct compute *compute = NULL;
    enum rc rc;

    world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    TRY(machine_choose_wait(&run->machine, w));
    TRY(machine_open_compute(&compute, &run->machine, w, run->machine.compute));
    TRY(ps_bench(w->rank == 0 ? &run->results : NULL, w, compute, &run->terms));
out:
    compute_close(&compute);
    return rc;
}

static enum rc report(struct run *run, struct verb_call *call)
{
    const struct comm_ps_about about = { &run->terms, &run->results, comm_where_of(&run->machine, run->cache_bytes) };
    const struct comm_output out = comm_ps_report_output(&about);

    return comm_output_report(&out, call);
}

enum rc comm_ps_run(struct verb_call *call)
{
    struct run *run = calloc(1, sizeof *run);
    enum rc rc = RC_OK, ran;

    if (!run)
        FAIL(RC_NOMEM, "no memory");
    run->opts = call->opts;
    TRY(prepare(run, call));
    call->stage = STAGE_RUN;
    stop_catch_first();
    struct world_opts world = machine_world_opts(&run->machine);
    world.has_tasks = true; /* the echo's */
    ran = same_options_run(call, run->machine.world, &world, run->machine.n_ranks, body, run);
    comm_end_progress(&run->progress);
    if (run->results.n_rows > 0)
        TRY(report(run, call));
    rc = ran; /* what was measured is reported, and the error of the run beside it */
out:
    if (run)
        ps_results_close(&run->results);
    free(run);
    return rc;
}
