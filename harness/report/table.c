/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - cells are kept as text until the table is printed, because only then widths are known.
 *
 * Widths are counted from UTF-8 itself, not asked of the C library: its answer depends on the locale,
 * and a table in a log must be aligned in all of them.
 */
#include "harness/report/table.h"

#include "harness/base/terminal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GAP_COLUMNS = 2 /* between two columns */ };

struct row {
    char **cell; /* [n_columns], NULL: empty; NULL: a rule */
};

struct table {
    struct column *column;
    size_t n_columns;
    struct row *row;
    size_t n_rows, n_rows_reserved;
    size_t next_column; /* of the last row; 0: the next cell begins a row */
    bool failed;        /* an allocation failed: a cell or a rule is missing */
};

/* Of the whole process, as standard output is. */
static struct table_diversion *diversion;

/* Code points that take no column (combining marks, joiners, variation selectors) and those that take
 * two (East Asian wide, emoji): the blocks that names and marks in our tables can come from. */
static size_t point_width(uint32_t point)
{
    static const struct {
        uint32_t first, last;
        size_t width;
    } range[] = {
        { 0x0300, 0x036f, 0 }, { 0x200b, 0x200f, 0 },   { 0x20d0, 0x20ff, 0 },   { 0xfe00, 0xfe0f, 0 },
        { 0xfeff, 0xfeff, 0 }, { 0x1100, 0x115f, 2 },   { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
        { 0xac00, 0xd7a3, 2 }, { 0xf900, 0xfaff, 2 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
        { 0xffe0, 0xffe6, 2 }, { 0x1f300, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
    };

    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (point >= range[i].first && point <= range[i].last)
            return range[i].width;
    return 1;
}

/* Terminal columns of n_bytes of UTF-8; a byte that is not UTF-8 counts as one. */
static size_t text_width(const char *text, size_t n_bytes)
{
    const unsigned char *s = (const unsigned char *)text, *end = s + n_bytes;
    size_t n_columns = 0;

    while (s < end) {
        size_t n_more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 0;
        uint32_t point = n_more ? *s & (0x3fu >> n_more) : *s;

        for (s++; n_more > 0 && (*s & 0xc0) == 0x80; n_more--)
            point = point << 6 | (*s++ & 0x3f);
        n_columns += point_width(point);
    }
    return n_columns;
}

struct table *table_open(const struct column *column, size_t n_columns)
{
    struct table *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->column = calloc(n_columns, sizeof *t->column);
    t->failed = !t->column;
    for (size_t i = 0; i < n_columns && !t->failed; i++) {
        t->column[i].align = column[i].align;
        t->column[i].title = strdup(column[i].title);
        t->n_columns = i + 1;
        t->failed = !t->column[i].title;
    }
    return t;
}

/* Begin a row: a rule, or n_columns empty cells. */
static void add_row(struct table *t, bool is_rule)
{
    char **cell = is_rule ? NULL : calloc(t->n_columns, sizeof *cell);

    if (t->n_rows == t->n_rows_reserved) {
        const size_t n = t->n_rows_reserved ? 2 * t->n_rows_reserved : 16;
        struct row *row = realloc(t->row, n * sizeof *row);

        t->failed = t->failed || !row;
        t->row = row ? row : t->row;
        t->n_rows_reserved = row ? n : t->n_rows_reserved;
    }
    t->failed = t->failed || (!is_rule && !cell);
    if (t->failed)
        free(cell);
    else
        t->row[t->n_rows++].cell = cell;
}

void table_cell(struct table *t, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    if (t && !t->failed && t->next_column == 0)
        add_row(t, false);
    if (!t || t->failed)
        return;
    va_start(ap, fmt);
    t->failed = vasprintf(&text, fmt, ap) < 0;
    va_end(ap);
    t->row[t->n_rows - 1].cell[t->next_column] = t->failed ? NULL : text;
    t->next_column = (t->next_column + 1) % t->n_columns;
}

void table_rule(struct table *t)
{
    if (!t || t->failed)
        return;
    t->next_column = 0; /* an unfinished row is finished with empty cells */
    add_row(t, true);
}

enum rc table_check(const struct table *t)
{
    return t && !t->failed ? RC_OK : rc_raise(RC_NOMEM, "no memory for a table");
}

size_t table_n_columns(const struct table *t)
{
    return t ? t->n_columns : 0;
}

size_t table_n_rows(const struct table *t)
{
    return t ? t->n_rows : 0;
}

const struct column *table_column(const struct table *t, size_t i)
{
    return &t->column[i];
}

const char *table_text(const struct table *t, size_t row, size_t column)
{
    char *const *cell = t->row[row].cell;

    return !cell ? NULL : cell[column] ? cell[column] : "";
}

/* --- as comma-separated values --- */

/* In quotes, which are doubled within, where a reader would part it. */
static void print_csv_field(FILE *to, const char *text, char end)
{
    const bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (is_quoted)
        fputc('"', to);
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            fputc('"', to);
        fputc(*c, to);
    }
    if (is_quoted)
        fputc('"', to);
    fputc(end, to);
}

/* Has another column the title of this one? */
static bool is_repeated(const struct table *t, size_t column)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (i != column && strcmp(t->column[i].title, t->column[column].title) == 0)
            return true;
    return false;
}

/* Titles are names by which programs find a column: one that stands twice has its neighbour's before it. */
static void print_csv_title(const struct table *t, FILE *to, size_t i)
{
    const char end = i + 1 < t->n_columns ? ',' : '\n';
    char title[256];

    if (i > 0 && is_repeated(t, i)) {
        snprintf(title, sizeof title, "%s: %s", t->column[i - 1].title, t->column[i].title);
        print_csv_field(to, title, end);
    } else
        print_csv_field(to, t->column[i].title, end);
}

enum rc table_print_csv(const struct table *t, FILE *to)
{
    enum rc rc;

    TRY(table_check(t));
    for (size_t i = 0; i < t->n_columns; i++)
        print_csv_title(t, to, i);
    for (size_t r = 0; r < t->n_rows; r++)
        for (size_t i = 0; i < t->n_columns && t->row[r].cell; i++)
            print_csv_field(to, table_text(t, r, i), i + 1 < t->n_columns ? ',' : '\n');
out:
    return rc;
}

void table_divert(struct table_diversion *d)
{
    diversion = d;
}

/* Is the table for another stream? */
static bool is_diverted(FILE *to)
{
    return diversion && to == diversion->from;
}

static enum rc print_diverted(const struct table *t)
{
    if (diversion->n_tables++ > 0)
        fputc('\n', diversion->to);
    return table_print_csv(t, diversion->to);
}

/* *width: an array for the widths of all columns, which the caller frees. */
static enum rc begin_print(size_t **width, const struct table *t)
{
    enum rc rc;

    TRY(table_check(t));
    *width = malloc(t->n_columns * sizeof **width);
    if (!*width)
        FAIL(RC_NOMEM, "no memory for a table of %zu columns", t->n_columns);
out:
    return rc;
}

/* --- for people --- */

static void pad(FILE *to, const char *with, size_t n)
{
    while (n-- > 0)
        fputs(with, to);
}

/* Blanks are owed, not printed, until something follows: no line ends in a blank. */
static size_t print_cell(FILE *to, const char *text, size_t n_bytes, enum align align, size_t width, size_t n_owed)
{
    const size_t n_blank = width - text_width(text, n_bytes);

    if (n_bytes == 0)
        return n_owed + width;
    pad(to, " ", align == ALIGN_RIGHT ? n_owed + n_blank : n_owed);
    fwrite(text, 1, n_bytes, to);
    return align == ALIGN_RIGHT ? 0 : n_blank;
}

/* Of the first word of text. A % belongs to the number before it. */
static size_t word_bytes(const char *text)
{
    size_t n = strcspn(text, " ");

    while (text[n] == ' ' && text[n + 1] == '%')
        n += 1 + strcspn(text + n + 1, " ");
    return n;
}

/* Of the first line of text, which is broken between words so that lines fit width; a longer word stands alone. */
static size_t line_bytes(const char *text, size_t width)
{
    size_t n = word_bytes(text);

    if (text_width(text, strlen(text)) <= width)
        return strlen(text);
    for (size_t end = n; text[end];) {
        end += strspn(text + end, " ");
        end += word_bytes(text + end);
        if (text_width(text, end) > width)
            break;
        n = end;
    }
    return n;
}

/* Line k of text; at its end: "". */
static const char *find_line(const char *text, size_t width, size_t k)
{
    for (; k > 0 && *text; k--) {
        text += line_bytes(text, width);
        text += strspn(text, " ");
    }
    return text;
}

static size_t count_lines(const char *text, size_t width)
{
    size_t n = 1;

    while (*find_line(text, width, n))
        n++;
    return n;
}

/* Some columns of a table: the first n_keys, and those from `from` to before `end`. */
struct part {
    size_t n_keys, from, end;
};

static bool has_column(const struct part *p, size_t i)
{
    return i < p->n_keys || (i >= p->from && i < p->end);
}

static void print_rule(FILE *to, const size_t *width, const struct part *p)
{
    for (size_t i = 0; i < p->end; i++)
        if (has_column(p, i)) {
            pad(to, "-", width[i]);
            pad(to, " ", i + 1 < p->end ? GAP_COLUMNS : 0);
        }
    fputc('\n', to);
}

static const size_t titles = SIZE_MAX; /* the row of the titles */

static const char *cell_text(const struct table *t, size_t row, size_t column)
{
    return row == titles ? t->column[column].title : table_text(t, row, column);
}

/* In as many lines as its longest cell needs. Titles end above the rule, other cells begin in the first line. */
static void print_row(const struct table *t, FILE *to, const size_t *width, const struct part *p, size_t row)
{
    size_t n_lines = 1;

    for (size_t i = 0; i < p->end; i++) {
        const size_t n = has_column(p, i) ? count_lines(cell_text(t, row, i), width[i]) : 1;
        n_lines = n > n_lines ? n : n_lines;
    }
    for (size_t k = 0, n_owed = 0; k < n_lines; k++, n_owed = 0) {
        for (size_t i = 0; i < p->end; i++) {
            if (!has_column(p, i))
                continue;
            const char *text = cell_text(t, row, i);
            const size_t n_empty = row == titles ? n_lines - count_lines(text, width[i]) : 0;
            const char *line = k < n_empty ? "" : find_line(text, width[i], k - n_empty);
            n_owed =
                print_cell(to, line, line_bytes(line, width[i]), t->column[i].align, width[i], n_owed) + GAP_COLUMNS;
        }
        fputc('\n', to);
    }
}

static void print_part(const struct table *t, FILE *to, const size_t *width, const struct part *p)
{
    print_row(t, to, width, p, titles);
    print_rule(to, width, p);
    for (size_t r = 0; r < t->n_rows; r++)
        if (t->row[r].cell)
            print_row(t, to, width, p, r);
        else
            print_rule(to, width, p);
}

/* Columns that the longest word of text needs. */
static size_t longest_word(const char *text)
{
    size_t widest = 0;

    for (size_t n; *text; text += n + strspn(text + n, " ")) {
        n = word_bytes(text);
        widest = text_width(text, n) > widest ? text_width(text, n) : widest;
    }
    return widest;
}

/* How lines of a column may be broken. */
enum breaks { BREAK_NOTHING, BREAK_TITLE, BREAK_ALL };

/* Columns of the terminal that table column i needs. */
static size_t column_width(const struct table *t, size_t i, enum breaks breaks)
{
    const char *title = t->column[i].title;
    size_t widest = breaks == BREAK_NOTHING ? text_width(title, strlen(title)) : longest_word(title);

    for (size_t r = 0; r < t->n_rows; r++) {
        const char *text = t->row[r].cell ? table_text(t, r, i) : "";
        const size_t n = breaks == BREAK_ALL ? longest_word(text) : text_width(text, strlen(text));
        widest = n > widest ? n : widest;
    }
    return widest > 0 ? widest : 1;
}

static size_t table_width(const struct table *t, const size_t *width)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_columns; i++)
        n += width[i] + (i > 0 ? GAP_COLUMNS : 0);
    return n;
}

