/* SPDX-License-Identifier: Apache-2.0 */
/* comm_verb.c - gradmark comm: how long collectives take, by which algorithm, and what the machine would allow. */
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/text.h"
#include "harness/bench/byte_sizes.h"
#include "harness/bench/comm_bench.h"
#include "harness/exchange/collective.h"
#include "harness/train/train.h"
#include "harness/verbs/comm_formats.h"
#include "harness/verbs/comm_opts.h"
#include "harness/verbs/comm_report.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/refusal.h"
#include "harness/verbs/same_options.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"
#include "ps/ps.h"

enum { MOST_NAMES = 64 };

struct run { /* shared by the ranks of this process */
    const struct comm_opts *opts;
    struct machine machine;
    size_t n_bytes[BYTE_SIZES_MAX];
    struct comm_lane lane[COMM_MOST_LANES];
    char left_out[MOST_NAMES][COMM_REASON_BYTES];
    int n_left_out;
    size_t cache_bytes;
    struct comm_terms terms;
    struct comm_results results;
    struct comm_progress progress;
    struct refusal refusal; /* the compute of a rank does not open */
};

/* --- what is measured --- */

/* Data is in the memory of a GPU. */
static bool is_on_device(const struct run *run)
{
    return compute_has_own_memory(run->machine.compute);
}

/* 0: not known. */
static int ranks_of_a_host(const struct machine *m)
{
    return machine_is_virtual(m) ? m->cluster.n_ranks_per_host : comm_ranks_here(m);
}

/* RC_OK: it can; else why not. */
static enum rc check_reducer(const struct collective_ops *ops, const struct run *run)
{
    const struct job_facts facts = { .n_workers = run->machine.n_ranks };
    const void *opts = module_options(&run->opts->modules, comm_kinds, &ops->module);
    const struct machine *m = &run->machine;
    const struct collective_hosts hosts = {
        m->n_ranks, ranks_of_a_host(m), machine_is_virtual(m) && cluster_memories_are_apart(&m->cluster, m->n_ranks)
    };
    enum rc rc;

    TRY(collective_require(&collective_kind, ops, comm_collective_type(run->terms.type)));
    TRY(module_check_world(&collective_kind, &ops->module, &world_kind, &run->machine.world->module));
    if (ops->module.caps & COLL_DEVICE && !(run->machine.compute->module.caps & COMPUTE_SIDE))
        FAIL(RC_UNSUPPORTED, "%s needs GPUs, but --compute is %s", ops->module.name, run->machine.compute->module.name);
    TRY(collective_check_hosts(&collective_kind, ops, &hosts));
    if (ops->module.check)
        TRY(ops->module.check(opts, &facts));
out:
    return rc;
}

static void leave_out(struct run *run, const char *why)
{
    if (run->n_left_out < MOST_NAMES)
        snprintf(run->left_out[run->n_left_out++], COMM_REASON_BYTES, "%s", why);
}

static enum rc add_reducer(struct run *run, const struct collective_ops *ops)
{
    for (int i = 0; i < run->terms.n_lanes; i++)
        if (run->lane[i].ops == ops)
            return rc_raise(RC_INVAL, "--reducer %s: names %s twice; leave one out", run->opts->reducer,
                            ops->module.name);
    if (run->terms.n_lanes == COMM_MOST_LANES)
        return rc_raise(RC_INVAL, "--reducer %s: are more than %d; give fewer", run->opts->reducer, COMM_MOST_LANES);
    run->lane[run->terms.n_lanes++] =
        (struct comm_lane){ .name = ops->module.name,
                            .kind = COMM_LANE_REDUCER,
                            .ops = ops,
                            .opts = module_options(&run->opts->modules, comm_kinds, &ops->module) };
    return RC_OK;
}

/* Each that can run here. */
static enum rc add_all(struct run *run)
{
    const char *name;
    enum rc rc = RC_OK;

    for (int i = 0; (name = module_name(&collective_kind, i)); i++) {
        const struct collective_ops *ops = NULL;
        if (collective_find(&ops, &collective_kind, name) == RC_OK && check_reducer(ops, run) == RC_OK) {
            TRY(add_reducer(run, ops));
            continue;
        }
        leave_out(run, rc_message());
        rc_clear();
    }
    if (run->terms.n_lanes == 0)
        FAIL(RC_UNSUPPORTED, "--reducer all: none can run: %s", run->n_left_out ? run->left_out[0] : "there is none");
out:
    return rc;
}

static enum rc add_named(struct run *run)
{
    const char *rest = run->opts->reducer;
    char name[64];
    enum rc rc = RC_OK;

