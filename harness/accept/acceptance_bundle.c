/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_bundle.c - the folder of an acceptance test, its checksums last. */
#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/accept/acceptance_fields.h"
#include "harness/accept/acceptance_report.h"
#include "harness/accept/bundle_parts.h"
#include "harness/accept/host_list.h"
#include "harness/accept/judge.h"
#include "harness/accept/rank_order.h"
#include "harness/accept/report_words.h"
#include "harness/base/file.h"
#include "harness/report/record.h"
#include "harness/report/xml.h"

/* --- acceptance.jsonl --- */

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
        FAIL(RC_IO, "%s: write failed: %s%s", s->file.path, strerror(errno), file_write_remedy(errno));
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
    struct record *r = record_open(fields->kind);

    for (const struct field *f = fields->field; f->key; f++)
        set_field(r, f, from);
    return save_record(s, &r);
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
    enum rc rc = RC_OK;

    for (int i = 0; i < ACCEPT_N_STAGES; i++) {
        struct record *r = record_open(fields_stage.kind);
        record_text(r, "stage", accept_stage_name((enum accept_stage)i));
        for (const struct field *f = fields_stage.field; f->key; f++)
            set_field(r, f, &a->stage[i]);
        TRY(save_record(s, &r));
    }
out:
    return rc;
}

static enum rc save_ranks(struct saver *s, const struct acceptance *a)
{
    uint64_t *node = malloc((size_t)a->n_ranks * sizeof *node);
    enum rc rc = RC_OK;

    if (!node)
        FAIL(RC_NOMEM, "no memory for %d ranks", a->n_ranks);
    for (int i = 0; i < a->n_ranks; i++)
        node[i] = (uint64_t)a->node_of_rank[i];
    struct record *r = record_open("ranks");
    record_u64_array(r, "node_of_rank", node, (size_t)a->n_ranks);
    rc = save_record(s, &r);
out:
    free(node);
    return rc;
}

static enum rc save_metric(struct saver *s, const struct acceptance *a, const struct rank_metric *m)
{
    enum rc rc = RC_OK;

    for (int rank = 0; rank < a->n_ranks; rank++) {
        struct record *r = record_open("metric");
        record_text(r, "metric", m->name);
        record_i64(r, "rank", rank);
        record_f64_array(r, m->name, m->value + (size_t)rank * (size_t)m->n_repeats, (size_t)m->n_repeats);
        TRY(save_record(s, &r));
    }
out:
    return rc;
}

static enum rc save_tournament(struct saver *s, const struct tournament *t)
{
    const size_t n = (size_t)t->n_nodes;
    enum rc rc = RC_OK;

    for (int i = 0; i < t->n_repeats * t->n_nodes; i++) {
        struct record *r = record_open("pairs");
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
    return rc;
}

/* Of each order; nothing where none was made. */
static enum rc save_rank_orders(struct saver *s, const struct acceptance *a)
{
    uint64_t *rank = malloc((size_t)a->n_ranks * sizeof *rank);
    enum rc rc = RC_OK;

    if (!rank)
        FAIL(RC_NOMEM, "no memory for %d ranks", a->n_ranks);
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS && a->rank_order[RANK_ORDER_LAUNCHER].rank; k++) {
        const struct rank_order *o = &a->rank_order[k];
        struct record *r = record_open(fields_rank_order.kind);
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
out:
    return atomic_file_finish(&s.file, rc);
}

/* --- junit.xml --- */

/*
 * junit.xml: a suite for each stage, a case for each criterion, as continuous integration reads it.
 *
 * It holds to the schema by which Jenkins' xUnit plugin checks files (junit-10.xsd): times have at most three
 * decimals, testsuites has no attribute skipped, and a testcase has no properties: its figures are its output, one on
 * each line.
 *
 * FAIL is a failure, NO DATA an error, SKIPPED skipped. A stage whose outcome none of its criteria has, as it ended
 * before it had any, has a case of its own: what the suites say is what the stages are.
 */

struct counts {
    int n[N_OUTCOMES];
};

/* Does the stage need a case beside its criteria, as none of these has its outcome? Not if it passed with criteria that
 * have no limit or were skipped: a reader takes a suite without failure for passed. */
static bool has_own_case(const struct acceptance *a, enum accept_stage stage)
{
    int n = 0;

    for (int i = 0; i < a->n_criteria; i++) {
        n += a->criterion[i].stage == stage;
        if (a->criterion[i].stage == stage && a->criterion[i].outcome == a->stage[stage].outcome)
            return false;
    }
    return n == 0 || a->stage[stage].outcome != OUTCOME_PASS;
}

static struct counts counts_of(const struct acceptance *a, enum accept_stage stage)
{
    struct counts c = { { 0 } };

