/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_save.c - struct acceptance to acceptance.jsonl; see acceptance_fields.h. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_fields.h"
#include "harness/accept/bundle_parts.h"
#include "harness/base/file.h"
#include "harness/report/record.h"

struct saver {
    struct atomic_file file;
    crypto_hash_sha256_state hash; /* of all that was written */
};

/* A record to the file and into the digest. Ends *r. */
static enum rc save_record(struct saver *s, struct record **r)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);
    enum rc rc = RC_OK;

    if (!to)
        FAIL(RC_NOMEM, "no memory for a record");
    rc = record_print(*r, to);
    if (fclose(to) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for a record");
    if (rc != RC_OK)
        goto out;
    crypto_hash_sha256_update(&s->hash, (const unsigned char *)text, n_bytes);
    if (fwrite(text, 1, n_bytes, s->file.stream) != n_bytes)
        FAIL(RC_IO, "%s: write failed: %s", s->file.path, strerror(errno));
out:
    free(text);
    record_close(r);
    return rc;
}

static const char *enum_name(enum field_type type, const void *member)
{
    int value;

    memcpy(&value, member, sizeof value);
    if (type == FIELD_STAGE || type == FIELD_STAGE_NEWER)
        return accept_stage_name((enum accept_stage)value);
    return type == FIELD_OUTCOME ? accept_outcome_name((enum accept_outcome)value)
                                 : accept_subject_name((enum subject)value);
}

static void set_field(struct record *r, const struct field *f, const void *from)
{
    const char *member = (const char *)from + f->offset_bytes;
    union {
        int i;
        uint64_t u;
        size_t n;
        double d;
        bool b;
        const char *text;
    } v;

    if (f->n_bytes <= sizeof v)
        memcpy(&v, member, f->n_bytes);
    switch (f->type) {
    case FIELD_TEXT:
        record_text(r, f->key, member);
        break;
    case FIELD_CONSTANT:
        record_text(r, f->key, v.text ? v.text : "");
        break;
    case FIELD_INT:
        record_i64(r, f->key, v.i);
        break;
    case FIELD_U64:
    case FIELD_U64_NEWER:
        record_u64(r, f->key, v.u);
        break;
    case FIELD_BYTES:
        record_u64(r, f->key, v.n);
        break;
    case FIELD_F64:
        record_f64(r, f->key, v.d);
        break;
    case FIELD_BOOL:
        record_bool(r, f->key, v.b);
        break;
    case FIELD_STAGE:
    case FIELD_STAGE_NEWER:
    case FIELD_OUTCOME:
    case FIELD_SUBJECT:
        record_text(r, f->key, enum_name(f->type, member));
        break;
    }
}

static enum rc save_fields(struct saver *s, const struct fields *fields, const void *from)
{
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, fields->kind));
    for (const struct field *f = fields->field; f->key; f++)
        set_field(r, f, from);
    TRY(save_record(s, &r));
out:
    record_close(&r);
    return rc;
}

/* n structs of n_bytes each */
static enum rc save_all(struct saver *s, const struct fields *fields, const void *from, int n, size_t n_bytes)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < n; i++)
        TRY(save_fields(s, fields, (const char *)from + (size_t)i * n_bytes));
out:
    return rc;
}

static enum rc save_stages(struct saver *s, const struct acceptance *a)
{
    struct record *r = NULL;
    enum rc rc = RC_OK;

    for (int i = 0; i < ACCEPT_N_STAGES; i++) {
        TRY(record_open(&r, fields_stage.kind));
        record_text(r, "stage", accept_stage_name((enum accept_stage)i));
        for (const struct field *f = fields_stage.field; f->key; f++)
            set_field(r, f, &a->stage[i]);
        TRY(save_record(s, &r));
    }
out:
    record_close(&r);
    return rc;
}

static enum rc save_ranks(struct saver *s, const struct acceptance *a)
{
    uint64_t *node = malloc((size_t)a->n_ranks * sizeof *node);
    struct record *r = NULL;
    enum rc rc = RC_OK;

    if (!node)
        FAIL(RC_NOMEM, "no memory for %d ranks", a->n_ranks);
    for (int i = 0; i < a->n_ranks; i++)
        node[i] = (uint64_t)a->node_of_rank[i];
    TRY(record_open(&r, "ranks"));
    record_u64_array(r, "node_of_rank", node, (size_t)a->n_ranks);
    TRY(save_record(s, &r));
out:
    free(node);
    record_close(&r);
    return rc;
}

static enum rc save_metric(struct saver *s, const struct acceptance *a, const struct rank_metric *m)
{
    struct record *r = NULL;
    enum rc rc = RC_OK;

    for (int rank = 0; rank < a->n_ranks; rank++) {
        TRY(record_open(&r, "metric"));
        record_text(r, "metric", m->name);
        record_i64(r, "rank", rank);
        record_f64_array(r, m->name, m->value + (size_t)rank * (size_t)m->n_repeats, (size_t)m->n_repeats);
        TRY(save_record(s, &r));
    }
out:
    record_close(&r);
    return rc;
}

static enum rc save_tournament(struct saver *s, const struct tournament *t)
{
    const size_t n = (size_t)t->n_nodes;
    struct record *r = NULL;
    enum rc rc = RC_OK;

