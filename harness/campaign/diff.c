/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - two campaigns, point by point. */
#include "harness/campaign/diff.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/recorded.h"
#include "harness/measure/independent.h"
#include "harness/measure/paired.h"
#include "harness/report/digest.h"
#include "harness/report/table.h"

enum { DIFF_TEXT_BYTES = 512 };

enum outcome { BETTER, WORSE, UNTOLD, EQUAL, NOT_COMPARED };

struct pair { /* the same point of both campaigns */
    size_t a, b;
    struct contrast x; /* b over a */
    enum outcome outcome;
    char differs[DIFF_TEXT_BYTES]; /* N2; "": compared */
};

struct diff {
    const struct recorded *of[2];
    struct pair *pair; /* owned */
    size_t n_pairs, n_tested;
    bool all_rows; /* the table also has points without a difference */
};

static inline const struct recorded_point *diff_about(const struct diff *d, int which, const struct pair *p)
{
    return &d->of[which]->point[which ? p->b : p->a];
}

/* --- what differs beside the figures (N3) --- */

enum { SHOWN_BYTES = 200, SHOWN_TEXT_BYTES = SHOWN_BYTES + 8 };

/* Of the same text, whole? */
static bool is_same(const json_t *a, const json_t *b)
{
    char first[DIFF_TEXT_BYTES], second[DIFF_TEXT_BYTES];

    if (json_is_string(a) && json_is_string(b))
        return strcmp(json_string_value(a), json_string_value(b)) == 0;
    recorded_text(first, sizeof first, a);
    recorded_text(second, sizeof second, b);
    return strcmp(first, second) == 0;
}

/* How many bytes of two texts are not shown: of long ones that begin alike all but a few before they differ. */
static size_t n_hidden_bytes(const json_t *a, const json_t *b)
{
    enum { CONTEXT_BYTES = 20 };
    const char *first = json_string_value(a), *second = json_string_value(b);
    size_t n = 0;

    if (!first || !second || (strlen(first) <= SHOWN_BYTES && strlen(second) <= SHOWN_BYTES))
        return 0;
    while (first[n] && first[n] == second[n])
        n++;
    n -= n < CONTEXT_BYTES ? n : CONTEXT_BYTES;
    while (n > 0 && ((unsigned char)first[n] & 0xc0) == 0x80) /* in the midst of a character of UTF-8 */
        n--;
    return n;
}

/* "...long enough...": SHOWN_BYTES at most of a value's text, from n_hidden on. */
static void shown_text(char out[SHOWN_TEXT_BYTES], const json_t *value, size_t n_hidden)
{
    const char *text = json_string_value(value);
    size_t n_shown = SHOWN_BYTES;

    if (!text || (n_hidden == 0 && strlen(text) <= SHOWN_BYTES)) {
        recorded_text(out, SHOWN_TEXT_BYTES, value);
        return;
    }
    text += n_hidden;
    while (n_shown < strlen(text) && n_shown > 0 && ((unsigned char)text[n_shown] & 0xc0) == 0x80)
        n_shown--;
    snprintf(out, SHOWN_TEXT_BYTES, "%s%.*s%s", n_hidden > 0 ? "..." : "", (int)n_shown, text,
             n_shown < strlen(text) ? "..." : "");
}

/* Print "KEY x and y" and return true if both know the value and it differs; else false. */
static bool diff_values(char *out, size_t n_bytes, const char *key, const json_t *a, const json_t *b)
{
    char first[SHOWN_TEXT_BYTES], second[SHOWN_TEXT_BYTES];

    if (!a || !b || is_same(a, b))
        return false;
    shown_text(first, a, n_hidden_bytes(a, b));
    shown_text(second, b, n_hidden_bytes(a, b));
    snprintf(out, n_bytes, "%s %s and %s", key, first, second);
    return true;
}

/* A line for each of these members that differs. */
static void tell_members(const json_t *a, const json_t *b, const char *const *keys, const char *what, FILE *to)
{
    char text[DIFF_TEXT_BYTES];

    for (; *keys; keys++)
        if (diff_values(text, sizeof text, *keys, json_object_get(a, *keys), json_object_get(b, *keys)))
            fprintf(to, "%s: %s\n", what, text);
}

