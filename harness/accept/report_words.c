/* SPDX-License-Identifier: Apache-2.0 */
/* report_words.c - quantities, verdict and findings in words, equal in every output; see report_words.h. */
#include "harness/accept/report_words.h"

#include <math.h>
#include <string.h>

#include "harness/world/stop.h"

/* --- quantities --- */

/* So many digits, never an exponent where a person would not write one. */
static void digits_text(char *out, size_t n_bytes, int n_digits, double value)
{
    const double size = fabs(value), least = 1e-6;

    if (size >= 1000 && size < 1e9)
        snprintf(out, n_bytes, "%.0f", value);
    else if (size > 0 && size < least)
        snprintf(out, n_bytes, "%s0.000001", value < 0 ? "> -" : "< ");
    else if (size > 0 && size < 1e-4)
        snprintf(out, n_bytes, "%.6f", value);
    else
        snprintf(out, n_bytes, "%.*g", n_digits, value);
}

static void number_text(char *out, size_t n_bytes, double value)
{
    digits_text(out, n_bytes, 4, value);
}

static void scale_time(struct quantity_scale *out, double value_s)
{
    static const struct {
        double least_s, factor;
        const char *unit;
    } scale[] = { { 1, 1, "s" }, { 1e-3, 1e3, "ms" }, { 1e-6, 1e6, "us" }, { 0, 1e9, "ns" } };
    const double size_s = fabs(value_s);
    size_t i = 0;

    while (size_s < scale[i].least_s && size_s > 0)
        i++;
    out->factor = scale[i].factor;
    snprintf(out->unit, sizeof out->unit, "%s", scale[i].unit);
}

static void scale_prefixed(struct quantity_scale *out, double value, const char *unit)
{
    static const struct {
        double least, divisor;
        const char *prefix;
    } scale[] = { { 1e9, 1e9, "G" }, { 1e6, 1e6, "M" }, { 1e4, 1e3, "k" }, { 0, 1, "" } };
    const bool is_bytes = strcmp(unit, "byte/s") == 0;
    const bool takes_prefix = is_bytes || strcmp(unit, "flop/s") == 0 || strcmp(unit, "bit/s") == 0;
    size_t i = 0;

    while (fabs(value) < scale[i].least)
        i++;
    out->factor = 1 / scale[i].divisor;
    snprintf(out->unit, sizeof out->unit, "%s%s%s", scale[i].prefix, takes_prefix || !scale[i].prefix[0] ? "" : " ",
             is_bytes ? "B/s" : unit);
}

struct quantity_scale quantity_scale(double value, const char *unit)
{
    struct quantity_scale s = { .factor = 1 };

    if (strcmp(unit, "s") == 0)
        scale_time(&s, value);
    else if (strcmp(unit, "ratio") == 0 || strncmp(unit, "of ", 3) == 0)
        s = (struct quantity_scale){ .factor = 100, .unit = "%" };
    else if (unit[0] != '\0' && !isnan(value))
        scale_prefixed(&s, value, unit);
    return s;
}

void quantity_text(char *out, size_t n_bytes, double value, const char *unit)
{
    const struct quantity_scale s = quantity_scale(value, unit);
    char number[32];

    number_text(number, sizeof number, value * s.factor);
    if (isnan(value))
        snprintf(out, n_bytes, "-");
    else
        snprintf(out, n_bytes, "%s%s%s%s%s", number, s.unit[0] ? " " : "", s.unit,
                 strncmp(unit, "of ", 3) == 0 ? " " : "", strncmp(unit, "of ", 3) == 0 ? unit : "");
}

void scaled_text(char *out, size_t n_bytes, double value, double factor)
{
    number_text(out, n_bytes, value * factor);
    if (isnan(value))
        snprintf(out, n_bytes, "-");
}

/* Three digits, as often as not of a middle that has four. */
static void end_text(char *out, size_t n_bytes, double value)
{
    digits_text(out, n_bytes, 3, value);
}

void scaled_interval_text(char *out, size_t n_bytes, double low, double high, double factor)
{
    char from[32], to[32];

    end_text(from, sizeof from, low * factor);
    end_text(to, sizeof to, high * factor);
    if (!isfinite(low))
        snprintf(out, n_bytes, "-");
    else if (!isfinite(high))
        snprintf(out, n_bytes, ">= %s", from);
    else
        snprintf(out, n_bytes, "%s%s%s", from, low < 0 ? " to " : "-", to);
}