    for (int i = 0; i < t->n_repeats * t->n_nodes; i++) {
        TRY(record_open(&r, "pairs"));
        record_i64(r, "repeat", i / t->n_nodes);
        record_i64(r, "from", i % t->n_nodes);
        record_f64_array(r, "bytes_per_s", t->bytes_per_s + (size_t)i * n, n);
        record_f64_array(r, "latency_s", t->latency_s + (size_t)i * n, n);
        if (t->n_rounds > 0) {
            record_f64_array(r, "late_ratio", t->late_ratio + (size_t)i * n, n);
            record_i64(r, "rounds_count", t->n_rounds);
        }
        TRY(save_record(s, &r));
    }
out:
    record_close(&r);
    return rc;
}

/* Of each order; nothing where none was made. */
static enum rc save_rank_orders(struct saver *s, const struct acceptance *a)
{
    uint64_t *rank = malloc((size_t)a->n_ranks * sizeof *rank);
    struct record *r = NULL;
    enum rc rc = RC_OK;

    if (!rank)
        FAIL(RC_NOMEM, "no memory for %d ranks", a->n_ranks);
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS && a->rank_order[RANK_ORDER_LAUNCHER].rank; k++) {
        const struct rank_order *o = &a->rank_order[k];
        TRY(record_open(&r, fields_rank_order.kind));
        record_text(r, "order", accept_rank_order_name(k));
        for (int i = 0; o->rank && i < a->n_ranks; i++)
            rank[i] = (uint64_t)o->rank[i];
        record_u64_array(r, "ranks", rank, o->rank ? (size_t)a->n_ranks : 0);
        for (const struct field *f = fields_rank_order.field; f->key; f++)
            set_field(r, f, o);
        TRY(save_record(s, &r));
    }
out:
    free(rank);
    record_close(&r);
    return rc;
}

/* The stages behind the tournament, and what is found. */
static enum rc save_rest(struct saver *s, const struct acceptance *a)
{
    enum rc rc;

    TRY(save_all(s, &fields_collective, a->collective, a->n_collective, sizeof *a->collective));
    if (a->sum_checks_count > 0 || a->pull_checks_count > 0)
        TRY(save_fields(s, &fields_sums, a));
    TRY(save_all(s, &fields_wrong_sum, a->wrong_sum, a->n_wrong_sums, sizeof *a->wrong_sum));
    TRY(save_rank_orders(s, a));
    TRY(save_all(s, &fields_ps, a->ps, a->n_ps, sizeof *a->ps));
    TRY(save_all(s, &fields_training, a->training, a->n_training, sizeof *a->training));
    if (a->rank_order_training.order > 0)
        TRY(save_fields(s, &fields_rank_order_training, &a->rank_order_training));
    TRY(save_all(s, &fields_corruption, a->corruption, a->n_corruptions, sizeof *a->corruption));
    TRY(save_fields(s, &fields_soak, &a->soak));
    TRY(save_all(s, &fields_finding, a->finding, a->n_findings, sizeof *a->finding));
    TRY(save_all(s, &fields_criterion, a->criterion, a->n_criteria, sizeof *a->criterion));
out:
    return rc;
}

static enum rc save_whole(struct saver *s, const struct acceptance *a)
{
    enum rc rc;

    TRY(save_fields(s, &fields_acceptance, a));
    if (a->is_partial)
        TRY(save_fields(s, &fields_partial, a));
    TRY(save_all(s, &fields_node, a->node, a->n_nodes, sizeof *a->node));
    TRY(save_ranks(s, a));
    TRY(save_stages(s, a));
    TRY(save_all(s, &fields_preflight, a->preflight, a->n_preflight, sizeof *a->preflight));
    TRY(save_all(s, &fields_difference, a->difference, a->n_differences, sizeof *a->difference));
    for (int m = 0; m < ACCEPT_N_METRICS; m++)
        if (a->metric[m].value)
            TRY(save_metric(s, a, &a->metric[m]));
    TRY(save_tournament(s, &a->tournament));
    TRY(save_rest(s, a));
out:
    return rc;
}

void acceptance_end_line(char out[ACCEPTANCE_END_BYTES], const unsigned char digest[crypto_hash_sha256_BYTES])
{
    char hex[2 * crypto_hash_sha256_BYTES + 1];

    sodium_bin2hex(hex, sizeof hex, digest, crypto_hash_sha256_BYTES);
    snprintf(out, ACCEPTANCE_END_BYTES, "{\"kind\":\"end\",\"sha256\":\"%s\"}\n", hex);
}

enum rc acceptance_save(const struct acceptance *a, const char *path)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char end[ACCEPTANCE_END_BYTES];
    struct saver s = { .file = { NULL } };
    enum rc rc;

    TRY(atomic_file_open(&s.file, path));
    crypto_hash_sha256_init(&s.hash);
    TRY(save_whole(&s, a));
    crypto_hash_sha256_final(&s.hash, digest);
    acceptance_end_line(end, digest);
    fputs(end, s.file.stream);
    TRY(atomic_file_commit(&s.file));
out:
    atomic_file_discard(&s.file);
    return rc;
}
