/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload_damage_test.c - a campaign that is continued, of whose records a line is damaged, or was changed. The piece
 * it is of is left out, and all others are kept. Where one of them needs it the file is refused, and stays as it is.
 */
#include <jansson.h>

#include "harness/campaign/begun.h"
#include "harness/campaign/suite/sweep_test_kit.h"

enum { N_POINTS = 3, N_ALL = N_POINTS * MADE_LAUNCHES, MAX_LINES = 64, TEXT_BYTES = 16384 };

/* As gradmark's: from a manifest to a summary. The first launch of mode none fails. */
static const char PROGRAM[] =
    "#!/bin/sh\n"
    "dir=${0%/*}\n"
    "case \"$*\" in *--mode=none*) [ -f \"$dir/calls\" ] || { : >\"$dir/calls\"; echo 'it broke' >&2; exit 3; } ;; "
    "esac\n"
    "for word; do case $word in --out=*) out=${word#--out=} ;; esac; done\n"
    "echo '{\"kind\":\"manifest\"}\n{\"kind\":\"rank\",\"host\":\"a\"}\n{\"kind\":\"summary\"}' >\"$out\"\n";

static void open_sweep(struct sweep *s, struct kit *k)
{
    static char words[64];

    snprintf(words, sizeof words, "--world=threads --seed=41 --batch=16");
    kit_open_three(s, k, words);
    assert_true(kit_write(k, "program", PROGRAM));
}

struct line {
    const char *text; /* with its line feed */
    size_t n_bytes;
    int piece; /* of so many before it */
    bool is_failure;
    json_int_t block;
};

struct whole { /* records of a campaign that was not interrupted */
    char text[TEXT_BYTES];
    struct line line[MAX_LINES];
    int n_lines, n_pieces;
};

static void read_lines(struct whole *w)
{
    w->n_lines = w->n_pieces = 0;
    for (const char *at = w->text; *at; w->n_lines++) {
        struct line *l = &w->line[w->n_lines];
        assert_true(w->n_lines < MAX_LINES);
        l->text = at;
        l->n_bytes = strcspn(at, "\n") + 1;
        at += l->n_bytes;
        json_t *r = json_loadb(l->text, l->n_bytes, 0, NULL);
        const char *kind = json_string_value(json_object_get(r, "kind"));
        l->piece = w->n_pieces;
        l->is_failure = strcmp(kind, "failure") == 0;
        l->block = json_integer_value(json_object_get(r, "launch_index"));
        w->n_pieces += l->is_failure || strcmp(kind, "summary") == 0;
        json_decref(r);
    }
}

static void make_whole(struct whole *w, struct kit *k)
{
    struct sweep s;

    open_sweep(&s, k);
    assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    assert_int_equal(campaign_commit(&s.campaign), RC_OK);
    snprintf(w->text, sizeof w->text, "%s", kit_read(k, "runs.jsonl"));
    kit_close_three(&s);
    assert_int_equal(unlink(kit_path(k, "runs.jsonl")), 0);
    read_lines(w);
    assert_int_equal(w->n_pieces, N_ALL + 1);
    assert_int_equal(w->n_lines, 3 * N_ALL + 1);
}

enum damage { NO_JSON, OTHER_DIGIT, N_DAMAGES };

/* The file, of which lines first to last are damaged; it is in damaged[TEXT_BYTES], too. */
static void write_damaged(const struct whole *w, struct kit *k, int first, int last, enum damage damage,
                          char damaged[TEXT_BYTES])
{
    static const char key[] = "\"block_position\":";

    snprintf(damaged, TEXT_BYTES, "%s", w->text);
    for (int i = first; i <= last; i++) {
        char *line = damaged + (w->line[i].text - w->text), *digit = strstr(line, key);
        assert_non_null(digit);
        if (damage == NO_JSON)
            *line = '\a';
        else
            digit[sizeof key - 1] = digit[sizeof key - 1] == '0' ? '1' : '0';
    }
    assert_true(kit_write(k, "runs.jsonl.partial", damaged));
}

/* Without the pieces of these lines, sealed anew. */
static void what_stays(const struct whole *w, int first, int last, char text[TEXT_BYTES])
{
    struct seal seal = { "" };
    char *sealed = NULL;
    size_t n = 0;

    for (int i = 0; i < w->n_lines; i++)
        if (w->line[i].piece < w->line[first].piece || w->line[i].piece > w->line[last].piece) {
            memcpy(text + n, w->line[i].text, w->line[i].n_bytes);
            n += w->line[i].n_bytes;
        }
    assert_int_equal(seal_lines(&seal, &sealed, &n, text, n), RC_OK);
    snprintf(text, TEXT_BYTES, "%s", sealed);
    free(sealed);
}

