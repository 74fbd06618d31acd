/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_load.c - acceptance.jsonl back to struct acceptance; see acceptance_fields.h.
 *
 * Nothing is believed: what a file says that it holds is compared with its bytes before memory is asked for, and every
 * index with nodes and ranks, so that whoever reads the struct need not.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/accept/acceptance_fields.h"
#include "harness/accept/acceptance_report.h"
#include "harness/accept/bundle_parts.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/report/xml.h"

/* --- members of a record --- */

/* Cut at a border of letters where it is too long (accept.P6). */
static bool read_text(char *out, size_t n_room, const json_t *value)
{
    const char *text = json_string_value(value);
    size_t n = 0;

    if (!text)
        return false;
    for (size_t n_left = strlen(text), n_next; n_left > 0; n += n_next, n_left -= n_next) {
        n_next = utf8_sequence_bytes(text + n, n_left);
        if (n_next == 0 || n + n_next >= n_room)
            break;
    }
    memcpy(out, text, n);
    memset(out + n, 0, n_room - n);
    return true;
}

static bool read_constant(struct acceptance *a, const char **out, const json_t *value)
{
    *out = json_is_string(value) ? acceptance_keep_text(a, json_string_value(value)) : NULL;
    return *out != NULL;
}

static bool read_u64(uint64_t *out, const json_t *value)
{
    const double real = json_real_value(value);

    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *out = (uint64_t)json_integer_value(value);
    else if (json_is_real(value) && real >= 0x1p63 && real < 0x1p64) /* record_u64() */
        *out = (uint64_t)real;
    else
        return false;
    return true;
}

/* Read a number, or null, which is NaN; a whole number from least to most. False: value is not such a number. */
static bool member_f64(double *out, const json_t *value)
{
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_number(value) || json_is_null(value);
}

static bool member_int(int *out, const json_t *value, int least, int most)
{
    if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > most)
        return false;
    *out = (int)json_integer_value(value);
    return true;
}

static const char *stage_name(int i)
{
    return i < ACCEPT_N_STAGES ? accept_stage_name((enum accept_stage)i) : NULL;
}

static const char *outcome_name(int i)
{
    return i < N_OUTCOMES ? accept_outcome_name((enum accept_outcome)i) : NULL;
}

static const char *subject_name(int i)
{
    return i <= SUBJECT_LINK ? accept_subject_name((enum subject)i) : NULL;
}