void limit_text(char *out, size_t n_bytes, const struct criterion *c)
{
    char text[QUANTITY_BYTES];

    quantity_text(text, sizeof text, c->limit, c->unit);
    if (isnan(c->limit))
        snprintf(out, n_bytes, "-");
    else
        snprintf(out, n_bytes, "at %s %s", c->at_least ? "least" : "most", text);
}

void interval_text(char *out, size_t n_bytes, double low, double high, const char *unit)
{
    char from[QUANTITY_BYTES], to[QUANTITY_BYTES];

    quantity_text(from, sizeof from, low, unit);
    quantity_text(to, sizeof to, high, unit);
    if (!isfinite(low))
        snprintf(out, n_bytes, "-");
    else if (!isfinite(high))
        snprintf(out, n_bytes, "%s or more", from);
    else
        snprintf(out, n_bytes, "%s to %s", from, to);
}

/* --- names --- */

void line_text(char *out, size_t n_bytes, const char *text)
{
    snprintf(out, n_bytes, "%s", text);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

void subject_line(char *out, size_t n_bytes, const struct acceptance *a, const struct finding *f)
{
    char name[SUBJECT_BYTES];

    accept_subject_text(name, sizeof name, a, f);
    line_text(out, n_bytes, name);
}

const char *outcome_title(enum accept_outcome outcome)
{
    static const char *const title[] = { "PASS", "FAIL", "NO DATA", "SKIPPED" };

    return title[outcome];
}

/* --- the verdict --- */

enum { MOST_NAMED = 8 };

/* The lost rank has words of its own. */
static bool is_loss(const struct finding *f)
{
    return strcmp(f->metric, "lost") == 0;
}

/* Is there an earlier finding of the same node, rank or link? */
static bool was_named(const struct acceptance *a, int i)
{
    const struct finding *f = &a->finding[i];

    for (int k = 0; k < i; k++) {
        const struct finding *g = &a->finding[k];
        if (g->subject != f->subject || is_loss(g))
            continue;
        if (f->subject == SUBJECT_FLEET || (g->a == f->a && (f->subject != SUBJECT_LINK || g->b == f->b)))
            return true;
    }
    return false;
}

static int n_subjects(const struct acceptance *a, enum subject subject)
{
    int n = 0;

    for (int i = 0; i < a->n_findings; i++)
        n += a->finding[i].subject == subject && !is_loss(&a->finding[i]) && !was_named(a, i);
    return n;
}

/* Of all findings, what one word can say of them; "at fault": no other can, as of versions that differ, wrong sums,
 * corrupted parameters, or of faults of two kinds. */
static const char *fault_of(const struct acceptance *a, bool is_one)
{
    int n = 0, n_late = 0, n_wrong = 0;

    for (int i = 0; i < a->n_findings; i++) {
        const enum accept_stage stage = a->finding[i].stage;
        if (is_loss(&a->finding[i]))
            continue;
        n++;
        n_late += strcmp(a->finding[i].metric, "late_ratio") == 0;
        n_wrong += stage == ACCEPT_PREFLIGHT || stage == ACCEPT_INTEGRITY || stage == ACCEPT_COLLECTIVES ||
                   stage == ACCEPT_PS; /* sums and pulls */
    }
    if (n_late == n)
        return is_one ? "loses messages" : "lose messages";
    if (n_late > 0 || n_wrong > 0)
        return is_one ? "is at fault" : "are at fault";
    return is_one ? "is slow" : "are slow";
}

static void print_subjects(const struct acceptance *a, FILE *to)
{
    char name[SUBJECT_BYTES], why[ACCEPT_TEXT_BYTES];
    int n_named = 0, n_left = 0;

    for (int i = 0; i < a->n_findings; i++) {
        if (is_loss(&a->finding[i]) || was_named(a, i))
            continue;
        if (n_named == MOST_NAMED) {
            n_left++;
            continue;
        }
        subject_line(name, sizeof name, a, &a->finding[i]);
        fprintf(to, "%s%s", n_named++ > 0 ? "; " : ": ", name);
        if (a->finding[i].subject == SUBJECT_FLEET && a->finding[i].text[0]) {
            line_text(why, sizeof why, a->finding[i].text);
            fprintf(to, " (%s)", why);
        }
    }
    if (n_left > 0)
        fprintf(to, "; and %d more", n_left);
}

/* "1 node and 2 links are slow: ..." */
static void print_blame(const struct acceptance *a, FILE *to)
{
    static const char *const name[] = { "the whole fleet", "node", "rank", "link" };
    static const enum subject order[] = { SUBJECT_NODE, SUBJECT_RANK, SUBJECT_LINK, SUBJECT_FLEET };
    int n_all = 0, n_kinds = 0, n_told = 0;

    for (int k = 0; k < 4; k++)
        n_kinds += n_subjects(a, order[k]) > 0;
    for (int k = 0; k < 4; k++) {
        const int n = n_subjects(a, order[k]);
        if (n == 0)
            continue;
        fputs(n_told == 0 ? "" : n_told + 1 < n_kinds ? ", " : " and ", to);
        if (order[k] == SUBJECT_FLEET)
            fputs(name[SUBJECT_FLEET], to);
        else
            fprintf(to, "%d %s%s", n, name[order[k]], n == 1 ? "" : "s");
        n_all += n;
        n_told++;
    }
    fprintf(to, " %s", fault_of(a, n_all == 1));
    print_subjects(a, to);
}

static int n_criteria_of(const struct acceptance *a, enum accept_outcome outcome)
{
    int n = 0;

    for (int i = 0; i < a->n_criteria; i++)
        n += a->criterion[i].outcome == outcome;
    return n;
}

/* "2 of 14 criteria ...: name; name" */
static void print_criteria_of(const struct acceptance *a, enum accept_outcome outcome, FILE *to)
{
    const int n = n_criteria_of(a, outcome);
    const char *how = outcome == OUTCOME_FAIL ? n == 1 ? "fails" : "fail" : n == 1 ? "has no data" : "have no data";
    int n_named = 0, n_shown = 0; /* as many as the table has */

    for (int i = 0; i < a->n_criteria; i++)
        n_shown += !criterion_is_of_skipped(a, &a->criterion[i]);
    fprintf(to, "%d of %d criteria %s", n, n_shown, how);
    for (int i = 0; i < a->n_criteria && n_named < MOST_NAMED; i++)
        if (a->criterion[i].outcome == outcome)
            fprintf(to, "%s%s", n_named++ > 0 ? "; " : ": ", a->criterion[i].name);
    if (n > n_named)
        fprintf(to, "; and %d more", n - n_named);
}

static void print_no_data(const struct acceptance *a, FILE *to)
{
    int n = 0, n_named = 0;

    for (int i = 0; i < ACCEPT_N_STAGES; i++)
        n += a->stage[i].outcome == OUTCOME_NO_DATA;
    if (n_criteria_of(a, OUTCOME_NO_DATA) > 0) {
        print_criteria_of(a, OUTCOME_NO_DATA, to);
        return;
    }
    if (n == 0) {
        fputs(n_criteria_of(a, OUTCOME_NO_LIMIT) > 0 ? "nothing was judged: what was measured has no limit"
                                                     : "nothing was judged",
              to);
        return;
    }
    fprintf(to, "%d stage%s no data: ", n, n == 1 ? " has" : "s have");
    for (int i = 0; i < ACCEPT_N_STAGES; i++)
        if (a->stage[i].outcome == OUTCOME_NO_DATA)
            fprintf(to, "%s%s", n_named++ > 0 ? ", " : "", accept_stage_name((enum accept_stage)i));
}

static void print_passed(const struct acceptance *a, FILE *to)
{
    const int n = n_criteria_of(a, OUTCOME_PASS), n_open = n_criteria_of(a, OUTCOME_NO_LIMIT);

    fprintf(to, "%d criteri%s hold%s on %d node%s and %d rank%s", n, n == 1 ? "on" : "a", n == 1 ? "s" : "", a->n_nodes,
            a->n_nodes == 1 ? "" : "s", a->n_ranks, a->n_ranks == 1 ? "" : "s");
    if (n_open > 0)
        fprintf(to, "; %d more %s measured, and %s no limit", n_open, n_open == 1 ? "was" : "were",
                n_open == 1 ? "has" : "have");
}

/* What ended the test: "rank 4 on node4 was lost in stage pairwise". Returns whether something did. */
static bool print_end(const struct acceptance *a, FILE *to)
{
    char name[SUBJECT_BYTES];

    if (a->lost_rank >= 0) {
        const struct finding f = { .subject = SUBJECT_RANK, .a = a->lost_rank, .b = a->node_of_rank[a->lost_rank] };
        const char *how = "lost";
        for (int i = 0; i < a->n_findings; i++)
            how = is_loss(&a->finding[i]) ? a->finding[i].text : how;
        subject_line(name, sizeof name, a, &f);
        fprintf(to, "%s was %s", name, how);
    } else if (a->stop_signal != 0)
        fprintf(to, "%s stopped the test", stop_signal_name(a->stop_signal));
    else if (a->is_partial)
        fputs("the test did not come to its end", to);
    return a->lost_rank >= 0 || a->stop_signal != 0 || a->is_partial;
}

/* Who is to blame, else which criteria fail. Returns whether there is anything. */
static bool print_found(const struct acceptance *a, const char *before, FILE *to)
{
    bool has_findings = false;

    for (int i = 0; i < a->n_findings; i++)
        has_findings = has_findings || !is_loss(&a->finding[i]);
    if (!has_findings && n_criteria_of(a, OUTCOME_FAIL) == 0)
        return false;
    fputs(before, to);
    if (has_findings)
        print_blame(a, to);
    else
        print_criteria_of(a, OUTCOME_FAIL, to);
    return true;
}

/* " (2 of 9 stages)" of a pass without stages that run by default. */
static void print_n_stages(const struct acceptance *a, FILE *to)
{
    int n_judged = 0;
    bool is_whole = true;

    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        n_judged += a->stage[s].outcome != OUTCOME_SKIPPED;
        is_whole = is_whole && (a->stage[s].outcome != OUTCOME_SKIPPED || s == ACCEPT_SOAK);
    }
    if (!is_whole)
        fprintf(to, " (%d of %d stages)", n_judged, ACCEPT_N_STAGES);
}

