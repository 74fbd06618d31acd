/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_page.c - report.html: verdict, criteria, findings, maps of all pairs, nodes, and the other figures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/criteria_keys.h"
#include "harness/accept/heat_map.h"
#include "harness/accept/rank_order.h"
#include "harness/accept/report_tables.h"
#include "harness/accept/report_words.h"
#include "harness/report/html.h"

enum { MOST_PAIRS = 20 };

/* The verdict's colours come with a word and a mark, so that nobody needs to see them. */
static const char STYLE[] = ".pass,.fail,.open{font-size:1.15rem;font-weight:bold;padding:.75rem 1rem;"
                            "border:1px solid rgba(128,128,128,.45);border-left:.6rem solid #009E73;"
                            "border-radius:.3rem}"
                            ".fail{border-left-color:#D55E00}"
                            ".open{border-left-color:#E69F00;border-left-style:dashed}"
                            ".map figure>div{max-width:none}.map img{width:100%;min-width:46rem;max-width:72rem}"
                            "@media print{.map{break-inside:avoid}.map img{width:auto;min-width:0;max-height:165mm}}";

/* Text that a function of report_words.h prints; the caller frees. */
static enum rc words_of(char **out, const struct acceptance *a, void (*print)(const struct acceptance *a, FILE *to))
{
    size_t n_bytes = 0;
    FILE *to = open_memstream(out, &n_bytes);

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for a page");
    print(a, to);
    if (fclose(to) != 0)
        return rc_raise(RC_NOMEM, "no memory for a page");
    return RC_OK;
}

static void write_about(const struct acceptance *a, FILE *to)
{
    html_element(to, "p", "about",
                 "Acceptance test of gradmark: %d node%s, %d rank%s, world %s, transport %s, compute %s%s.", a->n_nodes,
                 a->n_nodes == 1 ? "" : "s", a->n_ranks, a->n_ranks == 1 ? "" : "s", a->world, a->transport, a->compute,
                 a->is_virtual ? ", in simulated time" : "");
}

/* A paragraph, not html_element(), which cuts: the names of a large fleet are long. */
static enum rc write_verdict(const struct acceptance *a, FILE *to)
{
    char *verdict = NULL, *notes = NULL;
    enum rc rc;

    TRY(words_of(&verdict, a, verdict_print));
    TRY(words_of(&notes, a, verdict_print_notes));
    fprintf(to, "<p class=\"%s\">", a->outcome == OUTCOME_PASS ? "pass" : a->outcome == OUTCOME_FAIL ? "fail" : "open");
    html_text(to, verdict);
    fputs("</p>\n", to);
    if (notes[0]) {
        fputs("<p class=\"alert\">", to);
        html_text(to, notes);
        fputs("</p>\n", to);
    }
out:
    free(verdict);
    free(notes);
    return rc;
}

static void print_all_failures(const struct acceptance *a, FILE *to)
{
    failures_print(a, a->n_findings, to);
}

/* A list under a heading, where there are lines. */
static enum rc write_list(const struct acceptance *a, const char *heading,
                          void (*print)(const struct acceptance *a, FILE *to), FILE *to)
{
    char *text = NULL;
    enum rc rc;

    TRY(words_of(&text, a, print));
    if (text[0]) {
        html_element(to, "h2", NULL, "%s", heading);
        html_lines(to, NULL, text);
    }
out:
    free(text);
    return rc;
}

/* A table under a heading, where it has rows. Ends t. */
static enum rc write_table(struct table *t, const char *heading, FILE *to)
{
    enum rc rc;

    TRY(table_check(t));
    if (table_n_rows(t) > 0) {
        html_element(to, "h2", NULL, "%s", heading);
        TRY(html_table(to, t, heading));
    }
out:
    table_close(&t);
    return rc;
}

static enum rc write_map(const struct acceptance *a, enum pair_figure of, FILE *to)
{
    char *svg = NULL;
    size_t n_bytes = 0;
    enum rc rc;

    TRY(heat_map_svg(&svg, &n_bytes, a, of));
    if (!svg)
        goto out;
    fputs("<div class=\"map\">\n", to);
    rc = html_svg(to, svg, n_bytes,
                  of == PAIR_RATE ? "Rates of all pairs: the row sends, the column receives; the darker the slower"
                                  : "Latencies of all pairs, half of the round trip; the darker the longer",
                  HEAT_MAP_WIDTH_PX, HEAT_MAP_HEIGHT_PX);
    fputs("</div>\n", to);
out:
    free(svg);
    return rc;
}

static enum rc write_pairs(const struct acceptance *a, FILE *to)
{
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (a->tournament.n_repeats == 0)
        return RC_OK;
    html_element(to, "h2", NULL, "Pairs of nodes");
    TRY(write_map(a, PAIR_RATE, to));
    TRY(write_map(a, PAIR_LATENCY, to));
    TRY(slowest_pairs_table(&t, a, MOST_PAIRS));
    TRY(write_table(t, "The slowest pairs", to));
out:
    return rc;
}

static void write_nodes_note(FILE *to)
{
    html_element(to, "p", "note",
                 "Rates and latencies are medians over the other nodes, without those and the links that the pairwise "
                 "stage blames; GEMM, memory, detours and steps are those of a "
                 "node's worst rank, medians over repeats.");
}

static enum rc write_rank_orders(const struct acceptance *a, FILE *to)
{
    const int best = acceptance_best_rank_order(a);
    const char *distribution = best >= 0 ? rank_order_distribution(a, best) : NULL;
    enum rc rc;

