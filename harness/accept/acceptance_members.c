/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_members.c - see acceptance_members.h. */
#include "harness/accept/acceptance_members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/xml.h"

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

bool member_f64(double *out, const json_t *value)
{
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_number(value) || json_is_null(value);
}

bool member_int(int *out, const json_t *value, int least, int most)
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

const char *members_read(struct acceptance *a, const struct fields *fields, const json_t *record, void *into,
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

const char *members_read_order(struct acceptance *a, const json_t *record, int kind, const char **key)
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

const char *members_read_trained(struct acceptance *a, const json_t *record, const char **key)
{
    *key = "order";
    return a->rank_order_training.order > 0
               ? "is there a second time"
               : members_read(a, &fields_rank_order_training, record, &a->rank_order_training, key);
}