void verdict_print(const struct acceptance *a, FILE *to)
{
    fputs(outcome_title(a->outcome), to);
    if (a->outcome == OUTCOME_PASS)
        print_n_stages(a, to);
    fputs(": ", to);
    if (a->outcome == OUTCOME_PASS) {
        print_passed(a, to);
        return;
    }
    if (a->outcome == OUTCOME_SKIPPED) {
        fputs("every stage was skipped", to);
        return;
    }
    const bool has_end = print_end(a, to);
    const bool has_found = print_found(a, has_end ? "; found: " : "", to);
    if (a->outcome == OUTCOME_NO_DATA) {
        fputs(has_end || has_found ? "; " : "", to);
        print_no_data(a, to);
    } else if (!has_end && !has_found)
        print_criteria_of(a, OUTCOME_FAIL, to);
}

/* Of a pass: did no stage look whether other work disturbed what was timed? */
static bool is_quiet_unknown(const struct acceptance *a)
{
    bool is_timed = false;

    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        is_timed = is_timed || (s != ACCEPT_PREFLIGHT && s != ACCEPT_INTEGRITY && s != ACCEPT_NOISE &&
                                a->stage[s].outcome != OUTCOME_SKIPPED);
    return a->outcome == OUTCOME_PASS && is_timed && !a->is_virtual &&
           a->stage[ACCEPT_NOISE].outcome == OUTCOME_SKIPPED;
}