/* What an object of the manifests of both launches of a pair has. */
static json_t *object_of(const struct diff *d, int which, size_t pair, const char *object)
{
    return json_object_get(diff_about(d, which, &d->pair[pair])->manifest, object);
}

/* Was the same difference of this member told of a pair before? */
static bool is_told_before(const struct diff *d, const char *object, const char *key, size_t pair)
{
    const json_t *mine = json_object_get(object_of(d, 0, pair, object), key),
                 *other = json_object_get(object_of(d, 1, pair, object), key);

    for (size_t e = 0; e < pair; e++) {
        const json_t *before[] = { json_object_get(object_of(d, 0, e, object), key),
                                   json_object_get(object_of(d, 1, e, object), key) };
        if (before[0] && before[1] && is_same(before[0], mine) && is_same(before[1], other))
            return true;
    }
    return false;
}

/* Every member of an object of the launches' manifests that differs, but for those that say where results go and how
 * many there are. */
static void tell_object(const struct diff *d, const char *object, const char *what, FILE *to)
{
    static const char *const unimportant[] = {
        "kind", "model", "mode", "workers", "seed", "save", "resume", "timeline"
    };
    const bool are_options = strcmp(object, "options") == 0;
    char text[DIFF_TEXT_BYTES];

    for (size_t i = 0; i < d->n_pairs; i++) {
        json_t *first = object_of(d, 0, i, object), *second = object_of(d, 1, i, object);
        for (void *at = json_object_iter(first); at; at = json_object_iter_next(first, at)) {
            const char *key = json_object_iter_key(at);
            bool is_left_out = false;
            for (size_t u = 0; are_options && u < sizeof unimportant / sizeof *unimportant; u++)
                is_left_out = is_left_out || strcmp(unimportant[u], key) == 0;
            if (!is_left_out &&
                diff_values(text, sizeof text, key, json_object_iter_value(at), json_object_get(second, key)) &&
                !is_told_before(d, object, key, i))
                fprintf(to, "%s: %s\n", what, text);
        }
    }
}

/* Of the process that made the launches: MPI adds to the environment that it was given. Older manifests, and those of
 * runs, have the whole alone. */
static json_t *environment_of(const json_t *a, const json_t *b, const json_t *of)
{
    const bool have_plans = json_object_get(json_object_get(a, "plan"), "environment") &&
                            json_object_get(json_object_get(b, "plan"), "environment");

    return json_object_get(have_plans ? json_object_get(of, "plan") : of, "environment");
}

/* Variables too that one of both has. Nothing where one of both does not know its environment. */
static void tell_environment(const json_t *a, const json_t *b, FILE *to)
{
    json_t *first = environment_of(a, b, a), *second = environment_of(a, b, b), *none = json_string("not set"), *value;
    char text[DIFF_TEXT_BYTES];
    const char *name;

    if (!json_is_object(first) || !json_is_object(second))
        goto out;
    json_object_foreach(first, name, value)
    {
        json_t *other = json_object_get(second, name);
        if (diff_values(text, sizeof text, name, value, other ? other : none))
            fprintf(to, "other environment: %s\n", text);
    }
    json_object_foreach(second, name, value)
    {
        if (!json_object_get(first, name) && diff_values(text, sizeof text, name, none, value))
            fprintf(to, "other environment: %s\n", text);
    }
out:
    json_decref(none);
}

/* Where there are several: of one alone the manifest tells. Those of a simulation are those of its cluster. */
static void tell_hosts(const struct diff *d, FILE *to)
{
    const struct recorded *a = d->of[0], *b = d->of[1];

    if (a->campaign.is_virtual || (json_array_size(a->hosts) < 2 && json_array_size(b->hosts) < 2))
        return;
    for (int which = 0; which < 2; which++) {
        const json_t *hosts = d->of[which]->hosts;
        size_t n_told = 0;
        for (size_t i = 0; i < json_array_size(hosts); i++) {
            const char *name = json_string_value(json_array_get(hosts, i));
            if (recorded_has_host(d->of[1 - which], name))
                continue;
            fprintf(to, n_told++ > 0 ? ", %s" : "other hosts: %s", name);
        }
        if (n_told > 0)
            fprintf(to, " in %c alone\n", which ? 'B' : 'A');
    }
}