/* Makes columns of words narrower, the widest first, until lines fit. False: they do not. */
static bool break_words(const struct table *t, size_t *width, size_t n_most)
{
    enum { LEAST = 16 }; /* narrower columns of words are hard to read */

    for (size_t n; (n = table_width(t, width)) > n_most;) {
        size_t widest = 0, most = 0;
        for (size_t i = 0; i < t->n_columns; i++) {
            const size_t word = column_width(t, i, BREAK_ALL), least = word > LEAST ? word : LEAST;
            const size_t n_spare = t->column[i].align == ALIGN_LEFT && width[i] > least ? width[i] - least : 0;
            if (n_spare > most) {
                widest = i;
                most = n_spare;
            }
        }
        if (most == 0)
            return false;
        width[widest] -= n - n_most < most ? n - n_most : most;
    }
    return true;
}

static size_t set_widths(const struct table *t, size_t *width, enum breaks breaks)
{
    for (size_t i = 0; i < t->n_columns; i++)
        width[i] = column_width(t, i, breaks);
    return table_width(t, width);
}

/* Breaks titles, then words, until lines have at most n_most columns. False: they do not; only titles are broken. */
static bool fit(const struct table *t, size_t *width, size_t n_most)
{
    if (set_widths(t, width, BREAK_TITLE) <= n_most || break_words(t, width, n_most))
        return true;
    set_widths(t, width, BREAK_TITLE);
    return false;
}