/* Of a pass: were nodes compared with each other alone, though their rates were measured? */
static bool has_no_limit_of_rates(const struct acceptance *a)
{
    bool is_measured = false;

    for (int i = 0; i < a->n_criteria; i++) {
        const struct criterion *c = &a->criterion[i];
        if (c->stage == ACCEPT_PREFLIGHT || c->stage == ACCEPT_NOISE || c->stage == ACCEPT_SOAK)
            continue;
        if (isfinite(c->limit))
            return false;
        is_measured = is_measured || isfinite(c->measured);
    }
    return a->outcome == OUTCOME_PASS && is_measured;
}

/* Of "link:1-4=0.6,noise 0.02": each has its option. */
static void print_injected(const struct acceptance *a, FILE *to)
{
    static const char *const in_pairwise[] = { "node:", "link:", "loss:" };
    char faults[ACCEPT_INJECTED_BYTES];
    bool has_of_pairwise = false;

    line_text(faults, sizeof faults, a->injected);
    char *noise = strstr(faults, "noise ");
    if (noise && noise > faults)
        noise[-1] = '\0';
    for (size_t i = 0; i < sizeof in_pairwise / sizeof *in_pairwise; i++)
        has_of_pairwise = has_of_pairwise || strstr(faults, in_pairwise[i]);
    if (noise != faults && faults[0])
        fprintf(to, "Faults were injected by --inject: %s.\n", faults);
    if (has_of_pairwise)
        fputs("Faults of nodes and links are in stage pairwise alone: other stages ran without them.\n", to);
    if (noise)
        fprintf(to, "Noise was added by --noise-ratio: %s.\n", noise + strlen("noise "));
}

