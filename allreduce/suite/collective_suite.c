/* SPDX-License-Identifier: Apache-2.0 */
/* collective_suite.c - sizes around every boundary, guard bands, repeated runs, exact traffic, formats. */
#include "allreduce/suite/collective_suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/suite/collective_values.h"
#include "harness/base/opt.h"
#include "harness/base/suite/test_allocations.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

enum { MAX_ELEMS = 40001, GUARD_ELEMS = 32, TIMEOUT_MS = 120000, N_SIZES = 9, MOST_WORDS = 4 };

static const float GUARD = -12345.0f;
static const size_t DATA_BYTES = (MAX_ELEMS + 2 * GUARD_ELEMS) * sizeof(float);

struct suite {
    struct world *w;
    const struct collective_ops *ops;
    const void *opts; /* of the algorithm, NULL: it has none */
    struct transport *transport;
    struct compute *compute;
    struct collective *collective;
    float *memory;          /* guard, data, guard: own, or of the share */
    float *input;           /* the same, of what is brought out of place */
    float *own, *own_input; /* the same two, of this rank alone */
    struct world *host;     /* of those whose data is shared; else NULL */
    struct share *share[2]; /* A8, of memory and input; NULL: they are own */
    int *host_of;           /* [n_ranks] */
    struct collective_group all;
    double charged_bytes; /* by computes so far */
    int n_failures, quiet;
    struct collective_finding first;
};

static void expect(struct suite *s, int ok, const char *what, const struct collective_call *call)
{
    const char *type = collective_type_name(call->type);

    if (ok)
        return;
    if (s->n_failures++ == 0) {
        s->first.type = type;
        snprintf(s->first.what, sizeof s->first.what, "%s", what);
    }
    if (!s->quiet)
        fprintf(stderr, "collective %s, %s, root %d, wire %d, rank %d of %d, n = %zu: %s\n", s->ops->module.name, type,
                call->root, (int)call->wire, s->w->rank, s->w->n_ranks, call->n_elems, what);
}

/* Has any rank seen a failure? All of them stop then, so that none waits for another. */
static bool any_failed(struct suite *s)
{
    int *all = calloc((size_t)s->w->n_ranks, sizeof *all), n = 0;

    if (!all || world_allgather(s->w, &s->n_failures, all, sizeof *all) != RC_OK)
        n = 1;
    for (int r = 0; n == 0 && r < s->w->n_ranks; r++)
        n += all[r];
    free(all);
    return n > 0;
}

/* --- what ranks bring, and what they must have --- */

/* The rank whose chunk element i is in: chunk r ends before floor(n (r + 1) / p). */
static int owner_of(const struct suite *s, size_t i, size_t n_elems)
{
    const uint64_t p = (uint64_t)s->w->n_ranks;
    int r = 0;

    while (i >= n_elems * ((uint64_t)r + 1) / p)
        r++;
    return r;
}

static uint32_t brought(const struct suite *s, const struct collective_call *call, size_t i, int round)
{
    const int source = call->type == COLL_BROADCAST ? call->root : owner_of(s, i, call->n_elems);

    if (sums(call->type))
        return bits_of(addend(call->wire, s->w->rank, i, round));
    return source == s->w->rank ? copied(source, i, round) : bits_of(-777.0f - (float)s->w->rank);
}

static bool is_right(const struct suite *s, const struct collective_call *call, size_t i, int round)
{
    const int owner = owner_of(s, i, call->n_elems);
    const uint32_t bits = bits_of(s->memory[GUARD_ELEMS + i]);
    float sum = 0;

    if (call->type == COLL_REDUCE_SCATTER && owner != s->w->rank)
        return true;
    if (!sums(call->type))
        return bits == copied(call->type == COLL_BROADCAST ? call->root : owner, i, round);
    for (int r = 0; r < s->w->n_ranks; r++)
        sum += addend(call->wire, r, i, round);
    return s->memory[GUARD_ELEMS + i] == sum;
}

