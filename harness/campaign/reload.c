/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.c - the launches of a campaign that is continued, out of its records.
 *
 * Records are in pieces: a launch, from its manifest to its summary; all trials of a point; a launch that failed. A
 * piece that is not whole was being written when the process was killed; so it is the last one, and the launch is made
 * again. A line that is damaged before others is no work of a signal, but of a crash of the machine, or of its disk, or
 * somebody changed it: its seal does not fit (report/seal.h). The piece it is of is left out and made again, all others
 * are kept, and sealed anew. Where one of them needs it (launch i + 1 of a point launch i, launches the trials of their
 * rate) the file is refused, and stays as it is.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/campaign/begun.h"

struct byte_range {
    uint64_t begin, end; /* behind the last one */
};

struct reload {
    struct sweep *s;
    size_t *order; /* of `block`: [n_points]; owned */
    size_t block;
    size_t n_line;
    struct point *point; /* of the launch whose records are read; NULL: none is begun */
    FILE *piece;         /* its records so far, into text */
    char *text;
    size_t n_text_bytes;
    uint64_t n_read;         /* bytes, with the line under way */
    uint64_t piece_begin;    /* of the piece under way */
    struct byte_range *kept; /* the whole pieces, neighbours as one: [n_kept]; owned */
    size_t n_kept;
    size_t n_damaged, damaged_line; /* lines; the first */
    bool is_skipping;               /* behind a damaged line, what may be the rest of its piece */
    bool is_sealed, is_unsealed;    /* both false: no record was read yet (seal.E1) */
    struct seal seal, kept_seal;    /* of the line read last; of the end of the last whole piece */
};

static enum rc misfit(const struct reload *l, const char *why)
{
    return rc_raise(RC_MISMATCH, "%s, line %zu: %s", l->s->campaign.runs.temporary_path, l->n_line, why);
}