static bool read_enum(int *out, const json_t *value, const char *(*name)(int))
{
    const char *text = json_string_value(value);

    for (int i = 0; text && name(i); i++)
        if (strcmp(name(i), text) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* NULL: it was read; else what is wrong. */
static const char *read_member(struct acceptance *a, const struct field *f, const json_t *value, char *member)
{
    union {
        int i;
        uint64_t u;
        double d;
        const char *text;
        bool b;
        size_t n;
    } v = { .u = 0 };

    switch (f->type) {
    case FIELD_TEXT:
        return read_text(member, f->n_bytes, value) ? NULL : "is no text";
    case FIELD_CONSTANT:
        if (!read_constant(a, &v.text, value))
            return "is no text";
        break;
    case FIELD_INT:
        if (!member_int(&v.i, value, f->least, f->most))
            return "is no whole number in its range";
        break;
    case FIELD_U64:
    case FIELD_U64_NEWER:
    case FIELD_BYTES:
        if (!read_u64(&v.u, value))
            return "is no count";
        break;
    case FIELD_F64:
        if (!member_f64(&v.d, value))
            return "is neither a number nor null";
        break;
    case FIELD_BOOL:
        v.b = json_is_true(value);
        if (!json_is_boolean(value))
            return "is neither true nor false";
        break;
    case FIELD_STAGE:
    case FIELD_STAGE_NEWER:
    case FIELD_OUTCOME:
    case FIELD_SUBJECT:
        if (!read_enum(&v.i, value,
                       f->type == FIELD_OUTCOME   ? outcome_name
                       : f->type == FIELD_SUBJECT ? subject_name
                                                  : stage_name))
            return "is no known name";
        break;
    }
    memcpy(member, &v, f->n_bytes);
    return NULL;
}

/* Read all members of `fields` from record; a keeps constants. NULL: they were read; else what is wrong with *key. */
static const char *members_read(struct acceptance *a, const struct fields *fields, const json_t *record, void *into,
                                const char **key)
{
    for (const struct field *f = fields->field; f->key; f++) {
        const json_t *value = json_object_get(record, f->key);
        const char *why = value ? read_member(a, f, value, (char *)into + f->offset_bytes) : "is missing";
        *key = f->key;
        if (!value && f->type == FIELD_STAGE_NEWER)
            continue;
        if (!value && f->type == FIELD_U64_NEWER) {
            memset((char *)into + f->offset_bytes, 0, f->n_bytes);
            continue;
        }
        if (why)
            return why;
    }
    return NULL;
}

/* --- orders of ranks --- */

/* rank[n] := an array of as many ranks, each once; is_seen[n]: zeros. NULL: it is; else what is wrong. */
static const char *read_places(int *rank, bool *is_seen, const json_t *places, int n)
{
    for (int i = 0; i < n; i++) {
        if (!member_int(&rank[i], json_array_get(places, (size_t)i), 0, n - 1))
            return "names a rank that there is not";
        if (is_seen[rank[i]])
            return "has a rank twice";
        is_seen[rank[i]] = true;
    }
    return NULL;
}

static const char *add_places(struct acceptance *a, const json_t *places, int kind)
{
    const size_t n = (size_t)a->n_ranks;
    int *rank = malloc(n * sizeof *rank);
    bool *is_seen = calloc(n, sizeof *is_seen);
    const char *why = "has more ranks than there is memory for";

    if (rank && is_seen) {
        why = read_places(rank, is_seen, places, a->n_ranks);
        if (!why && acceptance_add_rank_order(a, kind, rank) != RC_OK)
            why = rc_message();
    }
    free(rank);
    free(is_seen);
    return why;
}

/* Read a record rank_order, number `kind` of them, into a. NULL: it was read; else what is wrong with *key. */
static const char *members_read_order(struct acceptance *a, const json_t *record, int kind, const char **key)
{
    const char *name = json_string_value(json_object_get(record, "order")), *why;
    const json_t *places = json_object_get(record, "ranks");
    struct rank_order o = { .rank = NULL };

    *key = "order";
    if (kind >= ACCEPT_N_RANK_ORDERS || !name || strcmp(name, accept_rank_order_name(kind)) != 0)
        return "is not the name of the next order";
    *key = "ranks";
    if (!json_is_array(places) || (json_array_size(places) != 0 && json_array_size(places) != (size_t)a->n_ranks))
        return "is no array of all ranks, or of none";
    why = members_read(a, &fields_rank_order, record, &o, key);
    if (why)
        return why;
    *key = "ranks";
    why = json_array_size(places) > 0 ? add_places(a, places, kind) : NULL;
    if (why)
        return why;
    *key = "same_as";
    if (o.same_as > kind || (o.same_as < kind && !a->rank_order[o.same_as].rank))
        return "is no order before it";
    *key = "is_best";
    if (o.is_best && (!a->rank_order[kind].rank || acceptance_best_rank_order(a) >= 0))
        return "is true of an order that there is not, or of a second one";
    o.rank = a->rank_order[kind].rank;
    a->rank_order[kind] = o;
    return NULL;
}

/* The same for a record trained_order; there is at most one. */
static const char *members_read_trained(struct acceptance *a, const json_t *record, const char **key)
{
    *key = "order";
    return a->rank_order_training.order > 0
               ? "is there a second time"
               : members_read(a, &fields_rank_order_training, record, &a->rank_order_training, key);
}

struct loader {
    struct acceptance *into;
    const char *name; /* of the file */
    size_t line, n_bytes;
    bool has_head, has_ranks, has_soak, has_end;
    int n_nodes, n_stages, n_pair_lines;  /* read so far */
    int n_metric_lines[ACCEPT_N_METRICS]; /* likewise */
    int n_rank_orders;                    /* likewise */
    int n_repeats;                        /* that the tournament has, once all are read */
};

enum { LEAST_VALUE_BYTES = 2 }; /* of a number and its comma */

static enum rc misfit(const struct loader *l, const char *what)
{
    return rc_raise(RC_INVAL, "%s: line %zu: %s", l->name, l->line, what);
}

static enum rc misfit_key(const struct loader *l, const char *kind, const char *key, const char *what)
{
    return rc_raise(RC_INVAL, "%s: line %zu: record %s: \"%s\" %s", l->name, l->line, kind, key, what);
}

/* --- records --- */

static enum rc read_fields(struct loader *l, const struct fields *fields, const json_t *record, void *into)
{
    const char *key = NULL, *why = members_read(l->into, fields, record, into, &key);

    return why ? misfit_key(l, fields->kind, key, why) : RC_OK;
}

/* One more of array[most], of which there are *n. */
static enum rc read_next(struct loader *l, const struct fields *fields, const json_t *record, void *next, int *n,
                         int most)
{
    if (*n >= most)
        return rc_raise(RC_INVAL, "%s: line %zu: more than %d records %s", l->name, l->line, most, fields->kind);
    const enum rc rc = read_fields(l, fields, record, next);
    *n += rc == RC_OK;
    return rc;
}

/* out[n] from an array of as many numbers or nulls. */
static enum rc read_numbers(const struct loader *l, const json_t *record, const char *key, double *out, size_t n)
{
    const json_t *array = json_object_get(record, key);

    if (json_array_size(array) != n)
        return rc_raise(RC_INVAL, "%s: line %zu: \"%s\" is no array of %zu numbers", l->name, l->line, key, n);
    for (size_t i = 0; i < n; i++)
        if (!member_f64(&out[i], json_array_get(array, i)))
            return rc_raise(RC_INVAL, "%s: line %zu: \"%s\": number %zu is none", l->name, l->line, key, i + 1);
    return RC_OK;
}

/* Can the file hold n values? */
static bool has_bytes_for(const struct loader *l, double n)
{
    return n * LEAST_VALUE_BYTES <= (double)l->n_bytes;
}

static enum rc read_head(struct loader *l, const json_t *record)
{
    struct acceptance head = { .n_nodes = 0 };
    enum rc rc;

    if (l->has_head)
        return misfit(l, "a second record acceptance");
    TRY(read_fields(l, &fields_acceptance, record, &head));
    const double n_nodes = head.n_nodes, n_pairs = n_nodes * n_nodes * head.tournament.n_repeats;
    if (head.n_nodes > head.n_ranks || !has_bytes_for(l, head.n_ranks) || !has_bytes_for(l, 2 * n_pairs))
        return misfit(l, "the file is too short for so many nodes and ranks");
    if (head.lost_rank >= head.n_ranks)
        return misfit_key(l, "acceptance", "lost_rank", "is a rank that there is not");
    TRY(acceptance_open(l->into, head.n_nodes, head.n_ranks));
    l->has_head = true;
    l->n_repeats = head.tournament.n_repeats;
    head.tournament.n_repeats = 0;
    head.node = l->into->node;
    head.node_of_rank = l->into->node_of_rank;
    *l->into = head;
    if (l->n_repeats > 0)
        TRY(acceptance_add_tournament(l->into, l->n_repeats));
out:
    return rc;
}

static enum rc read_partial(struct loader *l, const json_t *record)
{
    (void)record;
    l->into->is_partial = true;
    return RC_OK;
}

static enum rc read_node(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;

    return read_next(l, &fields_node, record, &a->node[l->n_nodes < a->n_nodes ? l->n_nodes : 0], &l->n_nodes,
                     a->n_nodes);
}

static enum rc read_ranks(struct loader *l, const json_t *record)
{
    const json_t *array = json_object_get(record, "node_of_rank");
    struct acceptance *a = l->into;

    if (l->has_ranks || json_array_size(array) != (size_t)a->n_ranks)
        return misfit_key(l, "ranks", "node_of_rank", "is no array of a node for each rank, or a second one");
    for (int i = 0; i < a->n_ranks; i++)
        if (!member_int(&a->node_of_rank[i], json_array_get(array, (size_t)i), 0, a->n_nodes - 1))
            return misfit_key(l, "ranks", "node_of_rank", "names a node that there is not");
    l->has_ranks = true;
    return RC_OK;
}

static enum rc read_stage(struct loader *l, const json_t *record)
{
    const int i = l->n_stages < ACCEPT_N_STAGES ? l->n_stages : 0;
    const char *name = json_string_value(json_object_get(record, "stage"));

    if (!name || strcmp(name, accept_stage_name((enum accept_stage)i)) != 0)
        return misfit_key(l, "stage", "stage", "is not the name of the next stage");
    return read_next(l, &fields_stage, record, &l->into->stage[i], &l->n_stages, ACCEPT_N_STAGES);
}

static enum rc read_preflight(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;
    struct preflight_row p = { .node = -1 };
    enum rc rc;

    TRY(read_next(l, &fields_preflight, record, &p, &a->n_preflight, ACCEPT_MAX_PREFLIGHT));
    if (p.node >= a->n_nodes)
        return misfit_key(l, "preflight", "node", "is a node that there is not");
    a->preflight[a->n_preflight - 1] = p;
out:
    return rc;
}

static enum rc read_difference(struct loader *l, const json_t *record)
{
    struct node_difference d = { .node = -1 };
    enum rc rc;

    TRY(read_fields(l, &fields_difference, record, &d));
    if (d.fact >= l->into->n_preflight)
        return misfit_key(l, "difference", "fact", "is a fact that there is not");
    if (d.node >= l->into->n_nodes)
        return misfit_key(l, "difference", "node", "is a node that there is not");
    TRY(acceptance_add_difference(l->into, &d));
out:
    return rc;
}

static enum rc read_sums(struct loader *l, const json_t *record)
{
    return l->into->sum_checks_count > 0 || l->into->pull_checks_count > 0
               ? misfit(l, "a second record sums")
               : read_fields(l, &fields_sums, record, l->into);
}

static enum rc read_wrong_sum(struct loader *l, const json_t *record)
{
    struct wrong_sum w = { .stage = ACCEPT_COLLECTIVES, .rank = -1 }; /* files of before have no others */
    enum rc rc;

    TRY(read_fields(l, &fields_wrong_sum, record, &w));
    if (w.stage != ACCEPT_COLLECTIVES && w.stage != ACCEPT_PS)
        return misfit_key(l, "wrong_sum", "stage", "is none that sums");
    if (w.rank >= l->into->n_ranks)
        return misfit_key(l, "wrong_sum", "rank", "is a rank that there is not");
    TRY(acceptance_add_wrong_sum(l->into, &w));
out:
    return rc;
}

/* The metric of a name, by asking each for its own; -1: none. */
static int metric_of(const char *name)
{
    for (int m = 0; name && m < ACCEPT_N_METRICS; m++)
        if (strcmp(accept_metric_name(m), name) == 0)
            return m;
    return -1;
}

static enum rc read_metric(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;
    const char *name = json_string_value(json_object_get(record, "metric"));
    const int m = metric_of(name), rank = m < 0 ? 0 : l->n_metric_lines[m];
    int its_rank;
    enum rc rc;

    if (m < 0)
        return misfit_key(l, "metric", "metric", "is no known name");
    if (!member_int(&its_rank, json_object_get(record, "rank"), rank, rank) || rank >= a->n_ranks)
        return misfit_key(l, "metric", "rank", "is not the next rank");
    if (rank == 0) {
        const size_t n = json_array_size(json_object_get(record, name));
        if (n < 1 || n > ACCEPT_MAX_REPEATS || !has_bytes_for(l, (double)n * a->n_ranks))
            return misfit_key(l, "metric", name, "is no array of so many repeats");
        TRY(acceptance_add_metric(a, m, (int)n));
    }
    const size_t n_repeats = (size_t)a->metric[m].n_repeats;
    TRY(read_numbers(l, record, name, a->metric[m].value + (size_t)rank * n_repeats, n_repeats));
    l->n_metric_lines[m]++;
out:
    return rc;
}

static enum rc read_pairs(struct loader *l, const json_t *record)
{
    struct tournament *t = &l->into->tournament;
    const size_t n = (size_t)l->into->n_nodes;
    const int repeat = l->n_pair_lines / (int)n, from = l->n_pair_lines % (int)n;
    int its;
    enum rc rc;

    if (repeat >= l->n_repeats || !member_int(&its, json_object_get(record, "repeat"), repeat, repeat) ||
        !member_int(&its, json_object_get(record, "from"), from, from))
        return misfit(l, "record pairs: is not of the next repeat and node");
    TRY(read_numbers(l, record, "bytes_per_s", t->bytes_per_s + (size_t)l->n_pair_lines * n, n));
    TRY(read_numbers(l, record, "latency_s", t->latency_s + (size_t)l->n_pair_lines * n, n));
    if (json_object_get(record, "late_ratio")) { /* files of before have none */
        TRY(read_numbers(l, record, "late_ratio", t->late_ratio + (size_t)l->n_pair_lines * n, n));
        for (size_t i = 0; i < n; i++) {
            const double ratio = t->late_ratio[(size_t)l->n_pair_lines * n + i];
            if (ratio < 0 || ratio > 1) /* NaN: not known */
                return misfit_key(l, "pairs", "late_ratio", "has a number that is not from 0 to 1");
        }
        if (!member_int(&t->n_rounds, json_object_get(record, "rounds_count"), 1, INT_MAX))
            return misfit_key(l, "pairs", "rounds_count", "is no whole number from 1 on");
    }
    l->n_pair_lines++;
out:
    return rc;
}

static enum rc read_collective(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;

    return read_next(l, &fields_collective, record, &a->collective[a->n_collective % ACCEPT_MAX_SIZES],
                     &a->n_collective, ACCEPT_MAX_SIZES);
}

static enum rc read_rank_order(struct loader *l, const json_t *record)
{
    const char *key = NULL, *why = members_read_order(l->into, record, l->n_rank_orders++, &key);

    return why ? misfit_key(l, "rank_order", key, why) : RC_OK;
}

static enum rc read_ps(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;

    return read_next(l, &fields_ps, record, &a->ps[a->n_ps % ACCEPT_MAX_SIZES], &a->n_ps, ACCEPT_MAX_SIZES);
}

static enum rc read_training(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;

    return read_next(l, &fields_training, record, &a->training[a->n_training % ACCEPT_MAX_SCALES], &a->n_training,
                     ACCEPT_MAX_SCALES);
}

static enum rc read_trained(struct loader *l, const json_t *record)
{
    const char *key = NULL, *why = members_read_trained(l->into, record, &key);

    return why ? misfit_key(l, "trained_order", key, why) : RC_OK;
}

static enum rc read_corruption(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;
    struct corruption c = { .rank = -1 };
    enum rc rc;

    TRY(read_next(l, &fields_corruption, record, &c, &a->n_corruptions, ACCEPT_MAX_CORRUPTIONS));
    if (c.rank >= a->n_ranks)
        return misfit_key(l, "corruption", "rank", "is a rank that there is not");
    a->corruption[a->n_corruptions - 1] = c;
out:
    return rc;
}

static enum rc read_soak(struct loader *l, const json_t *record)
{
    if (l->has_soak)
        return misfit(l, "a second record soak");
    l->has_soak = true;
    return read_fields(l, &fields_soak, record, &l->into->soak);
}

/* Does it name a node, rank or link that there is? */
static bool is_of_fleet(const struct acceptance *a, const struct finding *f)
{
    const bool a_is_node = f->a >= 0 && f->a < a->n_nodes, b_is_node = f->b >= 0 && f->b < a->n_nodes;

    switch (f->subject) {
    case SUBJECT_FLEET:
        return true;
    case SUBJECT_NODE:
        return a_is_node;
    case SUBJECT_RANK:
        return f->a >= 0 && f->a < a->n_ranks && b_is_node;
    case SUBJECT_LINK:
        return a_is_node && b_is_node;
    }
    return false;
}

static enum rc read_finding(struct loader *l, const json_t *record)
{
    struct finding f = { .stage = ACCEPT_PREFLIGHT };
    enum rc rc;

    TRY(read_fields(l, &fields_finding, record, &f));
    if (!is_of_fleet(l->into, &f))
        return misfit_key(l, "finding", "a", "or \"b\" is a node or rank that there is not");
    TRY(acceptance_add_finding(l->into, &f));
out:
    return rc;
}

static enum rc read_criterion(struct loader *l, const json_t *record)
{
    struct acceptance *a = l->into;

    return read_next(l, &fields_criterion, record, &a->criterion[a->n_criteria % ACCEPT_MAX_CRITERIA], &a->n_criteria,
                     ACCEPT_MAX_CRITERIA);
}

/* --- lines --- */

static enum rc read_record(struct loader *l, const json_t *record)
{
    static const struct {
        const char *kind;
        enum rc (*read)(struct loader *l, const json_t *record);
    } known[] = { { "acceptance", read_head },
                  { "node", read_node },
                  { "ranks", read_ranks },
                  { "stage", read_stage },
                  { "metric", read_metric },
                  { "preflight", read_preflight },
                  { "pairs", read_pairs },
                  { "push_and_pull", read_ps },
                  { "collective", read_collective },
                  { "training", read_training },
                  { "soak", read_soak },
                  { "finding", read_finding },
                  { "corruption", read_corruption },
                  { "criterion", read_criterion },
                  { "difference", read_difference },
                  { "partial", read_partial },
                  { "sums", read_sums },
                  { "wrong_sum", read_wrong_sum },
                  { "rank_order", read_rank_order },
                  { "trained_order", read_trained } };
    const char *kind = json_string_value(json_object_get(record, "kind"));

    if (!kind)
        return misfit(l, "a record without a kind");
    if (!l->has_head && strcmp(kind, "acceptance") != 0)
        return misfit(l, "the first record is not acceptance: no file of gradmark accept");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].kind, kind) == 0)
            return known[i].read(l, record);
    return rc_raise(RC_INVAL, "%s: line %zu: no kind of record: %.64s", l->name, l->line, kind);
}