static void fill_memory(float *memory, const struct suite *s, const struct collective_call *call, int round)
{
    for (size_t i = 0; i < call->n_elems + 2 * GUARD_ELEMS; i++)
        memory[i] = GUARD;
    for (size_t i = 0; i < call->n_elems; i++) {
        const uint32_t bits = brought(s, call, i, round);
        memcpy(&memory[GUARD_ELEMS + i], &bits, sizeof bits);
    }
}

static void fill(struct suite *s, const struct collective_call *call, int round)
{
    fill_memory(s->memory, s, call, round);
}

static bool guards_hold(const float *memory, size_t n_elems)
{
    for (size_t i = 0; i < GUARD_ELEMS; i++)
        if (memory[i] != GUARD || memory[GUARD_ELEMS + n_elems + i] != GUARD)
            return false;
    return true;
}

static bool all_right(const struct suite *s, const struct collective_call *call, int round)
{
    size_t i = 0;

    while (i < call->n_elems && is_right(s, call, i, round))
        i++;
    return i == call->n_elems;
}

/* A13 */
static bool goes_out_of_place(const struct collective_call *call)
{
    return call->type == COLL_ALLREDUCE && call->wire == WIRE_F32;
}

/* --- A1, A2, A3, A5, A13 of one call --- */

struct counted {
    struct traffic traffic;
    double charged_bytes;
};

static struct counted count(const struct suite *s)
{
    return (struct counted){ s->transport->moved, s->charged_bytes };
}

static struct collective_cost predicted(const struct suite *s, const struct collective_call *call, int rank)
{
    return s->ops->predict(s->opts, call, rank, &s->all);
}

/* A3 counts additions where the compute makes all of them, on data as it is. */
static bool counts_additions(const struct suite *s)
{
    return !(s->transport->ops->module.caps & TR_ADD) && (s->share[0] || !(s->ops->module.caps & COLL_SHARED));
}

/* What was sent, added and copied since `before` is what was predicted. */
static void expect_cost(struct suite *s, const struct collective_call *call, struct counted before, bool counts_memory,
                        const char *what)
{
    const struct collective_cost cost = predicted(s, call, s->w->rank);
    const struct counted now = count(s);

    if (s->ops->module.caps & COLL_OPAQUE)
        return;
    expect(s,
           now.traffic.msgs_sent - before.traffic.msgs_sent == cost.msgs &&
               now.traffic.bytes_sent - before.traffic.bytes_sent == cost.bytes &&
               (!counts_memory || now.charged_bytes - before.charged_bytes == (double)cost.memory_bytes) &&
               (s->ops->module.caps & COLL_SHARED || call->wire != WIRE_F32 ||
                cost.memory_bytes == cost.adds * COLL_ADD_BYTES),
           what, call);
}

/* Twice, with other data, so that what the first left behind shows. */
static void check_values(struct suite *s, const struct collective_call *call)
{
    for (int round = 0; round < 2; round++) {
        const struct counted before = count(s);

        fill(s, call, round);
        if (collective_run(s->collective, call, s->memory + GUARD_ELEMS) != RC_OK) {
            expect(s, 0, rc_message(), call);
            return;
        }
        expect(s, all_right(s, call, round), "A1: the result is wrong", call);
        expect(s, guards_hold(s->memory, call->n_elems), "A2: wrote outside the data", call);
        expect_cost(s, call, before, counts_additions(s), "A3: costs other than predict");
    }
}

static bool input_is_as_filled(const struct suite *s, const float *input, const struct collective_call *call, int round)
{
    for (size_t i = 0; i < call->n_elems; i++)
        if (bits_of(input[GUARD_ELEMS + i]) != brought(s, call, i, round))
            return false;
    return guards_hold(input, call->n_elems);
}