    for (int i = 0; i < a->n_criteria; i++)
        if (a->criterion[i].stage == stage)
            c.n[a->criterion[i].outcome]++;
    c.n[a->stage[stage].outcome] += has_own_case(a, stage);
    return c;
}

static void write_counts(const struct counts *c, FILE *to)
{
    const int *n = c->n;

    fprintf(to, " tests=\"%d\" failures=\"%d\" errors=\"%d\"",
            n[OUTCOME_PASS] + n[OUTCOME_FAIL] + n[OUTCOME_NO_DATA] + n[OUTCOME_SKIPPED] + n[OUTCOME_NO_LIMIT],
            n[OUTCOME_FAIL], n[OUTCOME_NO_DATA]);
}

static void write_time(double took_s, FILE *to)
{
    fprintf(to, " time=\"%.3f\"", took_s > 0 ? took_s : 0.0);
}

static void write_property(const char *name, const char *value, FILE *to)
{
    fputs("<property", to);
    xml_attribute(to, "name", name);
    xml_attribute(to, "value", value);
    fputs("/>\n", to);
}

static void write_number_property(const char *name, double value, FILE *to)
{
    char text[32];

    snprintf(text, sizeof text, "%.17g", value);
    write_property(name, text, to);
}

/* A line of output. NaN: none. */
static void write_figure(const char *name, double value, FILE *to)
{
    if (!isnan(value))
        fprintf(to, "%s: %.17g\n", name, value);
}

/* What went wrong: text under the tag that a reader knows. */
static void write_outcome(enum accept_outcome outcome, const char *message, const char *more, FILE *to)
{
    static const char *const tag[] = { NULL, "failure", "error", "skipped" };

    if (outcome == OUTCOME_PASS || outcome == OUTCOME_NO_LIMIT)
        return;
    fprintf(to, "<%s", tag[outcome]);
    xml_attribute(to, "message", message[0] ? message : accept_outcome_name(outcome));
    if (outcome != OUTCOME_SKIPPED)
        xml_attribute(to, "type", accept_outcome_name(outcome));
    fputc('>', to);
    xml_text(to, more);
    fprintf(to, "</%s>\n", tag[outcome]);
}

static void open_case(enum accept_stage stage, const char *name, FILE *to)
{
    fprintf(to, "<testcase classname=\"gradmark.accept.%s\"", accept_stage_name(stage));
    xml_attribute(to, "name", name);
    fputs(" time=\"0\">\n", to);
}

static void write_criterion(const struct criterion *c, FILE *to)
{
    char more[512], measured[QUANTITY_BYTES], limit[QUANTITY_BYTES + 16];

    quantity_text(measured, sizeof measured, c->measured, c->unit);
    limit_text(limit, sizeof limit, c);
    snprintf(more, sizeof more, "measured %s, limit %s\n%s", measured, limit, c->text);
    open_case(c->stage, c->name, to);
    write_outcome(c->outcome, c->text, more, to);
    fputs("<system-out>", to);
    write_figure("measured", c->measured, to);
    write_figure("low", c->low, to);
    write_figure("high", c->high, to);
    write_figure(c->at_least ? "least" : "most", c->limit, to);
    if (c->unit[0]) {
        fputs("unit: ", to);
        xml_text(to, c->unit);
        fputc('\n', to);
    }
    write_figure("samples", c->n_samples, to);
    fputs("</system-out>\n", to);
    fputs("</testcase>\n", to);
}

/* The findings of a stage as what its suite printed. */
static void write_findings(const struct acceptance *a, enum accept_stage stage, FILE *findings)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].stage == stage) {
            finding_print(a, &a->finding[i], findings);
            fputc('\n', findings);
        }
}

