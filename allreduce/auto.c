/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto.c - of each call, the algorithm that should be the fastest one.
 *
 * open() measures the machines (rates.h), and the shortest allreduce of each algorithm (short_calls.h); the critical
 * path of each then says how long a call would take. An allreduce takes what the shortest one took, and its bytes;
 * other types have the messages of the model. All ranks have the same figures, and so choose alike. Only algorithms
 * whose costs are known are chosen from, and that can run here: those in the memory of a host only where all ranks are
 * on one. Their options are the defaults. Open are those that are the fastest for some length, each with memory for
 * calls as long as these. The naive "root" may be the fastest of few ranks for few bytes: it is chosen for these alone,
 * and where that was measured.
 *
 * Which one is chosen depends on a measurement, so the order of additions, and with it the bits, may differ between
 * runs; within one they do not (A1).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/rates.h"
#include "allreduce/short_calls.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_auto;

/* REFERENCE_ELEMS: the most that a reference is chosen for. */
enum { MAX_CANDIDATES = 16, MAX_LISTED = 32, N_REMEMBERED = 256, REFERENCE_ELEMS = SHORT_CALL_ELEMS };

struct candidate {
    const struct collective_ops *ops;
    struct collective *collective;
    size_t most_elems;          /* for longer calls another one is faster, and so it has no memory for them */
    struct short_call shortest; /* its short allreduces */
    bool is_needed;             /* for some call; else it is not open, and it may be that it cannot run here */
};

struct choice { /* of a call */
    struct collective_call call;
    int best, second; /* of candidate[]; second -1: there is no other */
    double best_s, second_s;
    bool is_made;
};

struct chooser {
    struct collective base;
    struct rates rates;
    int *host; /* [n_ranks] */
    struct candidate candidate[MAX_CANDIDATES];
    int n_candidates;
    struct choice remembered[N_REMEMBERED]; /* a step has the same calls as the one before */
};

static bool may_be_chosen(const struct module *m)
{
    return !(m->caps & (COLL_DEVICE | COLL_OPAQUE));
}

static bool may_have(const struct module *m, size_t n_elems)
{
    return may_be_chosen(m) && (!(m->caps & COLL_REFERENCE) || n_elems <= REFERENCE_ELEMS);
}

static void close_candidates(struct chooser *a)
{
    for (int i = 0; i < a->n_candidates; i++)
        collective_close(&a->candidate[i].collective);
}

static void auto_close(struct collective **c)
{
    struct chooser *a = (struct chooser *)*c;

    close_candidates(a);
    free(a->host);
    free(a);
    *c = NULL;
}

/* The one that needs most memory for these elements, of those that are not in `taken`, becomes one of them. */
static struct memory_need take_greatest(bool *taken, const struct job_facts *facts)
{
    struct memory_need most = { 0 };
    const struct module *m;
    int greatest = -1;

    for (int i = 0; (m = collective_kind.at(i)) && i < MAX_LISTED; i++)
        if (may_be_chosen(m) && !(m->caps & COLL_REFERENCE) && m->memory && !taken[i]) {
            const struct memory_need need = m->memory(NULL, facts);
            if (greatest < 0 || need.worker_bytes + need.rank_0_bytes > most.worker_bytes + most.rank_0_bytes) {
                greatest = i;
                most = need;
            }
        }
    if (greatest >= 0)
        taken[greatest] = true;
    return most;
}

/* Of references together, for calls as long as they are chosen for. */
static struct memory_need reference_memory(const struct job_facts *facts)
{
    struct job_facts shorter = *facts;
    struct memory_need all = { 0 };
    const struct module *m;

    if (shorter.n_params > REFERENCE_ELEMS)
        shorter.n_params = REFERENCE_ELEMS;
    for (int i = 0; (m = collective_kind.at(i)); i++)
        if (may_be_chosen(m) && m->caps & COLL_REFERENCE && m->memory) {
            const struct memory_need need = m->memory(NULL, &shorter);
            all.worker_bytes += need.worker_bytes;
            all.rank_0_bytes += need.rank_0_bytes;
        }
    return all;
}

/* Who is chosen is not known yet, but that one alone is for the longest calls, one for those of half as many elements,
 * and so on (find_most_elems()): the most that this can be. */