static void print_parts(const struct table *t, FILE *to, const size_t *width, size_t n_keys, size_t n_most)
{
    struct part p = { .n_keys = n_keys };
    size_t n_key_columns = 0;

    for (size_t i = 0; i < n_keys; i++)
        n_key_columns += width[i] + GAP_COLUMNS;
    for (p.end = n_keys; p.end < t->n_columns;) {
        size_t n_columns = n_key_columns;
        p.from = p.end;
        while (p.end < t->n_columns && (p.end == p.from || n_columns + width[p.end] <= n_most))
            n_columns += width[p.end++] + GAP_COLUMNS;
        if (p.from > n_keys)
            fputc('\n', to);
        print_part(t, to, width, &p);
    }
}

static bool is_alike(const struct table *t, size_t a, size_t b, size_t n_columns)
{
    for (size_t i = 0; i < n_columns; i++)
        if (strcmp(cell_text(t, a, i), cell_text(t, b, i)) != 0)
            return false;
    return true;
}

static bool tells_rows_apart(const struct table *t, size_t n_columns)
{
    for (size_t a = 0; a < t->n_rows; a++)
        for (size_t b = 0; b < a; b++)
            if (t->row[a].cell && t->row[b].cell && is_alike(t, a, b, n_columns))
                return false;
    return true;
}