void verdict_print_notes(const struct acceptance *a, FILE *to)
{
    print_injected(a, to);
    if (has_no_limit_of_rates(a))
        fputs("No rate had a limit, so a slow cluster passes, too. To write limits: gradmark accept "
              "--init FILE\n",
              to);
    if (is_quiet_unknown(a))
        fputs("Stage noise was skipped: nothing checked that the machine was quiet.\n", to);
    if (a->stop_signal)
        fprintf(to, "%s stopped the test before its end: this is what it had measured.\n",
                stop_signal_name(a->stop_signal));
    else if (a->is_partial)
        fputs("The test did not come to its end: this is what it had measured.\n", to);
}

/* --- findings --- */

bool finding_is_of_node(const struct finding *f, int node)
{
    switch (f->subject) {
    case SUBJECT_NODE:
        return f->a == node;
    case SUBJECT_RANK:
        return f->b == node;
    case SUBJECT_LINK:
        return f->a == node || f->b == node;
    case SUBJECT_FLEET:
        break;
    }
    return false;
}

/* Does text name its subject already? */
static bool begins_with(const char *text, const char *name)
{
    return strncmp(text, name, strlen(name)) == 0;
}

void finding_print(const struct acceptance *a, const struct finding *f, FILE *to)
{
    const double least_q = 0.001; /* smaller ones say no more to a reader; the record is exact */
    char name[SUBJECT_BYTES], text[ACCEPT_TEXT_BYTES], measured[QUANTITY_BYTES], expected[QUANTITY_BYTES];

    subject_line(name, sizeof name, a, f);
    line_text(text, sizeof text, f->text);
    quantity_text(measured, sizeof measured, f->measured, f->unit);
    quantity_text(expected, sizeof expected, f->expected, f->unit);
    if (!begins_with(text, name))
        fprintf(to, "%s%s", name, text[0] ? ": " : "");
    fprintf(to, "%s (%s, %s", text, accept_stage_name(f->stage), f->metric);
    if (!isnan(f->measured))
        fprintf(to, ": %s, expected %s", measured, expected);
    if (f->expected > 0 && !isnan(f->measured))
        fprintf(to, ": %.1f %%", 100 * f->measured / f->expected);
    if (f->q_value > 0 && f->q_value < least_q)
        fprintf(to, "; false-discovery rate less than %g", least_q);
    else if (f->q_value > 0)
        fprintf(to, "; false-discovery rate %.2g", f->q_value);
    fputc(')', to);
}

/* --- what failed --- */

/* Do findings say why it failed? Without a limit nothing else makes it fail. With one, a finding of all nodes has the
 * same limit, or says the same. */
static bool is_told_by_finding(const struct acceptance *a, const struct criterion *c)
{
    for (int i = 0; i < a->n_findings; i++) {
        const struct finding *f = &a->finding[i];
        if (f->stage == c->stage && !is_loss(f) &&
            (isnan(c->limit) || f->expected == c->limit || strstr(f->text, c->text)))
            return true;
    }
    return false;
}

void failures_print(const struct acceptance *a, int most, FILE *to)
{
    char name[ACCEPT_NAME_BYTES], why[ACCEPT_TEXT_BYTES];

    for (int i = 0; i < a->n_findings && i < most; i++) {
        finding_print(a, &a->finding[i], to);
        fputs(".\n", to);
    }
    if (a->n_findings > most)
        fprintf(to, "and %d more\n", a->n_findings - most);
    for (int i = 0; i < a->n_criteria; i++) {
        const struct criterion *c = &a->criterion[i];
        if (c->outcome != OUTCOME_FAIL || !c->text[0] || is_told_by_finding(a, c))
            continue;
        line_text(name, sizeof name, c->name);
        line_text(why, sizeof why, c->text);
        fprintf(to, "%s: %s.\n", name, why);
    }
}

