/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lesson.h - the output of a lab: figures and pictures on one page, and the same on the terminal.
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

/* The digits of a macro, for texts and options. */
#define LESSON_DIGITS_(number) #number
#define LESSON_DIGITS(number) LESSON_DIGITS_(number)

struct lesson {
    const struct lab_env *env; /* borrowed */
    struct html page;
};

/* Open a file of the folder. RC_IO. */
enum rc lesson_file(struct atomic_file *out, const struct lab_env *env, const char *name) MUST_CHECK;
/* Start FOLDER/report.html. RC_IO, RC_NOMEM. */
enum rc lesson_open(struct lesson *out, const struct lab_env *env, const char *title) MUST_CHECK;
/* The same, for a page with an additional script: html_open_with(). */
enum rc lesson_open_with(struct lesson *out, const struct lab_env *env, const char *title,
                         const char *script) MUST_CHECK;
/* On the page only. */
void lesson_heading(struct lesson *l, const char *text);
/* A paragraph, on the page only. */
void lesson_text(struct lesson *l, const char *text);
/* On the page and on the terminal; t is closed. */
enum rc lesson_table(struct lesson *l, struct table *t, const char *caption) MUST_CHECK;
/* Draw NAME.tsv of the folder with scripts/gnuplot/SCRIPT.gp: NAME.svg and NAME.png, on the page; if env->in_text also
 * as text on the terminal. RC_UNSUPPORTED: there is no gnuplot; RC_IO: it failed. */
enum rc lesson_picture(struct lesson *l, const char *script, const char *name, const char *caption,
                       const struct chart_var *var, int n_vars) MUST_CHECK;
/* The same with path.gp: paths over the loss of the linear model, with its least point; on_top: "first" or "last". */
enum rc lesson_paths(struct lesson *l, const char *name, const char *heading, const char *caption, const char *on_top,
                     const struct squares *loss) MUST_CHECK;
/* Draw NAME.tsv with a script that draws one picture after another: NAME.gif, on the page only. Errors: as
 * lesson_picture(). */
enum rc lesson_moving_picture(struct lesson *l, const char *script, const char *name, const char *caption,
                              const struct chart_var *var, int n_vars) MUST_CHECK;
/* A picture of the data of DATA.tsv under another name: PICTURE.svg and PICTURE.png. Otherwise as lesson_picture(). */
enum rc lesson_picture_of(struct lesson *l, const char *script, const char *data, const char *picture,
                          const char *caption, const struct chart_var *var, int n_vars) MUST_CHECK;
/* A finding, with its figures: on the page and, before the tables, on the terminal. */
void lesson_say(struct lesson *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Explain the files slope_hist_R and offset_hist_R of training_histories(). On the page and on the terminal. */
void lesson_say_histories(struct lesson *l, int n_workers);
/* The questions of a lab, and what to try next; both NULL-terminated. On the page only. */
void lesson_questions(struct lesson *l, const char *const *question, const char *const *next);
/* A command that was run; no line of the page breaks inside an option. On the page only. */
void lesson_command(struct lesson *l, const char *command);
/* A heading and all commands that were run; NULL-terminated. On the page only. */
void lesson_commands(struct lesson *l, const char *const *command);
/* html_finish() of the page. */
enum rc lesson_finish(struct lesson *l, enum rc rc) MUST_CHECK;

#endif