/* The first columns that tell rows apart; if they take more than half of a line, the first column alone. */
static size_t find_keys(const struct table *t, const size_t *width, size_t n_most)
{
    size_t n_columns = 0;

    for (size_t n = 1; n < t->n_columns; n++) {
        n_columns += width[n - 1] + GAP_COLUMNS;
        if (2 * n_columns > n_most)
            return 1;
        if (tells_rows_apart(t, n))
            return n;
    }
    return 1;
}

/* n_keys 0: of its own choice. */
static enum rc print_fitting(const struct table *t, size_t n_keys, bool breaks, FILE *to)
{
    const size_t n_most = (size_t)terminal_line_columns(to);
    size_t *width = NULL;
    enum rc rc;

    if (is_diverted(to))
        return print_diverted(t);
    TRY(begin_print(&width, t));
    if (set_widths(t, width, BREAK_NOTHING) <= n_most || (breaks && fit(t, width, n_most)) ||
        t->n_columns <= (n_keys > 0 ? n_keys : 1))
        print_part(t, to, width, &(struct part){ .end = t->n_columns });
    else
        print_parts(t, to, width, n_keys > 0 ? n_keys : find_keys(t, width, n_most), n_most);
out:
    free(width);
    return rc;
}

enum rc table_print(const struct table *t, FILE *to)
{
    return print_fitting(t, 0, true, to);
}

enum rc table_finish(struct table *t, FILE *to)
{
    const enum rc rc = table_print(t, to);

    table_close(&t);
    return rc;
}

enum rc table_print_parts(const struct table *t, size_t n_keys, FILE *to)
{
    return print_fitting(t, n_keys, false, to);
}

enum rc table_print_named(const struct table *t, FILE *to)
{
    size_t n_before;
    enum rc rc;

    if (is_diverted(to))
        return print_diverted(t);
    TRY(table_check(t));
    n_before = column_width(t, 0, BREAK_NOTHING) + GAP_COLUMNS;
    for (size_t r = 0; r < t->n_rows; r++) {
        if (!t->row[r].cell)
            continue;
        fputs(table_text(t, r, 0), to);
        pad(to, " ", n_before - text_width(table_text(t, r, 0), strlen(table_text(t, r, 0))));
        terminal_fill(to, table_text(t, r, 1), (int)n_before, terminal_line_columns(to));
    }
out:
    return rc;
}

void table_close(struct table **t)
{
    if (!*t)
        return;
    for (size_t r = 0; r < (*t)->n_rows; r++) {
        for (size_t i = 0; (*t)->row[r].cell && i < (*t)->n_columns; i++)
            free((*t)->row[r].cell[i]);
        free((*t)->row[r].cell);
    }
    for (size_t i = 0; i < (*t)->n_columns; i++)
        free((char *)(uintptr_t)(*t)->column[i].title);
    free((*t)->column);
    free((*t)->row);
    free(*t);
    *t = NULL;
}