static void tell_continued(const json_t *manifest, char letter, FILE *to)
{
    const char *despite = json_string_value(json_object_get(manifest, "continued_despite"));

    if (despite && despite[0])
        fprintf(to, "%c was continued though it was begun under other conditions: %s\n", letter, despite);
}

/* Print a line for each difference, except for the compared figures: diff.N3. */
static void diff_tell_conditions(const struct diff *d, FILE *to)
{
    static const char *const machine[] = { "host", "cpu_model", "cores_count", "memory_bytes", "kernel", NULL };
    static const char *const program[] = { "compiler", "compiler_flags", "build_type", NULL };
    const json_t *a = recorded_manifest(d->of[0]), *b = recorded_manifest(d->of[1]);
    json_t *libraries = json_object_get(a, "libraries");

    tell_members(a, b, machine, "other machine", to);
    tell_members(a, b, program, "other program", to);
    for (void *at = json_object_iter(libraries); at; at = json_object_iter_next(libraries, at)) {
        const char *const one[] = { json_object_iter_key(at), NULL };
        tell_members(libraries, json_object_get(b, "libraries"), one, "other library", to);
    }
    tell_hosts(d, to);
    tell_environment(a, b, to);
    tell_object(d, "options", "other option", to);
    tell_object(d, "cluster", "other cluster", to);
    tell_object(d, "profile", "other profile", to);
    tell_object(d, DIGEST_KEY, "other contents (SHA-256)", to);
    tell_continued(a, 'A', to);
    tell_continued(b, 'B', to);
}

static const double SAME_RATIO = 1e-9; /* simulated throughputs that rounding alone tells apart */

static const char *const outcome_text[] = {
    [BETTER] = "better", [WORSE] = "worse", [UNTOLD] = "cannot tell", [EQUAL] = "equal", [NOT_COMPARED] = "not compared"
};

static const struct point *point_of(const struct diff *d, int which, const struct pair *p)
{
    return &d->of[which]->campaign.point[which ? p->b : p->a];
}

/* N2 */
static void note_samples(const struct diff *d, struct pair *p)
{
    static const char *const keys[] = { "task", "dataset", "image_size_px", "classes_count", "params_count" };
    char text[DIFF_TEXT_BYTES];

    p->differs[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t n_used = strlen(p->differs);
        if (diff_values(text, sizeof text, keys[i], json_object_get(diff_about(d, 0, p)->summary, keys[i]),
                        json_object_get(diff_about(d, 1, p)->summary, keys[i])))
            snprintf(p->differs + n_used, sizeof p->differs - n_used, "%s%s", n_used > 0 ? ", " : "", text);
    }
}

/* --- comparing --- */

/* The throughputs of all launches; 0: some launch has none. */
static size_t throughputs(double *out, const struct point *p)
{
    point_values(out, p, offsetof(struct launch, throughput_samples_per_s));
    for (size_t i = 0; i < p->n_launches; i++)
        if (!(out[i] > 0))
            return 0;
    return p->n_launches;
}

static struct contrast contrast_of(const struct diff *d, const struct pair *p)
{
    double a[MAX_LAUNCHES], b[MAX_LAUNCHES];
    const size_t n_a = throughputs(a, point_of(d, 0, p)), n_b = throughputs(b, point_of(d, 1, p));

    return compare_independent(b, n_b, a, n_a);
}

/* N5, of one campaign. */
static bool gives_no_verdict(const struct point *p)
{
    return point_is_doubtful(p) || (double)point_n_failed_bounds(p) > WITHHELD_RATIO * (double)p->n_launches;
}

static bool is_withheld(const struct diff *d, const struct pair *p)
{
    return !p->differs[0] && (gives_no_verdict(point_of(d, 0, p)) || gives_no_verdict(point_of(d, 1, p)));
}

/* No verdict, whatever B / A is. */
static bool is_untold_withheld(const struct diff *d, const struct pair *p)
{
    return p->outcome == UNTOLD && is_withheld(d, p);
}

