/* SPDX-License-Identifier: Apache-2.0 */
/* lesson.c - the output of a lab: figures and pictures on one page, and the same on the terminal; see lesson.h. */
#include "harness/labs/lesson.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/parts.h"
#include "harness/labs/squares.h"

enum { PATH_BYTES = 4096, SENTENCE_BYTES = 512, MOST_PICTURE_BYTES = 4 << 20 };

extern const char lesson_style[]; /* page/: built by embed_text.cmake */

enum rc lesson_file(struct atomic_file *out, const struct lab_env *env, const char *name)
{
    char path[PATH_BYTES + 64];

    snprintf(path, sizeof path, "%s/%s", env->folder, name);
    return atomic_file_open(out, path);
}

enum rc lesson_open(struct lesson *out, const struct lab_env *env, const char *title)
{
    return lesson_open_with(out, env, title, NULL);
}

enum rc lesson_open_with(struct lesson *out, const struct lab_env *env, const char *title, const char *script)
{
    char path[PATH_BYTES + 16];

    *out = (struct lesson){ .env = env };
    snprintf(path, sizeof path, "%s/report.html", env->folder);
    return html_open_with(&out->page, path, title, lesson_style, script);
}

void lesson_heading(struct lesson *l, const char *text)
{
    html_element(l->page.file.stream, "h2", NULL, "%s", text);
}

void lesson_text(struct lesson *l, const char *text)
{
    html_element(l->page.file.stream, "p", NULL, "%s", text);
}

enum rc lesson_table(struct lesson *l, struct table *t, const char *caption)
{
    enum rc rc;

    html_element(l->page.file.stream, "p", "note", "%s", caption); /* the table's own is for screen readers */
    TRY(html_table(l->page.file.stream, t, caption));
    TRY(table_print(t, l->env->tables));
    fputc('\n', l->env->tables);
out:
    table_close(&t);
    return rc;
}

static enum rc picture(struct lesson *l, const char *script, const char *data_name, const char *name, bool moves,
                       const char *caption, const struct chart_var *var, int n_vars)
{
    char data[PATH_BYTES + 64], path[PATH_BYTES + 64];
    size_t n_bytes;
    enum rc rc;

    snprintf(data, sizeof data, "%s/%s.tsv", l->env->folder, data_name);
    snprintf(path, sizeof path, "%s/%s.%s", l->env->folder, name, moves ? "gif" : "svg");
    parts_begin(l->env, name);
    TRY((moves ? chart_animate : chart_draw)(script, data, l->env->folder, name, var, n_vars));
    TRY(html_picture(l->page.file.stream, path, caption, MOST_PICTURE_BYTES, &n_bytes));
    if (l->env->in_text && !moves)
        TRY(chart_print(script, data, var, n_vars, l->env->tables));
out:
    return rc;
}

enum rc lesson_picture(struct lesson *l, const char *script, const char *name, const char *caption,
                       const struct chart_var *var, int n_vars)
{
    return lesson_picture_of(l, script, name, name, caption, var, n_vars);
}

enum rc lesson_moving_picture(struct lesson *l, const char *script, const char *name, const char *caption,
                              const struct chart_var *var, int n_vars)
{
    return picture(l, script, name, name, true, caption, var, n_vars);
}

enum rc lesson_picture_of(struct lesson *l, const char *script, const char *data_name, const char *name,
                          const char *caption, const struct chart_var *var, int n_vars)
{
    return picture(l, script, data_name, name, false, caption, var, n_vars);
}

enum rc lesson_paths(struct lesson *l, const char *name, const char *heading, const char *caption, const char *on_top,
                     const struct squares *loss)
{
    const struct line_point least = squares_least(loss);
    const double value[4] = { loss->x, loss->xx, least.slope, least.offset };
    static const char *const of[4] = { "mean_x", "mean_xx", "least_slope", "least_offset" };
    char text[4][32];
    struct chart_var var[6] = { { "heading", heading }, { "on_top", on_top } };

    for (int i = 0; i < 4; i++) {
        snprintf(text[i], sizeof text[i], "%.17g", value[i]);
        var[i + 2] = (struct chart_var){ of[i], text[i] };
    }
    return lesson_picture(l, "path", name, caption, var, 6);
}

void lesson_say(struct lesson *l, const char *format, ...)
{
    char text[SENTENCE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lesson_text(l, text);
    fprintf(parts_text(l->env), "%s\n", text);
}

void lesson_say_histories(struct lesson *l, int n_workers)
{
    lesson_say(l,
               "Files slope_hist_0 and offset_hist_0%s: slope and offset of %s before every step and after the last, "
               "one number per line, for your own plots.",
               n_workers > 1 ? " (and _1 ...)" : "",
               n_workers > 1 ? "each worker of the last training" : "the full batch");
}

static void print_list(FILE *to, const char *const *item)
{
    fputs("<ul>\n", to);
    for (; *item; item++)
        html_element(to, "li", NULL, "%s", *item);
    fputs("</ul>\n", to);
}

void lesson_questions(struct lesson *l, const char *const *question, const char *const *next)
{
    lesson_heading(l, "Questions");
    print_list(l->page.file.stream, question);
    lesson_heading(l, "What to try next");
    lesson_text(l, "Copy a command from the end of this page, add or change the option that is named, and run it.");
    print_list(l->page.file.stream, next);
}

void lesson_command(struct lesson *l, const char *command)
{
    FILE *to = l->page.file.stream;
    char *copy = strdup(command), *rest = copy;

    if (!copy) /* as table_print() */
        return;
    fputs("<p class=\"command\">", to);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        const bool has_hyphen = strchr(word, '-') != NULL; /* behind which a line would be broken */
        fputs(word == copy ? "" : " ", to);
        fputs(has_hyphen ? "<span>" : "", to);
        html_text(to, word);
        fputs(has_hyphen ? "</span>" : "", to);
    }
    fputs("</p>\n", to);
    free(copy);
}

void lesson_commands(struct lesson *l, const char *const *command)
{
    lesson_heading(l, "What was run");
    for (; *command; command++)
        lesson_command(l, *command);
}

enum rc lesson_finish(struct lesson *l, enum rc rc)
{
    return html_finish(&l->page, rc);
}