static struct memory_need auto_memory(const void *opts, const struct job_facts *facts)
{
    bool taken[MAX_LISTED] = { false };
    struct memory_need all = reference_memory(facts);
    struct job_facts shorter = *facts;

    (void)opts;
    for (int i = 0; i < MAX_CANDIDATES; i++, shorter.n_params /= 2) {
        const struct memory_need need = take_greatest(taken, &shorter);
        all.worker_bytes += need.worker_bytes;
        all.rank_0_bytes += need.rank_0_bytes;
    }
    return all;
}

static enum rc find_hosts(struct chooser *a, struct world *w)
{
    struct world *group = NULL;
    int host, n_hosts;
    enum rc rc;

    a->host = calloc((size_t)w->n_ranks, sizeof *a->host);
    if (!a->host)
        FAIL(RC_NOMEM, "collective auto: no memory for %d ranks", w->n_ranks);
    TRY(world_host_group(w, &group, &host, &n_hosts));
    TRY(world_allgather(w, &host, a->host, sizeof host));
out:
    world_split_close(&group);
    return rc;
}

/* --- the choice --- */

static struct collective_group group_of(const struct chooser *a)
{
    const struct world *w = a->base.env.transport->world;

    return (
        struct collective_group){ .n_ranks = w->n_ranks, .host = a->host, .eager_bytes = collective_eager_bytes(w) };
}

/* Messages of all ranks beside those of the path. */
static uint64_t other_messages(const struct chooser *a, int i, const struct collective_call *call,
                               const struct collective_cost *path)
{
    const struct collective_group all = group_of(a);
    uint64_t n = 0;

    if (!(a->rates.other_s > 0))
        return 0;
    for (int r = 0; r < all.n_ranks; r++)
        n += a->candidate[i].ops->predict(NULL, call, r, &all).msgs;
    return n > path->msgs ? n - path->msgs : 0;
}

static bool is_measured(const struct candidate *c, const struct collective_call *call)
{
    return call->type == COLL_ALLREDUCE && call->n_elems > 0 && !isnan(c->shortest.few_s);
}

/* Without its messages. */
static double bytes_s(const struct chooser *a, const struct collective_cost *path)
{
    struct collective_cost bytes = *path;

    bytes.msgs = bytes.meetings = 0;
    return rates_time_s(&a->rates, &bytes, 0);
}

static double expected_s(const struct chooser *a, int i, const struct collective_call *call)
{
    const struct collective_group all = group_of(a);
    const struct module *m = &a->candidate[i].ops->module;
    const bool takes_turns = m->caps & COLL_PAIRS && a->base.env.transport->ops->module.caps & TR_PAIRS_WAIT;
    const struct short_call *shortest = &a->candidate[i].shortest;
    struct collective_call more = *call;
    struct collective_cost path = a->candidate[i].ops->critical_path(NULL, call, &all), of_more;

    more.n_elems = shortest->n_more;
    of_more = a->candidate[i].ops->critical_path(NULL, &more, &all);
    if (takes_turns && all.n_ranks > 2) { /* of two ranks the measured rate is such a pair's */
        path.bytes *= 2;
        of_more.bytes *= 2;
    }
    if (!is_measured(&a->candidate[i], call))
        return rates_time_s(&a->rates, &path, other_messages(a, i, call, &path));
    if (call->n_elems <= shortest->n_more)
        return short_call_s(shortest, call->n_elems);
    return shortest->more_s + bytes_s(a, &path) - bytes_s(a, &of_more);
}

/* A reference only where it was measured, and few bytes: its model does not know what one rank does for all. */
static bool is_candidate(const struct candidate *c, const struct collective_call *call)
{
    const unsigned caps = c->ops->module.caps;

    if (caps & COLL_REFERENCE && !is_measured(c, call))
        return false;
    return caps & call->type && may_have(&c->ops->module, call->n_elems);
}

/* Where two should take as long, the one that the list has first. */
static struct choice choose(const struct chooser *a, const struct collective_call *call)
{
    struct choice made = { .call = *call, .best = -1, .second = -1, INFINITY, INFINITY, true };

