/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_records.c - the answer and every comparison of a campaign, kept in its folder: answer.txt and verdicts.jsonl.
 *
 * Both are computed from runs.jsonl, and written anew each time the campaign ends.
 */
#include <math.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/campaign/curves.h"
#include "harness/campaign/verdict_parts.h"
#include "harness/report/record.h"

static const char ANSWER[] = "answer.txt", VERDICTS[] = "verdicts.jsonl";

static void path_of(char out[CAMPAIGN_DIR_BYTES + 32], const struct campaign *c, const char *name)
{
    snprintf(out, CAMPAIGN_DIR_BYTES + 32, "%s/%s", c->dir, name);
}

static bool is_of_target(const struct claim *k)
{
    return k->kind == CLAIM_TARGET || k->kind == CLAIM_LAYOUT_TARGET;
}

static const char *quantity_of(const struct claim *k)
{
    return is_of_target(k) ? "time_to_target" : k->kind == CLAIM_PRICE ? "exchange_cost" : "throughput";
}

/* NaN: not known, or some run did not reach the target loss (curves.J2). */
static double ratio_of(const struct claim *k)
{
    if (is_of_target(k))
        return target_all_reached(k->a, k->b) ? target_split(k->a, k->b).sooner_ratio : (double)NAN;
    return isnan(k->x.ratio) ? point_throughput(k->a).mean / point_throughput(k->b).mean : k->x.ratio;
}

/* Which setting is better: "a", "b" or "equal", the latter in simulated time alone; else "cannot tell". */
static const char *result_of(const struct claims *all, const struct claim *k, double ratio)
{
    if (isnan(ratio) || (!all->campaign->is_virtual && !k->holds))
        return "cannot tell";
    return ratio > 1 ? "a" : ratio < 1 ? "b" : "equal";
}

/* side: "a", "b" */
static void record_side(struct record *r, const char *side, const struct campaign *c, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char name[LAUNCH_NAME_BYTES], text[LAYOUT_TEXT_BYTES], key[OPTION_BYTES + 32];

    point_name(name, sizeof name, p);
    record_text(r, side, name);
    snprintf(key, sizeof key, "%s_mode", side);
    record_text(r, key, p->mode->name);
    snprintf(key, sizeof key, "%s_workers_count", side);
    record_i64(r, key, p->n_workers);
    snprintf(key, sizeof key, "%s_servers_count", side);
    record_i64(r, key, p->n_servers);
    snprintf(key, sizeof key, "%s_cores_count", side);
    record_i64(r, key, point_n_cores(p));
    snprintf(key, sizeof key, "%s_layout", side);
    layout_text(text, &layout);
    record_text(r, key, point_has_layout(p) ? text : NULL);
    for (int i = 0; campaign_other_option(c, i); i++) {
        snprintf(key, sizeof key, "%s_%s", side, campaign_other_option(c, i));
        record_text(r, key, point_value(p, campaign_other_option(c, i)));
    }
}

static enum rc record_withheld(struct record *r, const struct claim *k)
{
    static const char *const key[] = { [WITHHELD_NOT] = NULL,
                                       [WITHHELD_DISTURBED] = "disturbed",
                                       [WITHHELD_UNSTEADY] = "unsteady",
                                       [WITHHELD_BOUND] = "bound",
                                       [WITHHELD_CONTROL] = "control" };
    char reason[512] = "";
    FILE *to = fmemopen(reason, sizeof reason - 1, "w");

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for a verdict");
    claim_tell_why_withheld(k, to);
    fclose(to);
    record_text(r, "withheld", key[k->withheld]);
    record_text(r, "withheld_reason", k->withheld ? reason : NULL);
    return RC_OK;
}

static enum rc write_claim(struct report *to, const struct claims *all, const struct claim *k)
{
    const double ratio = ratio_of(k);
    const bool has_interval = !all->campaign->is_virtual && !isnan(ratio);
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "verdict"));
    record_text(r, "model", k->a->workload->module.name);
    record_text(r, "quantity", quantity_of(k));
    record_side(r, "a", all->campaign, k->a);
    record_side(r, "b", all->campaign, k->b);
    record_f64(r, "ratio", ratio);
    record_f64(r, "low_ratio", has_interval ? k->x.ratio_low : (double)NAN);
    record_f64(r, "high_ratio", has_interval ? k->x.ratio_high : (double)NAN);
    record_f64(r, "p_value", has_interval && claim_is_tested(all, k) ? k->x.p : (double)NAN);
    record_u64(r, "pairs_count", k->x.n_pairs);
    record_u64(r, "disturbed_pairs_count", pairs_n_marked(k->a, k->b, MARK_DISTURBED));
    record_u64(r, "unsteady_pairs_count", pairs_n_marked(k->a, k->b, MARK_UNSTEADY));
    record_text(r, "result", result_of(all, k, ratio));
    TRY(record_withheld(r, k));
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

static enum rc write_verdicts(const struct campaign *c)
{
    char path[CAMPAIGN_DIR_BYTES + 32];
    struct report *to = NULL;
    struct claims all = { .claim = NULL };
    enum rc rc;

    path_of(path, c, VERDICTS);
    TRY(claims_open(&all, c));
    TRY(report_open(&to, path));
    for (size_t i = 0; i < all.n_claims; i++)
        TRY(write_claim(to, &all, &all.claim[i]));
    TRY(report_commit(to));
out:
    report_close(&to);
    claims_close(&all);
    return rc;
}

static enum rc write_answer(const struct campaign *c)
{
    char path[CAMPAIGN_DIR_BYTES + 32];
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    path_of(path, c, ANSWER);
    TRY(atomic_file_open(&file, path));
    TRY(campaign_answer(c, file.stream));
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc campaign_keep_verdicts(const struct campaign *c)
{
    enum rc rc;

    TRY(write_answer(c));
    TRY(write_verdicts(c));
out:
    return rc;
}

void campaign_remove_verdicts(const struct campaign *c)
{
    static const char *const name[] = { ANSWER, VERDICTS };
    char path[CAMPAIGN_DIR_BYTES + 32];

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        path_of(path, c, name[i]);
        (void)unlink(path);
    }
}
