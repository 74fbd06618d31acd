/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trials.c - the quality of the acceptance test itself: faults drawn at random are injected into its runs, and its
 * findings are compared with them; see trials.h.
 */
#include "harness/accept/trials.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/rng.h"
#include "harness/base/terminal.h"
#include "harness/measure/sorted.h"
#include "harness/report/record.h"
#include "harness/report/table.h"

enum { FLIPPED_STEP = 5 };

static const char *const kind_name[FAULT_N_KINDS] = {
    [FAULT_SLOW_RANK] = "slow rank", [FAULT_SLOW_NODE] = "slow node", [FAULT_SLOW_LINK] = "slow link",
    [FAULT_STALL] = "stalled rank",  [FAULT_KILL] = "killed rank",    [FAULT_FLIP] = "flipped bit",
    [FAULT_LOSS] = "lossy node",
};

/* --- plan --- */

struct draw { /* random numbers of the plan, one after the other */
    uint64_t seed, n;
};

static int draw_below(struct draw *d, int n)
{
    return (int)(rng_uniform(d->seed, RNG_FAULT, d->n++) * n);
}

static int kinds_of(enum fault_kind kind[FAULT_N_KINDS], const struct self_test_terms *t)
{
    int n = 0;

    if (t->has_compute && t->n_ranks >= 3)
        kind[n++] = FAULT_SLOW_RANK;
    if (t->has_pairs && t->n_nodes >= 3) {
        kind[n++] = FAULT_SLOW_LINK;
        kind[n++] = FAULT_SLOW_NODE;
    }
    if (t->has_pairs && t->n_nodes >= 4)
        kind[n++] = FAULT_LOSS;
    if (t->may_flip && t->n_ranks >= 3)
        kind[n++] = FAULT_FLIP;
    if (t->may_kill && t->has_pairs && t->n_nodes >= 2) {
        kind[n++] = FAULT_STALL;
        kind[n++] = FAULT_KILL;
    }
    return n;
}

static bool ends_the_test(enum fault_kind kind)
{
    return kind == FAULT_STALL || kind == FAULT_KILL;
}

/* Nodes of a fault: as many as it has. */
static int nodes_of(int node[2], const struct fault *f, const int *node_of_rank)
{
    node[0] =
        f->kind == FAULT_SLOW_NODE || f->kind == FAULT_SLOW_LINK || f->kind == FAULT_LOSS ? f->a : node_of_rank[f->a];
    node[1] = f->b;
    return f->kind == FAULT_SLOW_LINK ? 2 : 1;
}

/* Faults of one trial are of different nodes, so that none hides another. */
static bool is_free(const struct inject *i, const struct fault *f, const int *node_of_rank)
{
    int node[2], other[2];
    const int n = nodes_of(node, f, node_of_rank);

    for (int k = 0; k < i->n_faults; k++) {
        const int n_other = nodes_of(other, &i->fault[k], node_of_rank);
        for (int x = 0; x < n; x++)
            for (int y = 0; y < n_other; y++)
                if (node[x] == other[y])
                    return false;
    }
    return true;
}

/* Of a short stage the last one: behind it parameters are compared, too. */
static uint64_t flipped_step(const struct self_test_terms *t)
{
    return t->integrity_steps_count == 0 || t->integrity_steps_count > FLIPPED_STEP ? FLIPPED_STEP
                                                                                    : t->integrity_steps_count - 1;
}

static struct fault draw_fault(struct draw *d, enum fault_kind kind, const struct self_test_terms *t)
{
    struct fault f = {
        .kind = kind, .ratio = t->ratio, .step = flipped_step(t), .both_ways = true, .stage = ACCEPT_PAIRWISE
    };

    if (kind == FAULT_SLOW_LINK) {
        f.a = draw_below(d, t->n_nodes);
        f.b = (f.a + 1 + draw_below(d, t->n_nodes - 1)) % t->n_nodes;
    } else if (kind == FAULT_SLOW_NODE)
        f.a = draw_below(d, t->n_nodes);
    else if (kind == FAULT_LOSS) {
        f.a = draw_below(d, t->n_nodes);
        f.ratio = t->loss_ratio;
    } else if (ends_the_test(kind)) /* rank 0 keeps the report, and the first rank of a node plays for it */
        do
            f.a = draw_below(d, t->n_ranks);
        while (f.a == 0 || (f.a > 0 && t->node_of_rank[f.a - 1] == t->node_of_rank[f.a]));
    else
        f.a = draw_below(d, t->n_ranks);
    return f;
}

