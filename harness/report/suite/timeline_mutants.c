/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_mutants.c - timelines with one bug each; the suite must catch each. */
#include <inttypes.h>
#include <string.h>

#include "harness/report/suite/report_kit.h"
#include "harness/report/suite/timeline_suite.h"
#include "harness/report/timeline_pack.h"

/* --- packing ---------------------------------------------------------------------------------------------------------
 */

/* What a rank holds behind its head and names: its spans. */
static struct timeline_span *spans_of(void *bytes)
{
    struct timeline_head head;

    memcpy(&head, bytes, sizeof head);
    return (void *)((unsigned char *)bytes + sizeof head + head.n_tasks * sizeof(struct timeline_task) +
                    head.n_names * sizeof(struct timeline_name));
}

/* Of equal spans the inner one comes first. */
static enum rc pack_inner_first(void **out, size_t *n_bytes, const struct timeline_source *from)
{
    const enum rc rc = timeline_pack(out, n_bytes, from);

    if (rc == RC_OK) {
        const struct timeline_head *head = *out;
        struct timeline_span *span = spans_of(*out);

        for (uint64_t i = 0; i + 1 < head->n_spans; i++)
            if (span[i].start_ns == span[i + 1].start_ns && span[i].end_ns == span[i + 1].end_ns) {
                const struct timeline_span first = span[i];

                span[i] = span[i + 1];
                span[i + 1] = first;
            }
    }
    return rc;
}

/* What was overwritten is forgotten. */
static enum rc pack_without_lost(void **out, size_t *n_bytes, const struct timeline_source *from)
{
    const enum rc rc = timeline_pack(out, n_bytes, from);

    if (rc == RC_OK) {
        const struct timeline_head *head = *out;
        struct timeline_task *task = (void *)((unsigned char *)*out + sizeof *head);

        for (uint32_t i = 0; i < head->n_tasks; i++)
            task[i].n_lost = 0;
    }
    return rc;
}

/* A bucket of no number is bucket 0. */
static enum rc pack_with_bucket(void **out, size_t *n_bytes, const struct timeline_source *from)
{
    const enum rc rc = timeline_pack(out, n_bytes, from);

    if (rc == RC_OK) {
        const struct timeline_head *head = *out;
        struct timeline_span *span = spans_of(*out);

        for (uint64_t i = 0; i < head->n_spans; i++)
            span[i].segment = span[i].segment < 0 ? 0 : span[i].segment;
    }
    return rc;
}

/* Each rank begins at time 0. */
static enum rc pack_own_zero(void **out, size_t *n_bytes, const struct timeline_source *from)
{
    const enum rc rc = timeline_pack(out, n_bytes, from);

    if (rc == RC_OK) {
        const struct timeline_head *head = *out;
        struct timeline_span *span = spans_of(*out);
        uint64_t zero_ns = UINT64_MAX;

        for (uint64_t i = 0; i < head->n_spans; i++)
            zero_ns = span[i].start_ns < zero_ns ? span[i].start_ns : zero_ns;
        for (uint64_t i = 0; i < head->n_spans; i++) {
            span[i].start_ns -= zero_ns;
            span[i].end_ns -= zero_ns;
            span[i].submitted_ns -= span[i].submitted_ns < zero_ns ? span[i].submitted_ns : zero_ns;
        }
    }
    return rc;
}

/* --- unpacking -------------------------------------------------------------------------------------------------------
 */

/* More bytes than the head says are fine. */
static enum rc unpack_more(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank)
{
    for (size_t n = n_bytes; n > 0 && n + 100 > n_bytes; n--)
        if (timeline_unpack(out, bytes, n, rank) == RC_OK)
            return RC_OK;
    return timeline_unpack(out, bytes, n_bytes, rank);
}

/* Any rank's bytes will do. */
static enum rc unpack_any_rank(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank)
{
    struct timeline_head head = { .rank = rank };

    if (n_bytes >= sizeof head)
        memcpy(&head, bytes, sizeof head);
    return timeline_unpack(out, bytes, n_bytes, head.rank);
}

/* The output is written to before all is looked at. */
static enum rc unpack_early(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank)
{
    out->rank = rank;
    return timeline_unpack(out, bytes, n_bytes, rank);
}

/* Nobody looks at spans. */
static enum rc unpack_trusting(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank)
{
    struct timeline_head head;
    const enum rc rc = timeline_unpack(out, bytes, n_bytes, rank);