static bool is_tested(const struct diff *d, const struct pair *p)
{
    return !d->of[0]->campaign.is_virtual && !p->differs[0] && p->x.n_first > 1 && p->x.n_second > 1 &&
           !is_withheld(d, p);
}

static enum outcome virtual_outcome(const struct diff *d, const struct pair *p)
{
    if (isnan(p->x.ratio) || is_withheld(d, p))
        return UNTOLD;
    return fabs(p->x.ratio - 1) < SAME_RATIO ? EQUAL : p->x.ratio > 1 ? BETTER : WORSE;
}

/* N4 */
static enum rc judge(struct diff *d)
{
    double *p = malloc((d->n_pairs + 1) * sizeof *p);
    bool *holds = malloc((d->n_pairs + 1) * sizeof *holds);
    enum rc rc = RC_OK;

    if (!p || !holds)
        FAIL(RC_NOMEM, "no memory for %zu points", d->n_pairs);
    for (size_t i = 0; i < d->n_pairs; i++)
        if (is_tested(d, &d->pair[i]))
            p[d->n_tested++] = d->pair[i].x.p;
    verdicts_that_hold(holds, p, d->n_tested);
    for (size_t i = 0, k = 0; i < d->n_pairs; i++) {
        struct pair *at = &d->pair[i];
        const bool is_held = is_tested(d, at) && holds[k++];
        at->outcome = is_held ? at->x.ratio > 1 ? BETTER : WORSE : UNTOLD;
        if (at->differs[0])
            at->outcome = NOT_COMPARED;
        else if (d->of[0]->campaign.is_virtual)
            at->outcome = virtual_outcome(d, at);
    }
out:
    free(p);
    free(holds);
    return rc;
}

/* N1, in the order of the first campaign. */
static enum rc pair_points(struct diff *d)
{
    const struct campaign *a = &d->of[0]->campaign, *b = &d->of[1]->campaign;
    size_t n_compared = 0;

    d->pair = calloc(a->n_points, sizeof *d->pair);
    if (!d->pair)
        return rc_raise(RC_NOMEM, "no memory for %zu points", a->n_points);
    for (size_t i = 0; i < a->n_points; i++) {
        const struct point *same = campaign_find(b, a->point[i].assigned, a->point[i].n_assigned);
        struct pair *p = &d->pair[d->n_pairs];
        if (!same)
            continue;
        d->n_pairs++;
        p->a = i;
        p->b = (size_t)(same - b->point);
        note_samples(d, p);
        p->x = contrast_of(d, p);
        n_compared += p->differs[0] == '\0';
    }
    if (d->n_pairs == 0)
        return rc_raise(
            RC_INVAL,
            "%s and %s: no point is in both; use results that have a model, mode and number of workers in common",
            d->of[0]->name, d->of[1]->name);
    if (n_compared == 0)
        return rc_raise(RC_INVAL, "%s and %s: no point can be compared: %s", d->of[0]->name, d->of[1]->name,
                        d->pair[0].differs);
    return RC_OK;
}

/* --- what is told --- */

/* What is not known, as the host of a simulation, is left out. */
static void tell_which(const struct recorded *k, char letter, FILE *to)
{
    static const struct {
        const char *key, *before;
    } of[] = { { "date_utc", "" }, { "host", "host " }, { "git_commit", "commit " } };

    fprintf(to, "%c: %s", letter, k->name);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *text = json_string_value(json_object_get(recorded_manifest(k), of[i].key));
        if (text && text[0])
            fprintf(to, ", %s%.*s", of[i].before, strcmp(of[i].key, "git_commit") == 0 ? 12 : 127, text);
    }
    fprintf(to, "%s\n", json_is_true(json_object_get(recorded_manifest(k), "git_dirty")) ? " with changes" : "");
}

/* In one of the campaigns. */
static bool is_marked(const struct diff *d, const struct pair *p, enum launch_mark mark)
{
    return point_is_marked(point_of(d, 0, p), mark) || point_is_marked(point_of(d, 1, p), mark);
}

static size_t n_marked(const struct diff *d, enum launch_mark mark)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_pairs; i++)
        n += is_marked(d, &d->pair[i], mark);
    return n;
}