/* A13, of what is in `input`. What data holds before must not matter. A copy with one rank is not in the costs. */
static void check_out_of_place(struct suite *s, const struct collective_call *in_place, float *input)
{
    const bool is_alike = input == s->input; /* both in shares, or neither of them */
    struct collective_call call = *in_place;

    call.input = input + GUARD_ELEMS;
    for (int round = 0; round < 2; round++) {
        const struct counted before = count(s);

        fill_memory(input, s, &call, round);
        fill(s, &call, round + 7);
        if (collective_run(s->collective, &call, s->memory + GUARD_ELEMS) != RC_OK) {
            expect(s, 0, rc_message(), &call);
            return;
        }
        expect(s, all_right(s, &call, round), "A13: out of place the result is wrong", &call);
        expect(s, guards_hold(s->memory, call.n_elems), "A13: out of place it wrote outside the data", &call);
        expect(s, input_is_as_filled(s, input, &call, round), "A13: the input is changed", &call);
        expect_cost(s, &call, before, is_alike && s->w->n_ranks > 1 && counts_additions(s),
                    "A13: out of place it costs other than predict");
    }
}

static void charge(void *arg, double flops, double bytes)
{
    struct suite *s = arg;

    (void)flops;
    s->charged_bytes += bytes;
}

static enum rc open_one(struct collective **out, struct suite *s, struct compute *compute)
{
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = s->transport,
                                        .compute = compute,
                                        .timeout_ms = TIMEOUT_MS,
                                        .opts = s->opts,
                                        .types = s->ops->module.caps & (COLL_TYPES_END - 1),
                                        .narrow = s->ops->module.caps & COLL_NARROW,
                                        .max_elems = MAX_ELEMS,
                                        .share = s->share,
                                        .n_shares = 2 };

    return collective_open(out, s->ops, &env);
}

/* A5: the same messages without content, on a compute that touches nothing. */
static enum rc run_hollow(struct suite *s, const struct collective_call *call)
{
    struct compute *hollow = NULL;
    const struct compute_backend *backend = NULL;
    struct collective *collective = NULL;
    enum rc rc;

    TRY(compute_find(&backend, "hollow"));
    TRY(compute_open(&hollow, backend, &(struct compute_env){ .charge = charge, .arg = s }));
    TRY(open_one(&collective, s, hollow));
    TRY(collective_run(collective, call, NULL));
out:
    collective_close(&collective);
    compute_close(&hollow);
    return rc;
}

static void check_hollow(struct suite *s, const struct collective_call *call)
{
    const struct counted before = count(s);

    if (!(s->transport->ops->module.caps & TR_HOLLOW) || s->ops->module.caps & COLL_OPAQUE)
        return;
    expect(s, run_hollow(s, call) == RC_OK, "A5: a hollow run failed", call);
    expect_cost(s, call, before, true, "A5: a hollow run costs other than predict");
}

/* A10: as many messages of half as many bytes. */
static void check_narrow_prediction(struct suite *s, const struct collective_call *call)
{
    const int n_ranks = s->ops->module.caps & COLL_OPAQUE ? 0 : s->w->n_ranks;
    struct collective_call wide = *call;

    wide.wire = WIRE_F32;
    for (int r = 0; r < n_ranks; r++) {
        const struct collective_cost cost = predicted(s, call, r), wide_cost = predicted(s, &wide, r);
        expect(s, cost.msgs == wide_cost.msgs && 2 * cost.bytes == wide_cost.bytes && cost.adds == wide_cost.adds,
               "A10: 16 bits a float are not half of what 32 bits send", call);
    }
}