/* A whole number from 0 to most - 1; false: it is none. */
static bool index_at(size_t *out, const json_t *r, const char *key, size_t most)
{
    const json_t *value = json_object_get(r, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= (json_int_t)most)
        return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

/* The point of a record, by its block and its place in it. */
static enum rc point_of_record(struct reload *l, const json_t *r, struct point **out)
{
    struct campaign *c = &l->s->campaign;
    size_t block, position;
    enum rc rc = RC_OK;

    if (!index_at(&block, r, "launch_index", c->n_launches_wanted) ||
        !index_at(&position, r, "block_position", c->n_points))
        return misfit(l, "is a record of no launch of this campaign");
    if (block != l->block) {
        TRY(campaign_block_order(l->order, c, l->s->order_seed, block));
        l->block = block;
    }
    *out = &c->point[l->order[position]];
    if ((*out)->n_launches < block && l->n_damaged > 0)
        FAIL(RC_MISMATCH,
             "%s, line %zu: is damaged, and line %zu is of launch %zu of a point whose launch %zu is not there: "
             "mend it, or cut the file off before it",
             c->runs.temporary_path, l->damaged_line, l->n_line, block, (*out)->n_launches);
    if ((*out)->n_launches != block)
        FAIL(RC_MISMATCH, "%s, line %zu: launch %zu of a point whose next is %zu", c->runs.temporary_path, l->n_line,
             block, (*out)->n_launches);
out:
    return rc;
}

static enum rc note_failure(const struct reload *l, const json_t *r)
{
    struct point *p = campaign_point_of(&l->s->campaign, r);

    if (!p)
        return misfit(l, "is a failure of no point of this campaign");
    point_retake_failure(p, r);
    return RC_OK;
}

static void drop_piece(struct reload *l)
{
    if (l->piece)
        fclose(l->piece);
    free(l->text);
    l->piece = NULL;
    l->text = NULL;
    l->point = NULL;
}

/* The host of a rank, where it is new. */
static enum rc note_host(struct campaign *c, const json_t *r)
{
    const char *host = json_string_value(json_object_get(r, "host"));
    char listed[80], *longer = NULL;

    snprintf(listed, sizeof listed, "|%.64s|", host ? host : "");
    if (!host || !host[0] || (c->hosts && strstr(c->hosts, listed)))
        return RC_OK;
    if (asprintf(&longer, "%s%s", c->hosts ? c->hosts : "|", listed + 1) < 0)
        return rc_raise(RC_NOMEM, "no memory for the name of a host");
    free(c->hosts);
    c->hosts = longer;
    return RC_OK;
}

/* A record of a launch, the first of which begins a piece, and the summary ends it. */
static enum rc add_to_launch(struct reload *l, const json_t *r, const char *line, size_t n_bytes, bool *is_whole)
{
    const char *kind = json_string_value(json_object_get(r, "kind"));
    struct point *p = NULL;
    enum rc rc;

    TRY(point_of_record(l, r, &p));
    if (l->point && p != l->point)
        TRY(misfit(l, "begins a launch in the midst of another one"));
    if (!l->piece) {
        l->piece = open_memstream(&l->text, &l->n_text_bytes);
        if (!l->piece)
            FAIL(RC_NOMEM, "no memory for the records of a launch");
        l->point = p;
    }
    if (fwrite(line, 1, n_bytes, l->piece) != n_bytes || fflush(l->piece) != 0)
        FAIL(RC_NOMEM, "no memory for the records of a launch");
    if (strcmp(kind, "rank") == 0)
        TRY(note_host(&l->s->campaign, r));
    *is_whole = strcmp(kind, "summary") == 0;
    if (*is_whole) {
        TRY(campaign_retake(&l->s->campaign, p, l->text, l->n_text_bytes));
        drop_piece(l);
    }
out:
    return rc;
}

/* *is_whole: a piece ends with this line. */
static enum rc take_line(struct reload *l, const json_t *r, const char *line, size_t n_bytes, bool *is_whole)
{
    const char *kind = json_string_value(json_object_get(r, "kind"));
    const bool is_failure = kind && strcmp(kind, "failure") == 0, is_trial = kind && strcmp(kind, "tuning") == 0;

    *is_whole = is_failure;
    if (!kind)
        return misfit(l, "is no record");
    if (l->point && (is_failure || is_trial))
        return misfit(l, "is in the midst of a launch");
    if (is_failure)
        return note_failure(l, r);
    if (!is_trial)
        return add_to_launch(l, r, line, n_bytes, is_whole);
    return sweep_retake_trial(l->s, r, is_whole) == RC_OK ? RC_OK : misfit(l, rc_message());
}

/* Lines behind a damaged one may be the rest of the same piece. */
static bool begins_a_piece(const struct reload *l, const json_t *r)
{
    const char *kind = json_string_value(json_object_get(r, "kind"));

    return kind && (strcmp(kind, "manifest") == 0 || strcmp(kind, "failure") == 0 ||
                    (strcmp(kind, "tuning") == 0 && sweep_begins_trials(l->s, r)));
}

static bool ends_a_launch(const json_t *r)
{
    const char *kind = json_string_value(json_object_get(r, "kind"));

    return kind && strcmp(kind, "summary") == 0;
}

/* The piece that l->n_line is of is none. */
static void note_damage(struct reload *l)
{
    if (l->n_damaged++ == 0)
        l->damaged_line = l->n_line;
    drop_piece(l);
    l->s->tuning.n_retaken = 0;
    l->is_skipping = true;
}

/* A piece ends where l->n_read is. */
static enum rc keep_piece(struct reload *l)
{
    struct byte_range *last = l->n_kept > 0 ? &l->kept[l->n_kept - 1] : NULL;

    l->kept_seal = l->seal;
    if (last && last->end == l->piece_begin) {
        last->end = l->n_read;
        return RC_OK;
    }
    struct byte_range *grown = realloc(l->kept, (l->n_kept + 1) * sizeof *grown);
    if (!grown)
        return rc_raise(RC_NOMEM, "no memory for the pieces of the records");
    l->kept = grown;
    l->kept[l->n_kept++] = (struct byte_range){ l->piece_begin, l->n_read };
    return RC_OK;
}

/* A line that is a record. */
static enum rc read_record(struct reload *l, const json_t *r, const char *line, size_t n_bytes)
{
    bool is_whole = false;
    enum rc rc = RC_OK;

    if (l->is_skipping && !begins_a_piece(l, r)) {
        l->is_skipping = !ends_a_launch(r);
        return RC_OK;
    }
    l->is_skipping = false;
    if (!l->point && l->s->tuning.n_retaken == 0)
        l->piece_begin = l->n_read - n_bytes;
    TRY(take_line(l, r, line, n_bytes, &is_whole));
    if (is_whole)
        TRY(keep_piece(l));
out:
    return rc;
}

/* Is a record as it was written? */
static bool is_sound(struct reload *l, enum seal_found found)
{
    if (!l->is_sealed && !l->is_unsealed) {
        l->is_sealed = found != SEAL_NONE;
        l->is_unsealed = !l->is_sealed;
    }
    return found == (l->is_sealed ? SEAL_FITS : SEAL_NONE);
}

static enum rc take_lines(struct reload *l)
{
    FILE *from = l->s->campaign.runs.stream;
    char *line = NULL;
    size_t n_room = 0;
    json_t *r = NULL;
    enum rc rc = RC_OK;

    for (ssize_t n; (n = getline(&line, &n_room, from)) > 0; json_decref(r), r = NULL) {
        l->n_read += (uint64_t)n;
        l->n_line++;
        if (line[n - 1] != '\n') /* it is the last, and was being written */
            break;
        const enum seal_found found = seal_check(&l->seal, line, (size_t)n);
        r = json_loadb(line, (size_t)n, 0, NULL);
        if (r && is_sound(l, found))
            TRY(read_record(l, r, line, (size_t)n));
        else
            note_damage(l);
    }
    if (ferror(from))
        FAIL(RC_IO, "%s: cannot be read", l->s->campaign.runs.temporary_path);
out:
    json_decref(r);
    free(line);
    return rc;
}

/* Without its trials a point would have launches at another rate than those to come. */
static enum rc check_trials(const struct reload *l)
{
    const struct point *p = l->n_damaged > 0 ? sweep_find_untried(l->s) : NULL;
    char name[LAUNCH_NAME_BYTES];

    if (!p)
        return RC_OK;
    point_name(name, sizeof name, p);
    return rc_raise(RC_MISMATCH,
                    "%s, line %zu: is damaged, and so the trials are not whole that the rate of %.150s was chosen by: "
                    "mend it, or cut the file off before it",
                    l->s->campaign.runs.temporary_path, l->damaged_line, name);
}

/* The kept pieces, n_bytes in all, one behind the other and sealed anew; what the file was is out->aside. */
static enum rc join_kept(struct reload *l, size_t n_bytes, struct left_out *out)
{
    struct atomic_file *runs = &l->s->campaign.runs;
    char *text = malloc(n_bytes + 1), *sealed = NULL;
    struct seal seal = { "" };
    enum rc rc = RC_OK;

    if (!text)
        return rc_raise(RC_NOMEM, "no memory for the records that are kept");
    for (size_t i = 0, n_read = 0; i < l->n_kept; i++) {
        const size_t n = (size_t)(l->kept[i].end - l->kept[i].begin);
        if (pread(fileno(runs->stream), text + n_read, n, (off_t)l->kept[i].begin) != (ssize_t)n)
            FAIL(RC_IO, "%s: cannot be read", runs->temporary_path);
        n_read += n;
    }
    if (l->is_sealed)
        TRY(seal_lines(&seal, &sealed, &n_bytes, text, n_bytes));
    TRY(partial_file_replace(runs, sealed ? sealed : text, n_bytes, out->aside, sizeof out->aside));
    l->kept_seal = seal;
out:
    free(sealed);
    free(text);
    return rc;
}

/* What is not kept leaves the file: a piece that had not ended is cut off; behind damage all pieces are kept. */
static enum rc leave_out(struct reload *l, struct left_out *out)
{
    struct atomic_file *runs = &l->s->campaign.runs;
    uint64_t n_kept_bytes = 0;
    struct stat about;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < l->n_kept; i++)
        n_kept_bytes += l->kept[i].end - l->kept[i].begin;
    if (fstat(fileno(runs->stream), &about) != 0)
        FAIL(RC_IO, "%s: cannot be read", runs->temporary_path);
    *out = (struct left_out){ .n_bytes = (uint64_t)about.st_size - n_kept_bytes,
                              .n_lines = l->n_damaged,
                              .damaged_line = l->damaged_line };
    if (l->n_damaged > 0)
        TRY(join_kept(l, n_kept_bytes, out));
    else if (out->n_bytes > 0)
        TRY(partial_file_cut(runs, n_kept_bytes));
    l->s->campaign.seal = l->kept_seal;
    l->s->campaign.is_unsealed = l->is_unsealed && n_kept_bytes > 0;
out:
    return rc;
}

enum rc sweep_reload(struct sweep *s, struct left_out *out)
{
    struct reload l = { .s = s, .block = SIZE_MAX };
    enum rc rc;

    l.order = malloc(s->campaign.n_points * sizeof *l.order);
    if (!l.order)
        FAIL(RC_NOMEM, "no memory for the order of %zu points", s->campaign.n_points);
    TRY(take_lines(&l));
    s->tuning.n_retaken = 0; /* of a point whose trials are not all there */
    TRY(check_trials(&l));
    TRY(leave_out(&l, out));
    s->spent_before_s = s->campaign.spent_s;
out:
    drop_piece(&l);
    free(l.kept);
    free(l.order);
    return rc;
}