    for (int i = 0; i < a->n_candidates; i++) {
        const struct candidate *c = &a->candidate[i];
        if (!is_candidate(c, call))
            continue;
        const double took_s = expected_s(a, i, call);
        if (c->is_needed && c->most_elems >= call->n_elems && (made.best < 0 || took_s < made.best_s)) {
            if (made.best >= 0 && made.best_s < made.second_s) {
                made.second = made.best;
                made.second_s = made.best_s;
            }
            made.best = i;
            made.best_s = took_s;
        } else if (made.second < 0 || took_s < made.second_s) {
            made.second = i;
            made.second_s = took_s;
        }
    }
    return made;
}

/* --- open --- */

static enum rc open_candidate(struct candidate *to, const struct collective_env *env, size_t max_elems)
{
    struct collective_env own = *env;

    own.types = to->ops->module.caps & env->types;
    own.opts = NULL;
    own.max_elems = max_elems;
    return collective_open(&to->collective, to->ops, &own);
}

static void list_candidates(struct chooser *a, const struct collective_env *env)
{
    const struct module *m;

    for (int i = 0; (m = collective_kind.at(i)) && a->n_candidates < MAX_CANDIDATES; i++)
        if (may_be_chosen(m) && m->caps & env->types && (!env->narrow || m->caps & COLL_NARROW))
            a->candidate[a->n_candidates++].ops = (const struct collective_ops *)m;
}

static enum rc measure_short(struct chooser *a, const struct collective_env *env)
{
    const struct collective_ops *ops[MAX_CANDIDATES];
    struct short_call took[MAX_CANDIDATES];
    enum rc rc;

    for (int i = 0; i < a->n_candidates; i++)
        ops[i] = a->candidate[i].ops;
    TRY(short_calls_measure(took, ops, a->n_candidates, env));
    for (int i = 0; i < a->n_candidates; i++)
        a->candidate[i].shortest = took[i];
out:
    return rc;
}

/* The longest calls that each is the fastest for, of lengths that halve. Calls between two of them may go to who is
 * the fastest for the longer one, or for more. */
static void find_most_elems(struct chooser *a, const struct collective_env *env)
{
    struct candidate found[MAX_CANDIDATES] = { 0 };
    size_t n = env->max_elems;

    for (int i = 0; i < a->n_candidates; i++) {
        found[i] = (struct candidate){ .ops = a->candidate[i].ops, .shortest = a->candidate[i].shortest };
        a->candidate[i].most_elems = env->max_elems;
        a->candidate[i].is_needed = true;
    }
    do
        for (unsigned type = 1; type < COLL_TYPES_END; type <<= 1) {
            const bool is_narrow = env->narrow && type == COLL_ALLREDUCE;
            const struct collective_call call = { .type = (enum collective_type)type,
                                                  .n_elems = n,
                                                  .wire = is_narrow ? WIRE_F16 : WIRE_F32 };
            const struct choice made = choose(a, &call);
            if (!(type & env->types) || made.best < 0 || found[made.best].is_needed)
                continue;
            found[made.best].most_elems = n;
            found[made.best].is_needed = true;
        }
    while ((n /= 2) > 0);
    memcpy(a->candidate, found, sizeof found);
}

/* Those that are needed. *refused: the one that cannot run where these ranks are, on all of them; -1: there is none. */
static enum rc open_needed(struct chooser *a, const struct collective_env *env, int *refused)
{
    enum rc rc = RC_OK;

    *refused = -1;
    for (int i = 0; i < a->n_candidates; i++) {
        struct candidate *c = &a->candidate[i];
        if (!c->is_needed)
            continue;
        rc = open_candidate(c, env, c->most_elems);
        if (rc == RC_UNSUPPORTED && a->n_candidates > 1) {
            *refused = i;
            return RC_OK;
        }
        TRY(rc);
    }
out:
    return rc;
}

/* Where one is refused, others are needed, or for longer calls: all begin again without it. */
static enum rc open_candidates(struct chooser *a, const struct collective_env *env)
{
    int refused;
    enum rc rc;

    list_candidates(a, env);
    TRY(measure_short(a, env));
    for (;;) {
        find_most_elems(a, env);
        TRY(open_needed(a, env, &refused));
        if (refused < 0)
            break;
        close_candidates(a);
        a->n_candidates--;
        memmove(&a->candidate[refused], &a->candidate[refused + 1],
                (size_t)(a->n_candidates - refused) * sizeof *a->candidate);
    }
out:
    return rc;
}