static enum rc read_line(struct loader *l, const char *line, size_t n_bytes)
{
    json_error_t error;
    json_t *record = json_loadb(line, n_bytes, JSON_REJECT_DUPLICATES, &error);
    enum rc rc;

    if (record)
        rc = read_record(l, record);
    else
        rc = rc_raise(RC_INVAL, "%s: line %zu: not a record: %s", l->name, l->line, error.text);
    json_decref(record);
    return rc;
}

/* Is all there that the first record tells of? */
static enum rc check_whole(const struct loader *l)
{
    const struct acceptance *a = l->into;
    bool is_whole = l->has_head && l->has_ranks && l->has_soak && l->n_nodes == a->n_nodes &&
                    l->n_stages == ACCEPT_N_STAGES && l->n_pair_lines == l->n_repeats * a->n_nodes &&
                    (l->n_rank_orders == 0 || l->n_rank_orders == ACCEPT_N_RANK_ORDERS);

    for (int m = 0; m < ACCEPT_N_METRICS; m++)
        is_whole = is_whole && (l->n_metric_lines[m] == 0 || l->n_metric_lines[m] == a->n_ranks);
    return is_whole ? RC_OK : misfit(l, "records are missing before the last one");
}

/* accept.P4. text[n_bytes]: what is before the last line. */
static enum rc read_end(struct loader *l, const char *text, size_t n_bytes)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char end[ACCEPTANCE_END_BYTES];

    crypto_hash_sha256(digest, (const unsigned char *)text, n_bytes);
    acceptance_end_line(end, digest);
    if (l->n_bytes - n_bytes != strlen(end) || memcmp(text + n_bytes, end, strlen(end)) != 0)
        return misfit(l, "the SHA-256 is not that of the lines before it: the file was changed");
    l->has_end = true;
    return check_whole(l);
}

