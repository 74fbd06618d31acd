/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.c - what a campaign says below its figures: failed launches, points that did not learn, encryption, scaling.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/campaign/campaign.h"
#include "harness/report/record.h"

static enum rc print_failure(const struct campaign *c, const struct point *p, size_t block_position, const char *why,
                             FILE *to)
{
    struct record *r = record_open("failure");

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
    const enum rc rc = record_print(r, to);
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

/* Which points of a campaign did not learn: their throughput is real, their comparison says little. */

size_t point_n_unlearned(const struct point *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_launches; i++)
        n += p->launch[i].did_not_learn;
    return n;
}

void campaign_tell_unlearned(const struct campaign *c, FILE *to)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        const size_t n_unlearned = point_n_unlearned(p);
        char name[LAUNCH_NAME_BYTES];
        if (n_unlearned == 0)
            continue;
        point_name(name, sizeof name, p);
        fprintf(to, "%s: did not learn in %zu of %zu launch%s%s%s.\n", name, n_unlearned, p->n_launches,
                p->n_launches == 1 ? "" : "es", p->not_learned[0] ? ": " : "", p->not_learned);
    }
}

void points_tell_unlearned(const struct point *a, const struct point *b, FILE *to)
{
    const struct point *const of[] = { a, b };
    const char *before = "; but ";

    for (int i = 0; i < 2; i++) {
        const size_t n_unlearned = point_n_unlearned(of[i]);
        if (n_unlearned == 0)
            continue;
        fprintf(to, "%s%s did not learn in %zu of %zu launch%s", before, of[i]->mode->name, n_unlearned,
                of[i]->n_launches, of[i]->n_launches == 1 ? "" : "es");
        before = ", ";
    }
}

/* Which modes of a campaign were encrypted: figures of one that was are not quite those of one that was
 * not. */

/* Is there a point before i with the same mode and encryption? */
static bool was_named(const struct campaign *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (c->point[k].mode == c->point[i].mode && strcmp(c->point[k].encryption, c->point[i].encryption) == 0)
            return true;
    return false;
}

void campaign_tell_encryption(const struct campaign *c, FILE *to)
{
    static const struct {
        const char *encryption, *says;
    } kind[] = { { "curve", "Encrypted on the network, by CURVE" },
                 { "clear", "In clear on the network" } }; /* local: there was no network */

    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        const char *before = ": ";
        for (size_t i = 0; i < c->n_points; i++)
            if (strcmp(c->point[i].encryption, kind[k].encryption) == 0 && !was_named(c, i)) {
                fprintf(to, "%s%s%s", before[0] == ':' ? kind[k].says : "", before, c->point[i].mode->name);
                before = ", ";
            }
        if (before[0] != ':')
            fputs(".\n", to);
    }
}

/* What is the same at every number of workers: each worker's batch (weak scaling), or that of all (strong).
 */

bool campaign_scales_strongly(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].global_batch_count > 0)
            return true;
    return false;
}

void point_scaling_text(char *out, size_t n_bytes, const struct point *p)
{
    if (p->global_batch_count > 0)
        snprintf(out, n_bytes, "strong scaling: batch %llu of all workers", (unsigned long long)p->global_batch_count);
    else
        snprintf(out, n_bytes, "weak scaling: batch %llu per worker", (unsigned long long)p->batch_per_worker_count);
}

/* The global batch of all points; 0: not all have the same. */
static uint64_t common_global_batch(const struct campaign *c)
{
    uint64_t common = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const uint64_t own = c->point[i].global_batch_count;
        if (c->point[i].n_launches == 0)
            continue;
        if (own == 0 || (common > 0 && own != common))
            return 0;
        common = own;
    }
    return common;
}

void campaign_tell_scaling(const struct campaign *c, FILE *to)
{
    const uint64_t common = common_global_batch(c);

    if (!campaign_scales_strongly(c))
        return;
    if (common > 0)
        fprintf(to,
                "Strong scaling: a round has %llu samples at every number of workers, each worker its part of them.\n",
                (unsigned long long)common);
    else
        fprintf(to, "Strong scaling: a round has as many samples at every number of workers, each worker its part of "
                    "them.\n");
}