static bool has_marks(const struct diff *d)
{
    return n_marked(d, MARK_DISTURBED) + n_marked(d, MARK_UNSTEADY) > 0;
}

static bool is_shown(const struct diff *d, const struct pair *p)
{
    return d->all_rows || p->outcome == BETTER || p->outcome == WORSE || is_untold_withheld(d, p);
}

static void cell_of_marks(struct table *t, const struct diff *d, const struct pair *p)
{
    char letters[N_MARKS + 1] = "";
    size_t n = 0;

    for (enum launch_mark mark = 0; mark < N_MARKS; mark++)
        if (is_marked(d, p, mark))
            letters[n++] = mark_letter(mark);
    table_cell(t, "%s", letters);
}

static void add_pair(struct table *t, const struct diff *d, const struct pair *p)
{
    const struct point *a = point_of(d, 0, p), *b = point_of(d, 1, p);
    char rate[2][32];

    rate_text(rate[0], sizeof rate[0], point_throughput(a).mean);
    rate_text(rate[1], sizeof rate[1], point_throughput(b).mean);
    point_print_assigned(t, &d->of[0]->campaign, a);
    table_cell(t, "%s", rate[0]);
    table_cell(t, "%s", rate[1]);
    if (p->differs[0] || isnan(p->x.ratio))
        table_cell(t, "-");
    else
        table_cell(t, "%.3f", p->x.ratio);
    if (p->differs[0] || isnan(p->x.ratio_low))
        table_cell(t, "-");
    else
        table_cell(t, "%.3f-%.3f", p->x.ratio_low, p->x.ratio_high);
    table_cell(t, "%s", is_untold_withheld(d, p) ? "withheld" : outcome_text[p->outcome]);
    table_cell(t, "%zu, %zu", a->n_launches, b->n_launches);
    if (has_marks(d))
        cell_of_marks(t, d, p);
}

/* A line for each mark in the table: its meaning, and how many points have it. */
static void tell_marks(const struct diff *d, FILE *to)
{
    for (enum launch_mark mark = 0; mark < N_MARKS; mark++) {
        const size_t n = n_marked(d, mark);
        if (n > 0)
            terminal_note(to, "%c  %s in A or B (%zu of %zu points)", mark_letter(mark), mark_meaning(mark), n,
                          d->n_pairs);
    }
}

static size_t n_shown(const struct diff *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_pairs; i++)
        n += is_shown(d, &d->pair[i]);
    return n;
}

static enum rc print_table(const struct diff *d, FILE *to)
{
    static const struct column own[] = { { "A samples/s", ALIGN_RIGHT }, { "B samples/s", ALIGN_RIGHT },
                                         { "B / A", ALIGN_RIGHT },       { "95 % CI", ALIGN_RIGHT },
                                         { "B is", ALIGN_LEFT },         { "runs", ALIGN_RIGHT },
                                         { "marks", ALIGN_LEFT } };
    struct column column[MOST_POINT_COLUMNS + sizeof own / sizeof *own];
    const size_t n_assigned = point_columns(column, &d->of[0]->campaign);
    const struct pair *last = NULL;
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (n_shown(d) == 0)
        goto out;
    memcpy(column + n_assigned, own, sizeof own);
    t = table_open(column, n_assigned + sizeof own / sizeof *own - !has_marks(d));
    for (size_t i = 0; i < d->n_pairs; i++) {
        const struct pair *p = &d->pair[i];
        if (!is_shown(d, p))
            continue;
        if (last && point_of(d, 0, p)->workload != point_of(d, 0, last)->workload)
            table_rule(t);
        add_pair(t, d, p);
        last = p;
    }
    TRY(table_print(t, to));
    tell_marks(d, to);
out:
    table_close(&t);
    return rc;
}