/* The prediction itself: totals over ranks must be consistent, the longest path no shorter than any rank. */
static void check_prediction(struct suite *s, const struct collective_call *call)
{
    const struct collective_cost path = s->ops->critical_path(s->opts, call, &s->all);
    const uint64_t n_adds_wanted = sums(call->type) ? (uint64_t)(s->w->n_ranks - 1) * call->n_elems : 0;
    const bool adds_alone = s->ops->module.caps & COLL_SHARED && call->type == COLL_ALLREDUCE; /* each rank, if short */
    uint64_t n_adds = 0, n_bytes = 0;

    if (s->ops->module.caps & COLL_OPAQUE)
        return;
    for (int r = 0; r < s->w->n_ranks; r++) {
        const struct collective_cost cost = predicted(s, call, r);
        n_adds += cost.adds;
        n_bytes += cost.bytes;
        expect(s, cost.bytes <= path.bytes, "A3: a rank sends more than the critical path", call);
        expect(s, cost.adds <= path.adds, "A3: a rank adds more than the critical path", call);
        expect(s, cost.memory_bytes <= path.memory_bytes, "A3: a rank moves more memory than the critical path", call);
    }
    expect(s, n_adds == n_adds_wanted || (adds_alone && n_adds == (uint64_t)s->w->n_ranks * n_adds_wanted),
           "A3: additions are not (p - 1) n, or 0 where nothing is added", call);
    expect(s, path.bytes <= n_bytes && (path.msgs > 0) == (n_bytes > 0), "A3: the critical path has more than all send",
           call);
}

/* --- what needs one size only --- */

/* A1 on values whose sum depends on the order: the same bits on every rank, and in another run. */
static void check_same_bits(struct suite *s, enum collective_type type, enum wire_format wire)
{
    enum { N = 97 };
    struct collective_call call = { .type = type, .n_elems = N, .wire = wire };
    float *data = s->memory + GUARD_ELEMS, *all = NULL, before[N] = { 0 };

    for (int run = 0; run < 2 + goes_out_of_place(&call); run++) {
        for (size_t i = 0; i < N; i++)
            s->input[i] = data[i] = 1.0f / (float)(3 + i * 5 + (size_t)s->w->rank * 11);
        call.input = run == 2 ? s->input : NULL;
        if (collective_run(s->collective, &call, data) != RC_OK) {
            expect(s, 0, rc_message(), &call);
            return;
        }
        for (size_t i = 0; i < N; i++) {
            const bool has = type == COLL_ALLREDUCE || owner_of(s, i, N) == s->w->rank;
            expect(s, !has || run == 0 || bits_of(before[i]) == bits_of(data[i]),
                   run == 2 ? "A13: out of place it has other bits" : "A1: another run has other bits", &call);
        }
        memcpy(before, data, sizeof before);
    }
    if (type != COLL_ALLREDUCE)
        return;
    all = malloc((size_t)s->w->n_ranks * N * sizeof *all);
    if (!all || world_allgather(s->w, data, all, N * sizeof *all) != RC_OK)
        expect(s, 0, "cannot compare ranks", &call);
    else
        for (int r = 0; r < s->w->n_ranks; r++)
            expect(s, memcmp(all + (size_t)r * N, data, N * sizeof *all) == 0, "A1: ranks hold different bits", &call);
    free(all);
}

/* A4; a transport that copies messages may allocate them. Between the barriers no rank does anything else. */
static void check_allocations(struct suite *s, enum collective_type type)
{
    struct collective_call call = { .type = type, .n_elems = MAX_ELEMS };
    enum rc rc;

    if (s->transport->ops->module.caps & TR_COPIES)
        return;
    fill(s, &call, 0);
    fill_memory(s->input, s, &call, 0);
    TRY(world_barrier(s->w));
    const size_t n_before = test_allocations();
    TRY(world_barrier(s->w));
    TRY(collective_run(s->collective, &call, s->memory + GUARD_ELEMS));
    if (goes_out_of_place(&call)) {
        call.input = s->input + GUARD_ELEMS;
        TRY(collective_run(s->collective, &call, s->memory + GUARD_ELEMS));
    }
    TRY(world_barrier(s->w));
    expect(s, test_allocations() == n_before, "A4: a run allocates", &call);
    TRY(world_barrier(s->w));
out:
    expect(s, rc == RC_OK, rc_message(), &call);
}

