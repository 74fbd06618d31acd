/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lesson.h - what a lab shows: figures and pictures on one page, and the same on the terminal.
 *
 * Calls come in the order in which a reader sees them.
 */
#ifndef HARNESS_LABS_LESSON_H
#define HARNESS_LABS_LESSON_H

#include "harness/labs/lab.h"
#include "harness/report/chart.h"
#include "harness/report/html.h"

struct atomic_file;
struct squares;
struct training_path;

struct lesson {
    const struct lab_env *env; /* borrowed */
    struct html page;
};

/* A file of the folder. RC_IO. */
enum rc lesson_file(struct atomic_file *out, const struct lab_env *env, const char *name) MUST_CHECK;
/* Start FOLDER/report.html. RC_IO, RC_NOMEM. */
enum rc lesson_open(struct lesson *out, const struct lab_env *env, const char *title) MUST_CHECK;
/* The same, of a page with a script of its own: html_open_with(). */
enum rc lesson_open_with(struct lesson *out, const struct lab_env *env, const char *title,
                         const char *script) MUST_CHECK;
/* On the page alone. */
void lesson_heading(struct lesson *l, const char *text);
/* A paragraph, on the page alone. */
void lesson_text(struct lesson *l, const char *text);
/* On both. */
enum rc lesson_table(struct lesson *l, const struct table *t, const char *caption) MUST_CHECK;
/* Draw NAME.tsv of the folder by scripts/gnuplot/SCRIPT.gp: NAME.svg and NAME.png, on the page; with env->in_text as
 * text on the terminal, too. RC_UNSUPPORTED: there is no gnuplot; RC_IO: it failed. */
enum rc lesson_picture(struct lesson *l, const char *script, const char *name, const char *caption,
                       const struct chart_var *var, int n_vars) MUST_CHECK;
/* The same by path.gp: paths over the loss of the linear model, with its least point; on_top: "first" or "last". */
enum rc lesson_paths(struct lesson *l, const char *name, const char *heading, const char *caption, const char *on_top,
                     const struct squares *loss) MUST_CHECK;
/* Draw NAME.tsv by a script that draws one picture after the other: NAME.gif, on the page alone. Errors: as
 * lesson_picture(). */
enum rc lesson_moving_picture(struct lesson *l, const char *script, const char *name, const char *caption,
                              const struct chart_var *var, int n_vars) MUST_CHECK;
/* The picture of NAME.tsv's data by another name: PICTURE.svg and PICTURE.png. Else as lesson_picture(). */
enum rc lesson_picture_of(struct lesson *l, const char *script, const char *data, const char *picture,
                          const char *caption, const struct chart_var *var, int n_vars) MUST_CHECK;
/* What the files slope_hist_R and offset_hist_R of training_histories() are. On both. */
void lesson_say_histories(struct lesson *l, int n_workers);
/* A heading and a list; item NULL last. On the page alone. */
void lesson_list(struct lesson *l, const char *heading, const char *const *item);
/* What a lab asks, and what to try next; NULL last in each. On the page alone. */
void lesson_questions(struct lesson *l, const char *const *question, const char *const *next);
/* A command that was run; no line of the page ends within an option of it. On the page alone. */
void lesson_command(struct lesson *l, const char *command);
/* A heading and all commands that were run; NULL last. On the page alone. */
void lesson_commands(struct lesson *l, const char *const *command);
/* RC_IO: there is no page. */
enum rc lesson_commit(struct lesson *l) MUST_CHECK;
void lesson_discard(struct lesson *l); /* no-op when not open or committed */

#endif