/* N2, and points that are fast for nothing. */
static void tell_pairs(const struct diff *d, FILE *to)
{
    char name[LAUNCH_NAME_BYTES];

    for (size_t i = 0; i < d->n_pairs; i++) {
        const struct point *a = point_of(d, 0, &d->pair[i]), *b = point_of(d, 1, &d->pair[i]);
        point_name(name, sizeof name, a);
        if (d->pair[i].differs[0])
            fprintf(to, "%s: not compared: %s\n", name, d->pair[i].differs);
        if (point_n_unlearned(a) > 0 || point_n_unlearned(b) > 0)
            fprintf(to, "%s: did not learn in %zu of %zu launches of A, in %zu of %zu of B\n", name,
                    point_n_unlearned(a), a->n_launches, point_n_unlearned(b), b->n_launches);
    }
}

/* N1 */
static void tell_missing(const struct diff *d, int which, FILE *to)
{
    const struct campaign *mine = &d->of[which]->campaign, *other = &d->of[1 - which]->campaign;
    char name[LAUNCH_NAME_BYTES];

    for (size_t i = 0; i < mine->n_points; i++) {
        if (campaign_find(other, mine->point[i].assigned, mine->point[i].n_assigned))
            continue;
        point_name(name, sizeof name, &mine->point[i]);
        fprintf(to, "%s: in %c alone\n", name, which ? 'B' : 'A');
    }
}

/* Why a point has fewer launches than others, or none. */
static void tell_failures(const struct diff *d, int which, FILE *to)
{
    if (!campaign_has_failures(&d->of[which]->campaign))
        return;
    fprintf(to, "\nLaunches of %c that failed:\n", which ? 'B' : 'A');
    campaign_tell_failures(&d->of[which]->campaign, to);
}

static void count(const struct diff *d, struct diff_counts *out)
{
    *out = (struct diff_counts){ 0, 0, 0, 0 };
    for (size_t i = 0; i < d->n_pairs; i++) {
        const enum outcome outcome = d->pair[i].outcome;
        out->n_better += outcome == BETTER;
        out->n_worse += outcome == WORSE;
        out->n_untold += outcome == UNTOLD || outcome == EQUAL;
        out->n_not_compared += outcome == NOT_COMPARED;
    }
}

/* --- the answer --- */

/* The pair of this outcome that differs most; NULL: none. */
static const struct pair *most_of(const struct diff *d, enum outcome outcome)
{
    const struct pair *most = NULL;

    for (size_t i = 0; i < d->n_pairs; i++) {
        const struct pair *p = &d->pair[i];
        if (p->outcome == outcome && (!most || fabs(log(p->x.ratio)) > fabs(log(most->x.ratio))))
            most = p;
    }
    return most;
}

static void tell_most(const struct diff *d, enum outcome outcome, FILE *to)
{
    const struct pair *p = most_of(d, outcome);
    char name[LAUNCH_NAME_BYTES];

    if (!p)
        return;
    point_name(name, sizeof name, point_of(d, 0, p));
    fprintf(to, "  Most %s: %s, %.3fx", outcome == WORSE ? "worse" : "better", name, p->x.ratio);
    if (isfinite(p->x.ratio_low))
        fprintf(to, " (95 %% CI %.3f to %.3f)", p->x.ratio_low, p->x.ratio_high);
    fprintf(to, ".\n");
}

/* Where nothing is shown to differ: within what. */
static void tell_range(const struct diff *d, FILE *to)
{
    double least = INFINITY, most = 0, low = INFINITY, high = 0;

    for (size_t i = 0; i < d->n_pairs; i++) {
        const struct pair *p = &d->pair[i];
        if (p->outcome != UNTOLD || !isfinite(p->x.ratio_low) || is_withheld(d, p))
            continue;
        least = fmin(least, p->x.ratio);
        most = fmax(most, p->x.ratio);
        low = fmin(low, p->x.ratio_low);
        high = fmax(high, p->x.ratio_high);
    }
    if (most > 0)
        fprintf(to, "  Where it cannot tell, B / A is from %.3f to %.3f, and the 95 %% CIs are from %.3f to %.3f.\n",
                least, most, low, high);
}

static size_t n_withheld(const struct diff *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_pairs; i++)
        n += is_untold_withheld(d, &d->pair[i]);
    return n;
}