    while (text_next(&rest, name, sizeof name)) {
        const struct collective_ops *ops = NULL;
        if (strcmp(name, "all") == 0)
            FAIL(RC_INVAL, "--reducer %s: all are all; use all alone, or names alone", run->opts->reducer);
        TRY(rc_prefix(collective_find(&ops, &collective_kind, name), "--reducer %s: ", run->opts->reducer));
        TRY(rc_prefix(check_reducer(ops, run), "--reducer %s: ", run->opts->reducer));
        TRY(add_reducer(run, ops));
    }
out:
    return rc;
}

static enum rc add_lanes(struct run *run)
{
    const enum comm_type type = run->terms.type;

    if (comm_collective_type(type))
        return strcmp(run->opts->reducer, "all") == 0 ? add_all(run) : add_named(run);
    run->lane[run->terms.n_lanes++] = type == COMM_BARRIER
                                          ? (struct comm_lane){ .name = "dissemination", .kind = COMM_LANE_BARRIER }
                                          : (struct comm_lane){ .name = "transport", .kind = COMM_LANE_EXCHANGE };
    return RC_OK;
}

/* --- all that can be wrong with the input --- */

/* Options of reducers that are not measured (base.U2). */
static enum rc check_modules(const struct verb_call *call, const struct run *run)
{
    for (int g = 0; g < call->n_groups; g++) {
        const struct opt_group *group = &call->group[g];
        bool is_used = !group->module || opt_first_given(group) < 0;
        for (int i = 0; i < run->terms.n_lanes; i++)
            is_used = is_used || (run->lane[i].ops && &run->lane[i].ops->module == group->module);
        if (!is_used)
            return rc_raise(RC_INVAL, "--%s...: are options of reducer %s, which is not measured; use --reducer %s",
                            group->module->name, group->module->name, group->module->name);
    }
    return RC_OK;
}

static enum rc check_memory(const struct run *run)
{
    const int n_here = comm_ranks_here(&run->machine);

    return comm_check_memory(run->opts->bytes, &run->machine, comm_bench_bytes(&run->terms, n_here > 0 ? n_here : 1));
}

static int sim_ranks(const struct cluster *c)
{
    enum { MOST = 64, ANY = 8 };
    const int n_hosts = c->n_hosts > 0 ? c->n_hosts : ANY;

    return n_hosts * c->n_ranks_per_host < MOST ? n_hosts * c->n_ranks_per_host : MOST;
}

static enum rc find_sizes(struct run *run)
{
    enum rc rc = RC_OK;

    run->terms.plan.n_bytes = run->n_bytes;
    run->n_bytes[0] = 0;
    run->terms.plan.n_sizes = 1;
    if (run->terms.type != COMM_BARRIER)
        TRY(rc_prefix(
            byte_sizes_parse(run->n_bytes, &run->terms.plan.n_sizes, run->opts->bytes, sizeof(float), COMM_MOST_BYTES),
            "--bytes %s: ", run->opts->bytes));
out:
    return rc;
}

static enum rc check_ranks(const struct run *run)
{
    if (run->machine.n_ranks < 2)
        return rc_raise(RC_INVAL, "--workers %d: one rank has no other rank to communicate with; use 2 or more",
                        run->machine.n_ranks);
    return RC_OK;
}

/* What has no meaning, or no measurement, where data is on a GPU (bench.B7). */
static enum rc check_device(struct run *run, const struct verb_call *call)
{
    const char *compute = run->machine.compute->module.name, *type = comm_type_name(run->terms.type);

    if (!is_on_device(run))
        return RC_OK;
    if (!comm_collective_type(run->terms.type))
        return rc_raise(RC_INVAL, "--compute %s: %s is of the memory of the host; use cpu", compute, type);
    run->terms.out_of_place = false;
    return comm_check_use(call, (int)run->terms.type, true);
}

static enum rc prepare(struct run *run, const struct verb_call *call)
{
    const struct comm_opts *o = run->opts;
    enum rc rc;