static void add_fault(struct trial *trial, struct draw *d, enum fault_kind kind, const struct self_test_terms *t)
{
    enum { TRIES = 100 };

    for (int k = 0; k < TRIES; k++) {
        const struct fault f = draw_fault(d, kind, t);
        if (!is_free(&trial->inject, &f, t->node_of_rank))
            continue;
        trial->inject.fault[trial->inject.n_faults++] = f;
        return;
    }
}

enum rc self_test_plan(struct trial *trial, const struct self_test_terms *t)
{
    enum fault_kind kind[FAULT_N_KINDS];
    const int n_kinds = kinds_of(kind, t);
    struct draw d = { t->seed, 0 };
    int turn = 0;

    if (n_kinds == 0)
        return rc_raise(RC_INVAL,
                        "--self-test: %d ranks on %d nodes and these stages can show no fault; use three nodes and "
                        "more, and the stages compute, pairwise or integrity",
                        t->n_ranks, t->n_nodes);
    for (int i = 0; i < t->n_trials; i++) {
        trial[i] = (struct trial){ .seed = t->seed + (uint64_t)i };
        if (i % (n_kinds + 1) == 0) /* accept.T1 */
            continue;
        const enum fault_kind first = kind[turn++ % n_kinds];
        const int n_wanted = 1 + draw_below(&d, t->n_faults);
        add_fault(&trial[i], &d, first, t);
        while (!ends_the_test(first) && trial[i].inject.n_faults < n_wanted) {
            const int n_before = trial[i].inject.n_faults;
            enum fault_kind more = kind[draw_below(&d, n_kinds)];
            if (!ends_the_test(more))
                add_fault(&trial[i], &d, more, t);
            if (trial[i].inject.n_faults == n_before && n_before * 3 > t->n_nodes)
                break; /* too few nodes for more */
        }
    }
    return RC_OK;
}

/* --- score --- */

static bool is_only_rank(const struct acceptance *a, int rank)
{
    return a->node[a->node_of_rank[rank]].n_ranks == 1;
}

static bool is_link(const struct finding *f, int a, int b)
{
    return f->subject == SUBJECT_LINK && ((f->a == a && f->b == b) || (f->a == b && f->b == a));
}

static bool is_of_late(const struct finding *f)
{
    return f->metric && strcmp(f->metric, "late_ratio") == 0;
}

/* Is it this fault, by its own name (accept.T2)? */
static bool names(const struct acceptance *a, const struct finding *f, const struct fault *fault)
{
    switch (fault->kind) {
    case FAULT_SLOW_LINK:
        return is_link(f, fault->a, fault->b);
    case FAULT_SLOW_NODE:
        return f->stage != ACCEPT_COMPUTE && f->subject == SUBJECT_NODE && f->a == fault->a && !is_of_late(f);
    case FAULT_LOSS:
        return f->subject == SUBJECT_NODE && f->a == fault->a && is_of_late(f);
    case FAULT_FLIP:
        return f->stage == ACCEPT_INTEGRITY && f->subject == SUBJECT_RANK && f->a == fault->a;
    case FAULT_SLOW_RANK:
        if (f->stage == ACCEPT_PAIRWISE)
            return false;
        return (f->subject == SUBJECT_RANK && f->a == fault->a) ||
               (f->subject == SUBJECT_NODE && f->a == a->node_of_rank[fault->a] && is_only_rank(a, fault->a));
    case FAULT_STALL:
    case FAULT_KILL:
        return false;
    }
    return false;
}

/* Does a fault explain the finding, whatever it is called (accept.T3)? */
static bool explains(const struct acceptance *a, const struct fault *fault, const struct finding *f)
{
    int node[2];
    const int n = nodes_of(node, fault, a->node_of_rank);

    if (names(a, f, fault))
        return true;
    if (fault->kind == FAULT_SLOW_LINK || f->subject == SUBJECT_LINK || f->subject == SUBJECT_FLEET)
        return f->subject == SUBJECT_FLEET;
    return n == 1 && node[0] == (f->subject == SUBJECT_NODE ? f->a : f->b);
}

static bool is_found(const struct acceptance *a, const struct fault *fault, double *after_s)
{
    double s = 0;

    for (int stage = 0; stage < ACCEPT_N_STAGES; stage++) {
        s += a->stage[stage].took_s;
        if (ends_the_test(fault->kind)) {
            if (a->lost_rank == fault->a && a->stage[stage].was_run && a->stage[stage].why[0]) {
                *after_s = s;
                return true;
            }
            continue;
        }
        for (int i = 0; i < a->n_findings; i++)
            if ((int)a->finding[i].stage == stage && names(a, &a->finding[i], fault)) {
                *after_s = s;
                return true;
            }
    }
    return false;
}