static enum rc auto_open(struct collective **out, const struct collective_env *env)
{
    struct chooser *a = calloc(1, sizeof *a);
    struct collective *base = &a->base;
    enum rc rc;

    if (!a)
        return rc_raise(RC_NOMEM, "collective auto: no memory");
    a->base.env = *env;
    TRY(find_hosts(a, env->transport->world));
    TRY(rates_measure(&a->rates, env));
    TRY(open_candidates(a, env));
    *out = base;
    base = NULL;
out:
    if (base)
        auto_close(&base);
    return rc;
}

/* --- run --- */

static size_t place_of(const struct collective_call *call)
{
    return (call->n_elems * 31 + (size_t)call->type * 7 + (size_t)call->root) % N_REMEMBERED;
}

static struct choice choice_of(const struct chooser *a, const struct collective_call *call)
{
    const struct choice *known = &a->remembered[place_of(call)];
    const bool is_known = known->is_made && known->call.type == call->type && known->call.root == call->root &&
                          known->call.n_elems == call->n_elems && known->call.wire == call->wire;

    return is_known ? *known : choose(a, call);
}

static enum rc auto_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct chooser *a = (struct chooser *)c;
    const struct choice choice = choice_of(a, call);

    a->remembered[place_of(call)] = choice;
    return collective_run(a->candidate[choice.best].collective, call, data);
}

static const struct collective_ops *auto_chosen(const struct collective *c, const struct collective_call *call)
{
    const struct chooser *a = (const struct chooser *)c;

    return a->candidate[choice_of(a, call).best].ops;
}

static void auto_explain(const struct collective *c, const struct collective_call *call, char *text, size_t n_bytes)
{
    const struct chooser *a = (const struct chooser *)c;
    const struct choice made = choice_of(a, call);
    const struct rates *r = &a->rates;
    const struct candidate *best = &a->candidate[made.best];
    char other[96] = "there is no other", measured[64] = "";

    if (made.second >= 0)
        (void)snprintf(other, sizeof other, "%s: %.3g us", a->candidate[made.second].ops->module.name,
                       1e6 * made.second_s);
    if (is_measured(best, call))
        (void)snprintf(measured, sizeof measured, ", short ones took %.3g to %.3g us", 1e6 * best->shortest.few_s,
                       1e6 * best->shortest.more_s);
    (void)snprintf(
        text, n_bytes,
        "%s for %zu bytes: %.3g us expected (%s)%s, of %.3g us a message, %.3g us each other one, %.3g GB/s a "
        "link, %.3g GB/s memory, %.3g us a meeting",
        a->candidate[made.best].ops->module.name, call->n_elems * sizeof(float), 1e6 * made.best_s, other, measured,
        1e6 * r->alpha_s, 1e6 * r->other_s, 1e-9 * r->bytes_per_s, 1e-9 * r->memory_bytes_per_s, 1e6 * r->meeting_s);
}

/* --- costs: the most of any --- */

static struct collective_cost auto_predict(const void *opts, const struct collective_call *call, int rank,
                                           const struct collective_group *group)
{
    struct collective_cost all = { 0 };
    const struct module *m;

    (void)opts;
    for (int i = 0; (m = collective_kind.at(i)); i++)
        if (may_have(m, call->n_elems) && m->caps & call->type)
            all = collective_cost_most(all, ((const struct collective_ops *)m)->predict(NULL, call, rank, group));
    return all;
}

static struct collective_cost auto_critical_path(const void *opts, const struct collective_call *call,
                                                 const struct collective_group *group)
{
    struct collective_cost all = { 0 };
    const struct module *m;

    (void)opts;
    for (int i = 0; (m = collective_kind.at(i)); i++)
        if (may_have(m, call->n_elems) && m->caps & call->type)
            all = collective_cost_most(all, ((const struct collective_ops *)m)->critical_path(NULL, call, group));
    return all;
}

const struct collective_ops collective_auto = {
    .module.name = "auto",
    .module.caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | COLL_SHARED | COLL_OPAQUE |
                   COLL_NARROW,
    .module.memory = auto_memory,
    .open = auto_open,
    .run = auto_run,
    .predict = auto_predict,
    .critical_path = auto_critical_path,
    .chosen = auto_chosen,
    .explain = auto_explain,
    .close = auto_close,
};