    run->terms = (struct comm_terms){ .plan = comm_plan_of(o, &run->progress),
                                      .root = 0, /* as in trainings: rank 0 has the first parameters */
                                      .lane = run->lane,
                                      .out_of_place = o->out_of_place,
                                      .waits_as_it_suits = train_wait_policy(o->machine.wait) == WAIT_AUTO,
                                      .leaves_out = strcmp(o->reducer, "all") == 0 };
    TRY(comm_type_find(&run->terms.type, call->operand[0]));
    TRY(comm_check_use(call, (int)run->terms.type, false));
    TRY(find_sizes(run));
    TRY(machine_prepare(&run->machine, &o->machine, sim_ranks));
    TRY(check_ranks(run));
    TRY(check_device(run, call));
    run->terms.transport = run->machine.transport;
    run->terms.timeout_ms = machine_is_virtual(&run->machine) ? WAIT_FOREVER : COMM_MESSAGE_LIMIT_MS;
    TRY(add_lanes(run));
    TRY(check_modules(call, run));
    TRY(comm_check_osu(call, &run->terms));
    if (!machine_is_virtual(&run->machine) && run->terms.type != COMM_BARRIER)
        run->terms.rotated_bytes = comm_rotated_bytes(call, &run->cache_bytes);
    TRY(check_memory(run));
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
    bool is_refused;
    enum rc rc;

    world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    TRY(machine_choose_wait(&run->machine, w));
    TRY(refusal_agree(w, &run->refusal, machine_open_compute(&compute, &run->machine, w, run->machine.compute),
                      &is_refused));
    if (!is_refused)
        TRY(comm_bench(w->rank == 0 ? &run->results : NULL, w, compute, &run->terms));
out:
    compute_close(&compute);
    return rc;
}

static enum rc report(struct run *run, struct verb_call *call)
{
    const struct comm_about about = { .terms = &run->terms,
                                      .results = &run->results,
                                      .where = comm_where_of(&run->machine, run->cache_bytes),
                                      .left_out = run->left_out,
                                      .n_left_out = run->n_left_out };
    const struct comm_output out = comm_report_output(&about);

    return comm_output_report(&out, call);
}

static enum rc comm_run(struct verb_call *call)
{
    struct run *run = calloc(1, sizeof *run);
    enum rc rc = RC_OK, ran;

    if (!run)
        FAIL(RC_NOMEM, "no memory");
    if (call->operand[0] && strcmp(call->operand[0], sync_ps.module.name) == 0) {
        TRY(comm_ps_run(call));
        goto out;
    }
    run->opts = call->opts;
    TRY(prepare(run, call));
    call->stage = STAGE_RUN;
    stop_catch_first();
    const struct world_opts world = machine_world_opts(&run->machine);
    ran = same_options_run(call, run->machine.world, &world, run->machine.n_ranks, body, run);
    comm_end_progress(&run->progress);
    if (run->results.n_rows > 0)
        TRY(report(run, call));
    TRY(refusal_raise(&run->refusal, call));
    rc = ran; /* what was measured is reported, and the error of the run beside it */
out:
    if (run)
        comm_results_close(&run->results);
    free(run);
    return rc;
}

static const char *operand_name(int i)
{
    return i < COMM_N_TYPES ? comm_type_name((enum comm_type)i) : i == COMM_N_TYPES ? sync_ps.module.name : NULL;
}

static const struct verb_example examples[] = {
    { "comm allreduce --reducer ring,shm --bytes 1Mi --budget-s 4", "Two algorithms, between two threads" },
    { "comm ps --transport tcp --bytes 4Mi", "Push and pull over TCP of this machine" },
    { "comm allreduce --world sim --workers 16 --bytes 1Ki,1Mi", "All algorithms on a simulated cluster" },
    { NULL, NULL },
};

static const struct verb_basics basics[] = {
    { "sizes and repeats", "bytes repeats budget-s" },
    { "memory", "rotate-bytes out-of-place" },
    { "parameter server", "servers partition-bytes" },
    { "ranks", "workers interface transport compute wait" },
    { "simulation", "world cluster cluster-set" },
    { "output", "format records chart" },
    { NULL, NULL },
};

const struct verb verb_comm = {
    .name = "comm",
    .summary = "measure collectives, or push and pull, and their ceiling",
    .operands = "TYPE",
    .operand_name = operand_name,
    .usage = "TYPE [--option value ...]\n"
             "mpirun -np N gradmark comm TYPE [--option value ...]",
    .introduction =
        "Measures a collective by each algorithm, as nccl-tests does, and the ceiling of the machine. TYPE is "
        "allreduce, broadcast, allgather, reduce-scatter, barrier or sendrecv, or ps: push and pull of a "
        "parameter server.\n\n"
        "--reducer NAME,... chooses algorithms, as in the example. Every result is checked: a wrong "
        "element gives exit status 1.",
    .example = examples,
    .basics = basics,
    .page = "collectives",
    .has_records = true,
    .format = comm_format_table,
    .opts_bytes = sizeof(struct comm_opts),
    .group = comm_groups,
    .not_with = &comm_rules,
    .kinds = comm_kinds,
    .modules_offset_bytes = offsetof(struct comm_opts, modules),
    .rule = machine_opt_rules,
    .run = comm_run,
};