/* How many verdicts are withheld, the first of these settings, and why. */
static void tell_withheld(const struct diff *d, FILE *to)
{
    enum { MOST_NAMES = 3 };
    const size_t n = n_withheld(d);
    char name[LAUNCH_NAME_BYTES];
    size_t n_named = 0;

    if (n == 0)
        return;
    fprintf(to, "  %zu verdict%s withheld: ", n, n == 1 ? " is" : "s are");
    for (size_t i = 0; i < d->n_pairs && n_named < MOST_NAMES; i++) {
        if (!is_untold_withheld(d, &d->pair[i]))
            continue;
        point_name(name, sizeof name, point_of(d, 0, &d->pair[i]));
        fprintf(to, "%s%s", n_named > 0 ? "; " : "", name);
        n_named++;
    }
    if (n > n_named)
        fprintf(to, "; and %zu more", n - n_named);
    fprintf(
        to,
        ". In A or B, more than %.0f %% of the runs are disturbed, without a steady state or above their bound. Run "
        "both again %s.\n",
        100 * WITHHELD_RATIO, d->of[0]->campaign.is_virtual ? "with more --steps" : "on an idle machine");
}

/* Differences that would be sure if they were the only ones. */
static void tell_together(const struct diff *d, FILE *to)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_pairs; i++)
        n += is_tested(d, &d->pair[i]) && d->pair[i].outcome == UNTOLD && d->pair[i].x.p <= PAIRED_LEVEL;
    if (n > 0)
        fprintf(to,
                "  %zu difference%s sure alone, but not as one of %zu comparisons (Holm's correction). Use more "
                "--launches.\n",
                n, n == 1 ? " is" : "s are", d->n_tested);
}

static void tell_answer(const struct diff *d, const struct diff_counts *n, const char *conditions, FILE *to)
{
    const bool is_virtual = d->of[0]->campaign.is_virtual;
    size_t n_conditions = 0;

    for (const char *at = conditions; *at; at++)
        n_conditions += *at == '\n';
    fprintf(to, "B against A: better in %zu, worse in %zu, %s in %zu of %zu points", n->n_better, n->n_worse,
            is_virtual ? "equal" : "cannot tell", n->n_untold - (is_virtual ? n_withheld(d) : 0), d->n_pairs);
    if (n->n_not_compared > 0)
        fprintf(to, ", %zu not compared", n->n_not_compared);
    fprintf(to, ".\n");
    tell_most(d, WORSE, to);
    tell_most(d, BETTER, to);
    if (n->n_better + n->n_worse == 0)
        tell_range(d, to);
    tell_withheld(d, to);
    tell_together(d, to);
    if (n_conditions > 0 && n->n_better + n->n_worse + n_withheld(d) > 0)
        fprintf(to, "  %zu other thing%s (see below), and may be the cause of a difference.\n", n_conditions,
                n_conditions == 1 ? " differs" : "s differ");
    fputc('\n', to);
}

static enum rc write_pair(struct report *to, const struct diff *d, const struct pair *p)
{
    const struct point *a = point_of(d, 0, p), *b = point_of(d, 1, p);
    const bool is_compared = p->differs[0] == '\0';
    char name[LAUNCH_NAME_BYTES];

    point_name(name, sizeof name, a);
    struct record *r = report_begin(to, "pair");
    record_text(r, "point", name);
    record_text(r, "b_is", is_untold_withheld(d, p) ? "withheld" : outcome_text[p->outcome]);
    record_f64(r, "a_samples_per_s", point_throughput(a).mean);
    record_f64(r, "b_samples_per_s", point_throughput(b).mean);
    record_f64(r, "b_over_a_ratio", is_compared ? p->x.ratio : NAN);
    record_f64(r, "b_over_a_low_ratio", is_compared ? p->x.ratio_low : NAN);
    record_f64(r, "b_over_a_high_ratio", is_compared ? p->x.ratio_high : NAN);
    record_u64(r, "a_launches_count", a->n_launches);
    record_u64(r, "b_launches_count", b->n_launches);
    record_text(r, "differs", is_compared ? NULL : p->differs);
    return report_end(to);
}