/* Launches that the pieces of these lines are. */
static size_t n_launches_of(const struct whole *w, int first, int last)
{
    size_t n = 0;

    for (int i = first; i <= last; i++)
        n += !w->line[i].is_failure && (i == first || w->line[i].piece != w->line[i - 1].piece);
    return n;
}

static void assert_all_sealed(const char *text)
{
    struct seal seal = { "" };

    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        assert_int_equal(seal_check(&seal, line, (size_t)(end - line)), SEAL_FITS);
}

static void check_kept(const struct whole *w, struct kit *k, int first, int last, enum damage damage)
{
    char damaged[TEXT_BYTES], expected[TEXT_BYTES], aside[40];
    const size_t n_lost = n_launches_of(w, first, last);
    struct left_out left_out;
    size_t n_failures = 0;
    struct sweep s;

    write_damaged(w, k, first, last, damage, damaged);
    what_stays(w, first, last, expected);
    open_sweep(&s, k);
    assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
    if (sweep_reload(&s, &left_out) != RC_OK)
        fail_msg("lines %d to %d: %s", first, last, rc_message());
    assert_int_equal(left_out.n_lines, last - first + 1);
    assert_int_equal(left_out.damaged_line, first + 1);
    assert_int_equal(left_out.n_bytes, strlen(w->text) - strlen(expected));
    assert_string_equal(kit_read(k, "runs.jsonl.partial"), expected);
    snprintf(aside, sizeof aside, "runs.jsonl.damaged");
    assert_string_equal(left_out.aside, kit_path(k, aside));
    assert_string_equal(kit_read(k, aside), damaged);
    assert_int_equal(s.campaign.n_launches_done, N_ALL - n_lost);
    for (int i = 0; i < N_POINTS; i++)
        n_failures += s.campaign.point[i].n_failures;
    assert_int_equal(n_failures, w->line[first].is_failure ? 0 : 1);
    assert_true(kit_write(k, "calls", "")); /* none fails */
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    assert_int_equal(s.campaign.n_launches_done, N_ALL);
    assert_memory_equal(kit_read(k, "runs.jsonl.partial"), expected, strlen(expected));
    assert_all_sealed(kit_read(k, "runs.jsonl.partial"));
    kit_close_three(&s);
    assert_int_equal(unlink(kit_path(k, aside)), 0);
}

static void check_refused(const struct whole *w, struct kit *k, int line, enum damage damage)
{
    char damaged[TEXT_BYTES], expected[400];
    struct left_out left_out;
    struct sweep s;

    write_damaged(w, k, line, line, damage, damaged);
    open_sweep(&s, k);
    assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
    assert_int_equal(sweep_reload(&s, &left_out), RC_MISMATCH);
    snprintf(expected, sizeof expected, "%s, line %d: is damaged, and line ", kit_path(k, "runs.jsonl.partial"),
             line + 1);
    assert_memory_equal(rc_message(), expected, strlen(expected));
    kit_close_three(&s);
    assert_string_equal(kit_read(k, "runs.jsonl.partial"), damaged);
    assert_null(kit_read(k, "runs.jsonl.damaged"));
}

/* Each line in turn: failures, and launches of the last block, are needed by nothing. */
KIT_TEST(a_damaged_line_loses_its_piece_alone)
{
    static struct whole w;
    int n_kept = 0;

    make_whole(&w, *state);
    for (int i = 0; i < w.n_lines; i++) {
        const bool is_needed = !w.line[i].is_failure && w.line[i].block < MADE_LAUNCHES - 1;
        for (enum damage damage = 0; damage < N_DAMAGES; damage++) {
            if (is_needed)
                check_refused(&w, *state, i, damage);
            else
                check_kept(&w, *state, i, i, damage);
        }
        n_kept += !is_needed;
    }
    assert_int_equal(n_kept, 3 * N_POINTS + 1);
}

/* Several lines; the end of a launch, and the beginning of the next. */
KIT_TEST(damaged_lines_lose_their_pieces)
{
    static const struct {
        int first, last; /* from behind: the last three launches are lines 8 to 0 */
    } cases[] = { { 8, 7 }, { 7, 6 }, { 6, 5 }, { 5, 4 }, { 4, 2 }, { 7, 1 }, { 8, 0 }, { 1, 0 } };
    static struct whole w;

    make_whole(&w, *state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_kept(&w, *state, w.n_lines - 1 - cases[i].first, w.n_lines - 1 - cases[i].last, (enum damage)(i % 2));
}

UNIT_MAIN("reload_damage")