/* A rank is lost by a fault of the trial. */
static bool is_lost_as_ordered(const struct inject *injected, const struct acceptance *a)
{
    for (int k = 0; k < injected->n_faults; k++)
        if (ends_the_test(injected->fault[k].kind) && injected->fault[k].a == a->lost_rank)
            return true;
    return false;
}

static void note_untested(struct trial_result *r, const struct acceptance *a)
{
    for (int i = 0; i < a->n_criteria; i++)
        if (a->criterion[i].outcome == OUTCOME_NO_DATA) {
            (void)snprintf(r->untested, sizeof r->untested, "%s: %s", a->criterion[i].name, a->criterion[i].text);
            return;
        }
}

struct trial_result self_test_score(const struct inject *injected, const struct acceptance *a)
{
    struct trial_result r = { .n_subjects = a->n_nodes + a->n_ranks,
                              .could_test =
                                  a->lost_rank >= 0 ? is_lost_as_ordered(injected, a) : a->outcome != OUTCOME_NO_DATA,
                              .found_after_s = injected->n_faults > 0 ? 0 : NAN };

    for (int k = 0; k < injected->n_faults; k++) {
        const struct fault *fault = &injected->fault[k];
        double after_s = NAN;
        r.n_faults[fault->kind]++;
        r.n_subjects -= fault->kind == FAULT_SLOW_LINK ? 0 : 1;
        if (is_found(a, fault, &after_s))
            r.n_found[fault->kind]++;
        r.found_after_s = isnan(after_s) || isnan(r.found_after_s) ? NAN : fmax(r.found_after_s, after_s);
    }
    for (int i = 0; i < a->n_findings; i++) {
        bool is_explained = false;
        for (int k = 0; k < injected->n_faults; k++)
            is_explained = is_explained || explains(a, &injected->fault[k], &a->finding[i]);
        r.n_false += !is_explained;
    }
    if (!r.could_test)
        note_untested(&r, a);
    return r;
}

struct trial_result self_test_failed(const struct inject *injected, const char *fmt, ...)
{
    struct trial_result r = { .found_after_s = NAN };
    va_list args;

    for (int k = 0; k < injected->n_faults; k++)
        r.n_faults[injected->fault[k].kind]++;
    va_start(args, fmt);
    (void)vsnprintf(r.failed, sizeof r.failed, fmt, args);
    va_end(args);
    r.failed[strcspn(r.failed, "\n")] = '\0';
    return r;
}

/* --- results --- */

void self_test_interval(int k, int n, double *low, double *high)
{
    const double z = 1.959963985, p = (double)k / n, zz = z * z;
    const double middle = (p + zz / (2 * n)) / (1 + zz / n);
    const double half = z / (1 + zz / n) * sqrt(p * (1 - p) / n + zz / (4.0 * n * n));

    *low = fmax(0, middle - half);
    *high = fmin(1, middle + half);
}

struct totals {
    int n_faults[FAULT_N_KINDS], n_found[FAULT_N_KINDS];
    int n_false, n_healthy, n_alarmed; /* findings; trials without a fault, and those of them with a false alarm */
    int n_untested;
    long n_subjects;
};

static struct totals total(const struct trial_result *r, int n)
{
    struct totals t = { .n_false = 0 };

    for (int i = 0; i < n; i++) {
        int n_faults = 0;
        for (int k = 0; k < FAULT_N_KINDS; k++) {
            t.n_faults[k] += r[i].n_faults[k];
            t.n_found[k] += r[i].n_found[k];
            n_faults += r[i].n_faults[k];
        }
        t.n_false += r[i].n_false;
        t.n_subjects += r[i].n_subjects;
        t.n_healthy += n_faults == 0 && !r[i].failed[0];
        t.n_alarmed += n_faults == 0 && r[i].n_false > 0;
        t.n_untested += !r[i].could_test;
    }
    return t;
}

/* Of the trials whose only faults are of this kind and were found; NaN: none. scratch[n] */
static double median_found_after_s(const struct trial_result *r, int n, int kind, double *scratch)
{
    int n_found = 0;

    for (int i = 0; i < n; i++)
        if (r[i].n_faults[kind] > 0 && !isnan(r[i].found_after_s))
            scratch[n_found++] = r[i].found_after_s;
    if (n_found == 0)
        return NAN;
    sorted_make(scratch, (size_t)n_found);
    return scratch[(n_found - 1) / 2];
}

static void kind_row(struct table *t, const struct totals *sum, int kind, double after_s)
{
    const int k = sum->n_found[kind], n = sum->n_faults[kind];
    double low, high;

    self_test_interval(k, n, &low, &high);
    table_cell(t, "%s", kind_name[kind]);
    table_cell(t, "%d", n);
    table_cell(t, "%d", k);
    table_cell(t, "%.1f %% (%.1f .. %.1f)", 100.0 * k / n, 100 * low, 100 * high);
    isnan(after_s) ? table_cell(t, "-") : table_cell(t, "%.3g s", after_s);
}