static void tell_left_out(const struct diff *d, FILE *to)
{
    const size_t n = d->n_pairs - n_shown(d);

    if (n > 0)
        fprintf(to, "%zu of %zu settings %s not listed: the data show no difference. --all lists every row.\n", n,
                d->n_pairs, n == 1 ? "is" : "are");
}

static void tell_statistics(const struct diff *d, FILE *to)
{
    if (d->of[0]->campaign.is_virtual) {
        fprintf(to, "\nSimulated throughputs do not vary, so every difference is real.\n");
        return;
    }
    fputc('\n', to);
    if (d->n_tested > 1)
        fprintf(to,
                "The chance of any wrong verdict among these %zu is at most 5 %% (Welch's test on logarithms, Holm). ",
                d->n_tested);
    else if (d->n_tested == 1)
        fprintf(to, "The chance of a wrong verdict is at most 5 %% (Welch's test on logarithms). ");
    fprintf(to, "Each interval is 95 %% by itself, over the runs of each campaign. What changed on the machine between "
                "the two campaigns is in the ratio and not in the interval: two campaigns of the same program show how "
                "much that is.\n");
}

/* Everything but the answer and the table. */
static void tell_rest(const struct diff *d, const char *conditions, FILE *to)
{
    tell_left_out(d, to);
    fputc('\n', to);
    tell_which(d->of[0], 'A', to);
    tell_which(d->of[1], 'B', to);
    fputs(conditions, to);
    tell_pairs(d, to);
    for (int which = 0; which < 2; which++)
        tell_missing(d, which, to);
    for (int which = 0; which < 2; which++)
        tell_failures(d, which, to);
    tell_statistics(d, to);
}

/* The lines of diff_tell_conditions(); freed by the caller. */
static enum rc conditions_of(const struct diff *d, char **out)
{
    size_t n_bytes = 0;
    FILE *lines = open_memstream(out, &n_bytes);

    if (lines)
        diff_tell_conditions(d, lines);
    if (!lines || fclose(lines) != 0)
        return rc_raise(RC_NOMEM, "no memory for what differs");
    return RC_OK;
}

static enum rc print_diff(const struct diff *d, const struct diff_counts *n, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    char *conditions = NULL;
    enum rc rc;

    TRY(conditions_of(d, &conditions));
    TRY(terminal_text_open(&text));
    tell_answer(d, n, conditions, text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(print_table(d, to));
    TRY(terminal_text_open(&text));
    tell_rest(d, conditions, text.lines);
    TRY(terminal_text_close(&text, to));
out:
    free(conditions);
    return rc;
}

static enum rc compare(struct diff *d, struct diff_counts *out)
{
    const struct recorded *a = d->of[0], *b = d->of[1];
    enum rc rc;

    if (a->campaign.is_virtual != b->campaign.is_virtual)
        return rc_raise(RC_INVAL, "%s is simulated, %s was measured: they cannot be compared",
                        (a->campaign.is_virtual ? a : b)->name, (a->campaign.is_virtual ? b : a)->name);
    TRY(pair_points(d));
    TRY(judge(d));
    count(d, out);
out:
    return rc;
}

enum rc campaign_diff(const struct recorded *a, const struct recorded *b, bool all_rows, struct diff_counts *out,
                      FILE *to)
{
    struct diff d = { .of = { a, b }, .all_rows = all_rows };
    enum rc rc;

    TRY(compare(&d, out));
    TRY(print_diff(&d, out, to));
out:
    free(d.pair);
    return rc;
}

enum rc campaign_diff_write(const struct recorded *a, const struct recorded *b, struct diff_counts *out,
                            struct report *to)
{
    struct diff d = { .of = { a, b } };
    enum rc rc;

    TRY(compare(&d, out));
    for (size_t i = 0; i < d.n_pairs; i++)
        TRY(write_pair(to, &d, &d.pair[i]));
    struct record *r = report_begin(to, "diff");
    record_text(r, "a", a->name);
    record_text(r, "b", b->name);
    record_u64(r, "better_count", out->n_better);
    record_u64(r, "worse_count", out->n_worse);
    record_u64(r, "no_difference_count", out->n_untold);
    record_u64(r, "not_compared_count", out->n_not_compared);
    TRY(report_end(to));
out:
    free(d.pair);
    return rc;
}