static enum rc write_output(const struct acceptance *a, enum accept_stage stage, FILE *to)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *findings = open_memstream(&text, &n_bytes);
    enum rc rc = RC_OK;

    if (!findings)
        return rc_raise(RC_NOMEM, "no memory for findings");
    write_findings(a, stage, findings);
    if (fclose(findings) != 0)
        FAIL(RC_NOMEM, "no memory for findings");
    if (n_bytes > 0) {
        fputs("<system-out>", to);
        xml_text(to, text);
        fputs("</system-out>\n", to);
    }
out:
    free(text);
    return rc;
}

static enum rc write_suite(const struct acceptance *a, enum accept_stage stage, FILE *to)
{
    const struct stage_state *s = &a->stage[stage];
    const struct counts c = counts_of(a, stage);
    enum rc rc;

    fprintf(to, "<testsuite name=\"%s\"", accept_stage_name(stage));
    write_counts(&c, to);
    fprintf(to, " skipped=\"%d\"", c.n[OUTCOME_SKIPPED]);
    write_time(s->took_s, to);
    fputs(">\n<properties>\n", to);
    write_property("outcome", accept_outcome_name(s->outcome), to);
    write_property("cluster", a->cluster_name, to);
    write_property("world", a->world, to);
    write_property("transport", a->transport, to);
    write_property("compute", a->compute, to);
    write_number_property("nodes", a->n_nodes, to);
    write_number_property("ranks", a->n_ranks, to);
    if (a->injected[0])
        write_property("injected", a->injected, to);
    fputs("</properties>\n", to);
    for (int i = 0; i < a->n_criteria; i++)
        if (a->criterion[i].stage == stage)
            write_criterion(&a->criterion[i], to);
    if (has_own_case(a, stage)) {
        open_case(stage, "the stage", to);
        write_outcome(s->outcome, s->why, s->why, to);
        fputs("</testcase>\n", to);
    }
    TRY(write_output(a, stage, to));
    fputs("</testsuite>\n", to);
out:
    return rc;
}

enum rc acceptance_junit(const struct acceptance *a, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    struct counts all = { { 0 } };
    double took_s = 0;
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        const struct counts c = counts_of(a, (enum accept_stage)s);
        for (int i = 0; i < N_OUTCOMES; i++)
            all.n[i] += c.n[i];
        took_s += a->stage[s].took_s > 0 ? a->stage[s].took_s : 0;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gradmark accept\"", file.stream);
    write_counts(&all, file.stream);
    write_time(took_s, file.stream);
    fputs(">\n", file.stream);
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        TRY(write_suite(a, (enum accept_stage)s, file.stream));
    fputs("</testsuites>\n", file.stream);
out:
    return atomic_file_finish(&file, rc);
}

/* --- lists of hosts --- */

/*
 * good.hosts and bad.hosts for Open MPI, slurm.txt for Slurm, rank_order.hosts for both.
 *
 * Bad is a node that a finding blames: itself, a rank of it, or all nodes. The ends of a blamed link are good, each
 * for itself: a comment of good.hosts and of slurm.txt names the link.
 */

static bool is_bad(const struct acceptance *a, int node)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].subject == SUBJECT_FLEET ||
            (a->finding[i].subject != SUBJECT_LINK && finding_is_of_node(&a->finding[i], node)))
            return true;
    return false;
}

/* A line of a comment, whatever the text holds. */
static void comment(const char *what, const char *text, FILE *to)
{
    char line[SUBJECT_BYTES];

    line_text(line, sizeof line, text);
    fprintf(to, "# %s: %s\n", what, line);
}

/* What is blamed and is no node: links, and all nodes together. */
static void write_blamed(const struct acceptance *a, FILE *to)
{
    char name[SUBJECT_BYTES];
    bool has_fleet = false;

    for (int i = 0; i < a->n_findings; i++) {
        const bool is_fleet = a->finding[i].subject == SUBJECT_FLEET;
        if (a->finding[i].subject == SUBJECT_LINK || (is_fleet && !has_fleet)) {
            has_fleet = has_fleet || is_fleet;
            accept_subject_text(name, sizeof name, a, &a->finding[i]);
            comment("blamed", name, to);
        }
    }
}