    if (rc == RC_OK || n_bytes < sizeof head || !strstr(rc_message(), "in part"))
        return rc;
    memcpy(&head, bytes, sizeof head);
    *out = (struct timeline_rank){ bytes, rank, head.n_tasks, head.n_names, head.n_spans };
    return RC_OK;
}

/* --- writing ---------------------------------------------------------------------------------------------------------
 */

typedef bool edit_fn(char *line); /* in place, never longer; false: the line is dropped */

/* Write as it should be, then edit each line. */
static enum rc write_edited(const char *path, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                            const struct record *facts, edit_fn *edit)
{
    static char text[KIT_TEXT_BYTES];
    const enum rc rc = timeline_write(path, rank, n_ranks, is_virtual, facts);
    FILE *file = rc == RC_OK ? fopen(path, "r") : NULL;

    if (!file)
        return rc;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    file = fopen(path, "w");
    for (char *line = text, *end; file && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (edit(line))
            fprintf(file, "%s\n", line);
    }
    if (file)
        fclose(file);
    return rc;
}

/* Six digits, as "%g" prints them. */
static bool edit_rounded(char *line)
{
    char *ts = strstr(line, "\"ts\":"), *end = ts ? strchr(ts, ',') : NULL;
    double value;

    if (ts && sscanf(ts, "\"ts\":%lf", &value) == 1 && value >= 1e6) {
        char number[64];

        snprintf(number, sizeof number, "%.0f.000", value);
        memcpy(ts + 5, number, strlen(number) < (size_t)(end - ts - 5) ? strlen(number) : (size_t)(end - ts - 5));
    }
    return true;
}

/* Threads without a name. */
static bool edit_unnamed(char *line)
{
    return !strstr(line, "\"thread_name\"");
}

/* Ranks and tasks without a place. */
static bool edit_unsorted(char *line)
{
    return !strstr(line, "_sort_index\"");
}

/* Virtual time is shown as real. */
static bool edit_clock(char *line)
{
    char *clock = strstr(line, "\"virtual\"");

    if (clock)
        memcpy(clock, "\"real\",  ", 9);
    return true;
}

/* All is of step 0. */
static bool edit_step(char *line)
{
    char *step = strstr(line, "\"step\":");

    if (step)
        step[7] = '0';
    return true;
}

#define WRITE(name)                                                                                            \
    static enum rc write_##name(const char *path, const struct timeline_rank *rank, int n_ranks, bool virtual, \
                                const struct record *facts)                                                    \
    {                                                                                                          \
        return write_edited(path, rank, n_ranks, virtual, facts, edit_##name);                                 \
    }
WRITE(rounded)
WRITE(unnamed)
WRITE(unsorted)
WRITE(clock)
WRITE(step)

/* An old, longer file shows through. */
static enum rc write_in_place(const char *path, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                              const struct record *facts)
{
    FILE *file = fopen(path, "r+");
    static char text[KIT_TEXT_BYTES];
    size_t n_bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    enum rc rc;

    if (file)
        fclose(file);
    rc = timeline_write(path, rank, n_ranks, is_virtual, facts);
    file = rc == RC_OK && n_bytes > 0 ? fopen(path, "a") : NULL;
    if (file) {
        fwrite(text, 1, n_bytes, file);
        fclose(file);
    }
    return rc;
}

const struct timeline_mutant timeline_mutants[] = {
    { "inner-first", { pack_inner_first, timeline_unpack, timeline_write } },
    { "without-lost", { pack_without_lost, timeline_unpack, timeline_write } },
    { "with-bucket", { pack_with_bucket, timeline_unpack, timeline_write } },
    { "own-zero", { pack_own_zero, timeline_unpack, timeline_write } },
    { "unpack-more", { timeline_pack, unpack_more, timeline_write } },
    { "any-rank", { timeline_pack, unpack_any_rank, timeline_write } },
    { "unpack-early", { timeline_pack, unpack_early, timeline_write } },
    { "trusting", { timeline_pack, unpack_trusting, timeline_write } },
    { "rounded", { timeline_pack, timeline_unpack, write_rounded } },
    { "unnamed", { timeline_pack, timeline_unpack, write_unnamed } },
    { "unsorted", { timeline_pack, timeline_unpack, write_unsorted } },
    { "clock", { timeline_pack, timeline_unpack, write_clock } },
    { "step", { timeline_pack, timeline_unpack, write_step } },
    { "in-place", { timeline_pack, timeline_unpack, write_in_place } },
    { .name = NULL },
};