enum rc self_test_print(const struct trial_result *result, int n, FILE *to)
{
    static const struct column column[] = { { "fault", ALIGN_LEFT },
                                            { "injected", ALIGN_RIGHT },
                                            { "found by its name", ALIGN_RIGHT },
                                            { "rate (95 %)", ALIGN_RIGHT },
                                            { "after", ALIGN_RIGHT } };
    const struct totals sum = total(result, n);
    double *scratch = malloc((size_t)(n > 0 ? n : 1) * sizeof *scratch);
    struct terminal_text text = { .lines = NULL };
    enum rc rc = RC_OK;

    if (!scratch)
        FAIL(RC_NOMEM, "no memory for %d trials", n);
    struct table *t = table_open(column, sizeof column / sizeof *column);
    for (int k = 0; k < FAULT_N_KINDS; k++)
        if (sum.n_faults[k] > 0)
            kind_row(t, &sum, k, median_found_after_s(result, n, k, scratch));
    TRY(table_finish(t, to));
    TRY(terminal_text_open(&text));
    fprintf(text.lines,
            "false alarms: %d findings without a fault, of %ld healthy nodes and ranks in %d trials\n"
            "  of %d trial%s without a fault, %d had one\n",
            sum.n_false, sum.n_subjects, n, sum.n_healthy, sum.n_healthy == 1 ? "" : "s", sum.n_alarmed);
    if (sum.n_untested > 0)
        fprintf(text.lines, "%d trial%s could not test\n", sum.n_untested, sum.n_untested == 1 ? "" : "s");
    for (int i = 0; i < n; i++) {
        if (result[i].failed[0])
            fprintf(text.lines, "trial %d failed: %s\n", i, result[i].failed);
        if (result[i].untested[0] && (i == 0 || strcmp(result[i].untested, result[i - 1].untested) != 0))
            fprintf(text.lines, "trial %d could not test: %s\n", i, result[i].untested);
    }
    TRY(terminal_text_close(&text, to));
    TRY(output_flush(to));
out:
    free(scratch);
    return rc;
}

static void key_of_kind(char *out, size_t n_bytes, int kind, const char *end)
{
    snprintf(out, n_bytes, "%s_%s_count", kind_name[kind], end);
    for (char *c = out; *c; c++)
        *c = *c == ' ' ? '_' : *c;
}

static enum rc write_trial(struct report *to, const struct trial *trial, const struct trial_result *r, int i)
{
    char text[INJECT_MAX_FAULTS * 32] = "";

    for (int k = 0; k < trial->inject.n_faults; k++) {
        const size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s", n > 0 ? "," : "");
        inject_text(text + strlen(text), sizeof text - strlen(text), &trial->inject.fault[k]);
    }
    struct record *record = report_begin(to, "trial");
    record_i64(record, "trial_index", i);
    record_u64(record, "seed", trial->seed);
    record_text(record, "injected", text);
    int n_found = 0;
    for (int k = 0; k < FAULT_N_KINDS; k++)
        n_found += r->n_found[k];
    record_i64(record, "faults_count", trial->inject.n_faults);
    record_i64(record, "found_count", n_found);
    record_i64(record, "false_count", r->n_false);
    record_f64(record, "found_after_s", r->found_after_s);
    record_bool(record, "could_test", r->could_test);
    record_text(record, "failed", r->failed[0] ? r->failed : NULL);
    return report_end(to);
}

enum rc self_test_write(const struct trial *trial, const struct trial_result *result, int n, const char *path)
{
    const struct totals sum = total(result, n);
    struct report *to = NULL;
    char key[64];
    enum rc rc;

    TRY(report_open(&to, path));
    for (int i = 0; i < n; i++)
        TRY(write_trial(to, &trial[i], &result[i], i));
    struct record *r = report_begin(to, "self_test");
    record_i64(r, "trials_count", n);
    for (int k = 0; k < FAULT_N_KINDS; k++) {
        key_of_kind(key, sizeof key, k, "injected");
        record_i64(r, key, sum.n_faults[k]);
        key_of_kind(key, sizeof key, k, "found");
        record_i64(r, key, sum.n_found[k]);
    }
    record_i64(r, "false_count", sum.n_false);
    record_i64(r, "healthy_subjects_count", sum.n_subjects);
    record_i64(r, "healthy_trials_count", sum.n_healthy);
    record_i64(r, "alarmed_trials_count", sum.n_alarmed);
    record_i64(r, "untested_count", sum.n_untested);
    TRY(report_end(to));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}