static enum rc write_hostfile(const struct acceptance *a, bool bad, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    if (!bad)
        write_blamed(a, file.stream);
    for (int i = 0; i < a->n_nodes; i++) {
        const char *name = a->node[i].name;
        if (is_bad(a, i) != bad)
            continue;
        if (host_name_is_plain(name)) /* accept.P5 */
            fprintf(file.stream, "%s slots=%d\n", name, a->node[i].n_ranks);
        else
            comment("no name of a host", name, file.stream);
    }
out:
    return atomic_file_finish(&file, rc);
}

/* "--exclude=host[1-3]", or a comment where there is none. */
static enum rc write_list(const struct acceptance *a, bool bad, const char *option, FILE *to)
{
    const char **name = calloc((size_t)a->n_nodes, sizeof *name);
    char *list = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;

    if (!name)
        FAIL(RC_NOMEM, "no memory for the names of %d nodes", a->n_nodes);
    for (int i = 0; i < a->n_nodes; i++) {
        if (is_bad(a, i) != bad)
            continue;
        if (host_name_is_plain(a->node[i].name))
            name[n++] = a->node[i].name;
        else
            comment("no name of a host", a->node[i].name, to); /* accept.P5 */
    }
    TRY(host_list_fold(&list, name, n));
    if (n > 0)
        fprintf(to, "--%s=%s\n", option, list);
    else
        fprintf(to, "# no node for --%s\n", option);
out:
    free(list);
    free(name);
    return rc;
}

/* The best order of ranks: a word of Slurm's where there is one, else the file. */
static void write_distribution(const struct acceptance *a, FILE *to)
{
    const int best = acceptance_best_rank_order(a);
    const char *distribution = best >= 0 ? rank_order_distribution(a, best) : NULL;

    if (distribution)
        fprintf(to, "--distribution=%s\n", distribution);
    else if (best >= 0)
        fputs("# with SLURM_HOSTFILE=rank_order.hosts in the environment:\n--distribution=arbitrary\n", to);
}

static enum rc write_slurm(const struct acceptance *a, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    write_blamed(a, file.stream);
    TRY(write_list(a, false, "nodelist", file.stream));
    TRY(write_list(a, true, "exclude", file.stream));
    write_distribution(a, file.stream);
out:
    return atomic_file_finish(&file, rc);
}

/* May every host of a be written into a file of hosts? */
static bool are_plain(const struct acceptance *a)
{
    for (int i = 0; i < a->n_nodes; i++)
        if (!host_name_is_plain(a->node[i].name))
            return false;
    return true;
}

static enum rc write_rank_order(const struct acceptance *a, int best, const char *path)
{
    const bool has_hosts = are_plain(a);
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fprintf(file.stream,
            "# order of ranks: %s; line by line the host of rank 0, 1, ...\n"
            "# mpirun --map-by seq --hostfile FILE; SLURM_HOSTFILE=FILE srun --distribution=arbitrary\n",
            accept_rank_order_name(best));
    if (!has_hosts) /* accept.P5: of a part of the ranks there is no order */
        fputs("# none: the name of a node is no name of a host\n", file.stream);
    for (int i = 0; has_hosts && i < a->n_ranks; i++)
        fprintf(file.stream, "%s\n", a->node[a->node_of_rank[a->rank_order[best].rank[i]]].name);
out:
    return atomic_file_finish(&file, rc);
}

enum rc acceptance_hosts(const struct acceptance *a, const char *dir)
{
    const int best = acceptance_best_rank_order(a);
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "good.hosts"));
    TRY(write_hostfile(a, false, path));
    TRY(bundle_path(path, dir, "bad.hosts"));
    TRY(write_hostfile(a, true, path));
    TRY(bundle_path(path, dir, "slurm.txt"));
    TRY(write_slurm(a, path));
    if (best >= 0) {
        TRY(bundle_path(path, dir, "rank_order.hosts"));
        TRY(write_rank_order(a, best, path));
    }
out:
    return rc;
}