/* Refused calls send nothing and write nothing. */
static void check_refused(struct suite *s, const struct collective_call *call, enum rc wanted, const char *what)
{
    const struct collective_call few = { .type = COLL_ALLREDUCE, .n_elems = 8 };
    const struct counted before = count(s);

    fill(s, &few, 0);
    expect(s, collective_run(s->collective, call, s->memory + GUARD_ELEMS) == wanted, what, call);
    for (size_t i = 0; i < 8; i++)
        expect(s, s->memory[GUARD_ELEMS + i] == addend(WIRE_F32, s->w->rank, i, 0), "touched data it refused", call);
    expect(s, guards_hold(s->memory, 8), "touched memory it refused", call);
    expect(s, count(s).traffic.msgs_sent == before.traffic.msgs_sent, "sent a message of a call it refused", call);
}

/* --- */

static void check_call(struct suite *s, const struct collective_call *call)
{
    check_values(s, call);
    if (goes_out_of_place(call))
        check_out_of_place(s, call, s->input);
    if (goes_out_of_place(call) && s->input != s->own_input)
        check_out_of_place(s, call, s->own_input);
    check_hollow(s, call);
    check_prediction(s, call);
    if (call->wire != WIRE_F32)
        check_narrow_prediction(s, call);
}

static bool has_wire(const struct suite *s, enum collective_type type, enum wire_format wire)
{
    return wire == WIRE_F32 || (type == COLL_ALLREDUCE && s->ops->module.caps & COLL_NARROW);
}

static void check_type(struct suite *s, enum collective_type type, enum wire_format wire)
{
    const int p = s->w->n_ranks, root[] = { 0, 1, p - 1 };
    const size_t n_elems[N_SIZES] = { 0, 1, (size_t)p - 1, (size_t)p, (size_t)p + 1, 97, 1024, 4099, MAX_ELEMS };
    struct collective_call call = { .type = type, .wire = wire };
    bool failed = false;

    for (int i = 0; i < N_SIZES && !failed; i++)
        for (int k = 0; k < (type != COLL_BROADCAST ? 1 : p < 3 ? p : 3) && !failed; k++) {
            call.n_elems = n_elems[i];
            call.root = root[k];
            check_call(s, &call);
            failed = any_failed(s);
        }
    if (!failed && sums(type))
        check_same_bits(s, type, wire);
    if (!failed && !any_failed(s))
        check_allocations(s, type);
    call.n_elems = MAX_ELEMS + 1;
    if (s->n_failures == 0)
        check_refused(s, &call, RC_INVAL, "A2: took more than max_elems");
    call = (struct collective_call){ .type = type, .root = p, .n_elems = 8 };
    if (s->n_failures == 0 && type == COLL_BROADCAST)
        check_refused(s, &call, RC_INVAL, "A2: took a root that is not there");
    call = (struct collective_call){ .type = type, .n_elems = 8, .wire = WIRE_F16 };
    if (s->n_failures == 0 && !has_wire(s, type, WIRE_F16))
        check_refused(s, &call, RC_INVAL, "A10: took 16 bits of a type that has none");
    call = (struct collective_call){ .type = type, .n_elems = 8, .wire = wire, .input = s->input };
    if (s->n_failures == 0 && !goes_out_of_place(&call))
        check_refused(s, &call, RC_INVAL, "A13: took an input that the type or format does not have");
}

static void check_types(struct suite *s)
{
    for (unsigned bit = 1; bit < COLL_TYPES_END && !any_failed(s); bit <<= 1) {
        const struct collective_call call = { .type = (enum collective_type)bit, .n_elems = 8 };
        if (s->ops->module.caps & bit)
            for (enum wire_format wire = WIRE_F32; wire < N_WIRE_FORMATS && !any_failed(s); wire++) {
                if (has_wire(s, call.type, wire))
                    check_type(s, call.type, wire);
            }
        else
            check_refused(s, &call, RC_UNSUPPORTED, "A6: took a type that it does not have");
    }
}