static bool has_finding(const struct acceptance *a, enum accept_stage stage)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].stage == stage && a->finding[i].subject != SUBJECT_FLEET && !is_loss(&a->finding[i]))
            return true;
    return false;
}

/* Does a limit fail that no node, rank or link alone is blamed for? */
static bool has_broken_limit(const struct acceptance *a)
{
    for (int i = 0; i < a->n_criteria; i++)
        if (a->criterion[i].outcome == OUTCOME_FAIL && !isnan(a->criterion[i].limit) &&
            !has_finding(a, a->criterion[i].stage))
            return true;
    return false;
}

void remedies_print(const struct acceptance *a, FILE *to)
{
    static const char *const remedy[ACCEPT_N_STAGES] = {
        [ACCEPT_PREFLIGHT] = "give all nodes the same software, settings and hardware.",
        [ACCEPT_COMPUTE] = "look for other programs, low clock rates and heat.",
        [ACCEPT_NOISE] = "end other programs on these nodes.",
        [ACCEPT_PAIRWISE] = "check the network cards, cables and switch ports.",
        [ACCEPT_COLLECTIVES] = "wrong sums: stop using these nodes, and test their memory and network cards.",
        [ACCEPT_PS] = "wrong pulls: stop using these nodes, and test their memory and network cards.",
        [ACCEPT_TRAINING] = "look for other programs, low clock rates and heat.",
        [ACCEPT_INTEGRITY] = "corrupted parameters: stop using these nodes, and test their memory.",
        [ACCEPT_SOAK] = "look for heat and for programs that start at times.",
    };
    bool is_any = false;

    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        if (has_finding(a, (enum accept_stage)s)) {
            fprintf(to, "%s: %s\n", accept_stage_name((enum accept_stage)s), remedy[s]);
            is_any = true;
        }
    if (has_broken_limit(a))
        fputs("limits: compare them with the data sheets. If they are right, all nodes are too slow.\n", to);
    if (is_any)
        fputs("Start jobs on the nodes of good.hosts until this is repaired. Then test again.\n", to);
}

/* --- what says nothing --- */

/* "no data: one node has no pairs", and a line feed. */
static void print_why(enum accept_outcome outcome, const char *why, FILE *to)
{
    char text[ACCEPT_TEXT_BYTES];

    line_text(text, sizeof text, why);
    fprintf(to, "%s%s%s\n", accept_outcome_name(outcome), text[0] ? ": " : "", text);
}

/* Stages that were left out on request, in one line. */
static void print_left_out(const struct acceptance *a, FILE *to)
{
    int n = 0;

    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        if (a->stage[s].outcome == OUTCOME_SKIPPED)
            fprintf(to, "%s%s", n++ > 0 ? ", " : "skipped: ", accept_stage_name((enum accept_stage)s));
    if (n > 0)
        fputc('\n', to);
}

void silent_print(const struct acceptance *a, FILE *to)
{
    char name[ACCEPT_NAME_BYTES];

    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        const struct stage_state *t = &a->stage[s];
        if (t->outcome == OUTCOME_SKIPPED || (t->outcome != OUTCOME_NO_DATA && !t->why[0]))
            continue;
        fprintf(to, "%s: ", accept_stage_name((enum accept_stage)s));
        print_why(t->outcome, t->why, to);
    }
    for (int i = 0; i < a->n_criteria; i++) {
        const struct criterion *c = &a->criterion[i];
        if ((c->outcome != OUTCOME_NO_DATA && c->outcome != OUTCOME_SKIPPED) || criterion_is_of_skipped(a, c))
            continue;
        if (c->text[0] && strcmp(c->text, a->stage[c->stage].why) == 0) /* its stage has said so */
            continue;
        line_text(name, sizeof name, c->name);
        fprintf(to, "%s, %s: ", accept_stage_name(c->stage), name);
        print_why(c->outcome, c->text, to);
    }
    print_left_out(a, to);
}

bool criterion_is_of_skipped(const struct acceptance *a, const struct criterion *c)
{
    return c->outcome == OUTCOME_SKIPPED && a->stage[c->stage].outcome == OUTCOME_SKIPPED;
}