static const char END_BEGINS[] = "{\"kind\":\"end\"";

enum rc acceptance_parse(struct acceptance *out, const char *name, const char *text, size_t n_bytes)
{
    struct acceptance a = { .n_nodes = 0 };
    struct loader l = { .into = &a, .name = name, .n_bytes = n_bytes };
    enum rc rc = RC_OK;

    for (size_t at = 0; at < n_bytes && !l.has_end;) {
        const char *line = text + at, *feed = memchr(line, '\n', n_bytes - at);
        const size_t n = feed ? (size_t)(feed - line) + 1 : n_bytes - at;
        l.line++;
        if (!feed)
            FAIL(RC_INVAL, "%s: line %zu: has no end: the file was cut", name, l.line);
        if (n > sizeof END_BEGINS && memcmp(line, END_BEGINS, sizeof END_BEGINS - 1) == 0)
            TRY(read_end(&l, text, at));
        else
            TRY(read_line(&l, line, n));
        at += n;
    }
    if (!l.has_end)
        FAIL(RC_INVAL, "%s: line %zu: the last record is not an end: the file was cut", name, l.line);
    a.tournament.n_repeats = l.n_repeats;
    *out = a;
    a = (struct acceptance){ .n_nodes = 0 };
out:
    acceptance_close(&a);
    return rc;
}

/* --- files --- */

enum rc acceptance_load(struct acceptance *out, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES], *text = NULL;
    FILE *from = NULL;
    struct stat about;
    enum rc rc;

    TRY(bundle_path(path, dir, "acceptance.jsonl"));
    TRY(file_open_text(&from, path, "what gradmark accept wrote"));
    if (fstat(fileno(from), &about) != 0)
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    text = malloc((size_t)about.st_size + 1);
    if (!text)
        FAIL(RC_NOMEM, "%s: no memory for %lld bytes", path, (long long)about.st_size);
    const size_t n_read = fread(text, 1, (size_t)about.st_size, from);
    if (ferror(from))
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    TRY(acceptance_parse(out, path, text, text_drop_marks(text, n_read)));
out:
    free(text);
    if (from)
        fclose(from);
    return rc;
}
