/* SPDX-License-Identifier: Apache-2.0 */
/* failures.c - launches of a campaign that failed, and blocks whose launches an interruption has separated. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/campaign.h"
#include "harness/report/record.h"

static enum rc print_failure(const struct campaign *c, const struct point *p, size_t block_position, const char *why,
                             FILE *to)
{
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "failure"));
    for (int a = 0; a < p->n_assigned; a++)
        record_text(r, p->assigned[a].option, p->assigned[a].value);
    record_i64(r, "servers_count", p->n_servers);
    record_i64(r, "threads_per_worker_count", p->n_threads);
    record_text(r, "message", why);
    record_bool(r, "is_given_up", p->is_given_up);
    if (block_position != NO_BLOCK) {
        record_u64(r, "launch_index", p->n_launches);
        record_u64(r, "block_position", block_position);
    }
    if (!c->is_virtual)
        record_u64(r, "session_index", (uint64_t)c->session);
    TRY(record_print(r, to));
out:
    record_close(&r);
    return rc;
}

static void note_failure(struct point *p, bool is_trial, const char *why)
{
    char *last = is_trial ? p->failed_trial : p->failure;

    p->n_failed_trials += is_trial;
    p->n_failures += !is_trial;
    snprintf(last, FAILURE_BYTES, "%s", why);
}

void point_retake_failure(struct point *p, const json_t *r)
{
    const char *why = json_string_value(json_object_get(r, "message"));

    note_failure(p, !json_object_get(r, "launch_index"), why ? why : "");
}

enum rc campaign_fail(struct campaign *c, struct point *p, size_t block_position, const char *why)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);
    enum rc rc;

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for the record of a failed launch");
    rc = print_failure(c, p, block_position, why, to);
    if (fclose(to) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for the record of a failed launch");
    if (rc == RC_OK)
        rc = campaign_keep(c, text, n_bytes);
    free(text);
    note_failure(p, block_position == NO_BLOCK, why);
    p->n_failures_now += block_position != NO_BLOCK;
    return rc;
}

bool campaign_has_failures(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].n_failures > 0)
            return true;
    return false;
}

static void tell_failed_trials(const struct point *p, const char *name, FILE *to)
{
    if (p->n_failed_trials > 0)
        fprintf(to, "%s: %zu trial%s of a rate failed; %s: %s.\n", name, p->n_failed_trials,
                p->n_failed_trials == 1 ? "" : "s", p->n_failed_trials == 1 ? "why" : "why the last one did",
                p->failed_trial);
}

void campaign_tell_failures(const struct campaign *c, FILE *to)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        char name[LAUNCH_NAME_BYTES];
        point_name(name, sizeof name, p);
        tell_failed_trials(p, name, to);
        if (p->n_failures == 0)
            continue;
        fprintf(to, "%s: %zu launch%s failed", name, p->n_failures, p->n_failures == 1 ? "" : "es");
        if (p->is_given_up)
            fprintf(to, ", and the point was given up after %zu of %zu", p->n_launches, c->n_launches_wanted);
        else if (!p->is_fate_unknown)
            fprintf(to, ", which %s repeated in %s", p->n_failures == 1 ? "is" : "are",
                    p->n_failures == 1 ? "its block" : "their blocks");
        fprintf(to, "; %s: %s.\n", p->n_failures == 1 ? "why" : "why the last one did", p->failure);
    }
}

/* Are the launches of this block of several sessions? */
static bool is_split(const struct campaign *c, size_t block)
{
    int first = -1;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (block >= p->n_launches)
            continue;
        if (first >= 0 && p->launch[block].session != first)
            return true;
        first = p->launch[block].session;
    }
    return false;
}

void campaign_tell_sessions(const struct campaign *c, FILE *to)
{
    size_t n_split = 0;

    for (size_t block = 0; block < campaign_most_launches(c); block++)
        n_split += is_split(c, block);
    if (n_split > 0)
        fprintf(to,
                "The launches of %zu block%s were made before and after an interruption: their pairs were not made "
                "shortly after each other.\n",
                n_split, n_split == 1 ? "" : "s");
}