    TRY(write_table(rank_orders_table(a), "Orders of ranks", to));
    if (best >= 0)
        html_element(to, "p", "note",
                     "An allreduce of %zu bytes by the same ranks, which are members of it in these orders: one after "
                     "another in turns, compared repeat by repeat. rank_order.hosts has the order %s, a host for each "
                     "rank%s%s.",
                     a->rank_order[best].n_bytes, accept_rank_order_name(best),
                     distribution ? "; Slurm makes it by --distribution=" : "", distribution ? distribution : "");
out:
    return rc;
}

static void write_integrity(const struct acceptance *a, FILE *to)
{
    char segment[ACCEPT_NAME_BYTES];

    if (a->integrity_checks_count == 0)
        return;
    html_element(to, "h2", NULL, "Integrity");
    html_element(
        to, "p", NULL, "Parameters of all ranks were compared %llu times, every %llu steps; they differed %d times.",
        (unsigned long long)a->integrity_checks_count, (unsigned long long)a->integrity_every_steps, a->n_corruptions);
    for (int i = 0; i < a->n_corruptions; i++) {
        const struct corruption *c = &a->corruption[i];
        line_text(segment, sizeof segment, c->segment);
        if (c->rank >= 0)
            html_element(to, "p", "alert", "Rank %d on %s has other parameters at step %llu, in segment %s.", c->rank,
                         a->node[a->node_of_rank[c->rank]].name, (unsigned long long)c->step, segment);
        else
            html_element(to, "p", "alert",
                         "Ranks have other parameters at step %llu, in segment %s; which of them is "
                         "wrong cannot be told.",
                         (unsigned long long)c->step, segment);
    }
}

static void write_soak(const struct acceptance *a, FILE *to)
{
    const struct soak *s = &a->soak;
    char parts[48] = "";

    if (!(s->minutes > 0))
        return;
    html_element(to, "h2", NULL, "Soak");
    if (s->n_parts > 0)
        snprintf(parts, sizeof parts, " of %llu trainings", (unsigned long long)s->n_parts);
    html_element(
        to, "p", NULL,
        "%llu steps%s in %.4g minutes. Steps of the last tenth took %+.2f %% of those of the first; the slowest "
        "tenth took %.4g times the median.",
        (unsigned long long)s->n_steps, parts, s->minutes, 100 * s->drift_ratio, s->worst_ratio);
}

/* Stages of which there is a row for each thing measured. */
static enum rc write_figures(const struct acceptance *a, FILE *to)
{
    struct table *t = NULL;
    enum rc rc;

    TRY(nodes_table(&t, a));
    TRY(write_table(t, "Nodes", to));
    write_nodes_note(to);
    TRY(write_table(preflight_table(a), "Preflight", to));
    TRY(write_table(sizes_table(a->collective, a->n_collective, "bus bandwidth"), "Collectives", to));
    TRY(write_rank_orders(a, to));
    TRY(write_table(sizes_table(a->ps, a->n_ps, "goodput"), "Push and pull", to));
    TRY(write_table(training_table(a), "Training", to));
out:
    return rc;
}

static void write_end(const struct acceptance *a, FILE *to)
{
    html_element(to, "h2", NULL, "Stages");
    fputs("<ul>\n", to);
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        if (a->stage[s].was_run)
            html_element(to, "li", NULL, "%s: %s, %.3g s", accept_stage_name((enum accept_stage)s),
                         accept_outcome_name(a->stage[s].outcome), a->stage[s].took_s);
        else
            html_element(to, "li", NULL, "%s: %s", accept_stage_name((enum accept_stage)s),
                         a->stage[s].outcome == OUTCOME_SKIPPED ? accept_outcome_name(OUTCOME_SKIPPED) : "not run");
    fputs("</ul>\n<footer>\n<p>Records: acceptance.jsonl. A click on a title sorts a table, another turns it round, a "
          "third "
          "restores its order.</p>\n</footer>\n",
          to);
}

static enum rc write_parts(const struct acceptance *a, FILE *to)
{
    enum rc rc;

    write_about(a, to);
    TRY(write_verdict(a, to));
    TRY(write_list(a, "Failed", print_all_failures, to));
    TRY(write_list(a, "Next steps", remedies_print, to));
    TRY(write_table(criteria_table(a, true), "Criteria", to));
    TRY(write_list(a, "Not judged, or in part", silent_print, to));
    TRY(write_pairs(a, to));
    TRY(write_figures(a, to));
    write_integrity(a, to);
    write_soak(a, to);
    write_end(a, to);
out:
    return rc;
}

enum rc acceptance_page(const struct acceptance *a, const char *path)
{
    char name[ACCEPT_NAME_BYTES], title[ACCEPT_NAME_BYTES + 32];
    struct html page = { .file = { NULL } };
    enum rc rc;

    line_text(name, sizeof name, a->cluster_name);
    const bool has_name =
        name[0] && strcmp(name, key_default(&criteria_keys[key_find(&criteria_key_table, "name")])) != 0;
    snprintf(title, sizeof title, "Acceptance %s%s: %s", has_name ? "of " : "test", has_name ? name : "",
             accept_outcome_name(a->outcome));
    TRY(html_open_with(&page, path, title, STYLE, NULL));
    TRY(write_parts(a, page.file.stream));
out:
    return html_finish(&page, rc);
}