enum rc bundle_path(char out[ACCEPTANCE_PATH_BYTES], const char *dir, const char *name)
{
    if (snprintf(out, ACCEPTANCE_PATH_BYTES, "%s/%s", dir, name) >= ACCEPTANCE_PATH_BYTES)
        return rc_raise(RC_INVAL, "%.64s...: too long a name", dir);
    return RC_OK;
}

bool acceptance_is_bundle(const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    struct stat about;

    if (bundle_path(path, dir, "acceptance.jsonl") != RC_OK) {
        rc_clear();
        return false;
    }
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static enum rc file_sha256(char out[2 * crypto_hash_sha256_BYTES + 1], const char *path)
{
    unsigned char bytes[16384], digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state hash;
    FILE *from = NULL;
    enum rc rc;

    TRY(file_open_regular(&from, path, "a file of the bundle"));
    crypto_hash_sha256_init(&hash);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
        crypto_hash_sha256_update(&hash, bytes, n);
    if (ferror(from))
        FAIL(RC_IO, "%s: cannot be read: %s", path, strerror(errno));
    crypto_hash_sha256_final(&hash, digest);
    sodium_bin2hex(out, 2 * sizeof digest + 1, digest, sizeof digest);
out:
    if (from)
        fclose(from);
    return rc;
}

/* Write SHA256SUMS of name[n], which are files in dir. */
static enum rc bundle_sums(const char *dir, const char *const *name, size_t n)
{
    char path[ACCEPTANCE_PATH_BYTES], hex[2 * crypto_hash_sha256_BYTES + 1];
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(bundle_path(path, dir, "SHA256SUMS"));
    TRY(atomic_file_open(&file, path));
    for (size_t i = 0; i < n; i++) {
        TRY(bundle_path(path, dir, name[i]));
        TRY(file_sha256(hex, path));
        fprintf(file.stream, "%s  %s\n", hex, name[i]);
    }
out:
    return atomic_file_finish(&file, rc);
}

static const char HEAD[] = "Criteria of the acceptance test whose results are in this folder, as they were used.";

enum rc acceptance_begin(const struct criteria *c, const struct record *manifest, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "criteria.yaml"));
    TRY(criteria_write(c, NULL, HEAD, path));
    TRY(bundle_path(path, dir, "manifest.json"));
    TRY(record_write_file(manifest, path));
out:
    return rc;
}

enum rc acceptance_write(const struct acceptance *a, const struct criteria *c, const struct record *manifest,
                         const char *dir)
{
    static const char *const name[] = { "acceptance.jsonl", "bad.hosts", "criteria.yaml",
                                        "good.hosts",       "junit.xml", "manifest.json",
                                        "report.html",      "slurm.txt", "rank_order.hosts" };
    const bool has_order = acceptance_best_rank_order(a) >= 0;
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "acceptance.jsonl")); /* what all others can be made of: first */
    TRY(acceptance_save(a, path));
    TRY(acceptance_begin(c, manifest, dir));
    TRY(bundle_path(path, dir, "junit.xml"));
    TRY(acceptance_junit(a, path));
    TRY(acceptance_hosts(a, dir));
    TRY(bundle_path(path, dir, "report.html"));
    TRY(acceptance_page(a, path));
    TRY(bundle_sums(dir, name, sizeof name / sizeof *name - !has_order)); /* accept.P1 */
out:
    return rc;
}

enum rc acceptance_read(struct acceptance *out, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    struct acceptance a = { .n_nodes = 0 };
    struct criteria criteria;
    enum rc rc;

    TRY(bundle_path(path, dir, "criteria.yaml"));
    TRY(acceptance_load(&a, dir));
    if (a.is_partial && a.n_criteria == 0 && access(path, F_OK) == 0) { /* accept.J1: a judged one has rows */
        TRY(criteria_load(&criteria, path));
        TRY(judge(&a, &criteria));
    }
    *out = a;
    a = (struct acceptance){ .n_nodes = 0 };
out:
    acceptance_close(&a);
    return rc;
}

enum rc acceptance_keep(const struct acceptance *a, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "acceptance.jsonl"));
    TRY(acceptance_save(a, path));
out:
    return rc;
}