static enum rc check_over(struct suite *s, const struct transport_ops *transport, const struct transport_ops *shown)
{
    enum rc rc;

    TRY(transport_open(&s->transport, transport, s->w));
    s->transport->ops = shown;
    TRY(open_one(&s->collective, s, s->compute));
    check_types(s);
    TRY(world_barrier(s->w)); /* a peer may still read what this rank sent */
out:
    collective_close(&s->collective);
    collective_close(&s->collective); /* twice: nulls */
    transport_close(&s->transport);
    return rc;
}

static enum rc open_data(struct suite *s)
{
    struct world *host = NULL;
    int own_host, n_hosts;
    enum rc rc = RC_OK;

    s->own = s->memory = malloc(DATA_BYTES);
    s->own_input = s->input = malloc(DATA_BYTES);
    s->host_of = calloc((size_t)s->w->n_ranks, sizeof *s->host_of);
    if (!s->own || !s->own_input || !s->host_of)
        FAIL(RC_NOMEM, "no memory");
    TRY(world_host_group(s->w, &host, &own_host, &n_hosts));
    TRY(world_allgather(s->w, &own_host, s->host_of, sizeof own_host));
    s->all = (struct collective_group){ .n_ranks = s->w->n_ranks, .host = s->host_of };
out:
    world_split_close(&host);
    return rc;
}

/* A8: the same again, with data that the ranks of a host map. */
static enum rc share_data(struct suite *s)
{
    int host, n_hosts;
    enum rc rc;

    TRY(world_host_group(s->w, &s->host, &host, &n_hosts));
    TRY(world_share_open(s->host, DATA_BYTES, &s->share[0]));
    TRY(world_share_open(s->host, DATA_BYTES, &s->share[1]));
    s->memory = s->share[0]->mine;
    s->input = s->share[1]->mine;
out:
    return rc;
}

static void close_data(struct suite *s)
{
    world_share_close(&s->share[1]);
    world_share_close(&s->share[0]);
    world_split_close(&s->host);
    free(s->own);
    free(s->own_input);
    free(s->host_of);
}

int collective_suite(struct world *w, const struct transport_ops *transport, const struct collective_ops *ops,
                     const char *option, int quiet, struct collective_finding *first)
{
    static const struct module_kind *const kinds[] = { &collective_kind, NULL };
    const struct collective_call none = { .type = COLL_TYPES_END };
    struct suite s = { .w = w, .ops = ops, .quiet = quiet };
    struct transport_ops plain = *transport; /* adds nothing in place */
    const struct compute_backend *cpu = NULL;
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values values;
    char words[128], *word[MOST_WORDS] = { NULL }, *rest = words;
    int n_words = 0;
    enum rc rc;

    snprintf(words, sizeof words, "%s", option ? option : "");
    for (char *one; n_words < MOST_WORDS && (one = strtok_r(rest, " ", &rest)) != NULL;)
        word[n_words++] = one;
    plain.module.caps &= ~(unsigned)TR_ADD;
    TRY(open_data(&s));
    TRY(compute_find(&cpu, "cpu"));
    TRY(compute_open(&s.compute, cpu, &(struct compute_env){ .charge = charge, .arg = &s }));
    TRY(opt_parse(group, module_opt_groups(group, kinds, &values), NULL, n_words, word));
    s.opts = module_options(&values, kinds, &ops->module);
    TRY(check_over(&s, transport, transport));
    if ((transport->module.caps & TR_ADD) && !any_failed(&s))
        TRY(check_over(&s, transport, &plain));
    if (ops->module.caps & COLL_SHARED && !any_failed(&s)) {
        TRY(share_data(&s));
        TRY(check_over(&s, transport, transport));
    }
out:
    expect(&s, rc == RC_OK, rc_message(), &none);
    compute_close(&s.compute);
    close_data(&s);
    *first = s.first;
    return s.n_failures;
}
