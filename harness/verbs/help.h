/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h - documentation from the option tables of subcommands: --help, man pages, shell completion, docs/options.md.
 *
 * All of them use the list of help_options(), so every option of a table is in each of them.
 */
#ifndef HARNESS_VERBS_HELP_H
#define HARNESS_VERBS_HELP_H

#include <stdio.h>

#include "harness/base/opt.h"
#include "harness/verbs/verb.h"

enum { HELP_MOST_OPTIONS = 256 };

struct help_option {             /* an option of a subcommand */
    char topic[64];              /* the heading above it; equal for neighbours under one heading */
    const struct module *module; /* its module; NULL: none */
    const struct opt *opt;
    const struct rules *rules;        /* of the subcommand; NULL: none */
    const struct verb_basics *basics; /* the basics that name it; NULL: none */
};

/* List the options of v in the order of its tables. Returns their number. Asserts that the names in its basics and
 * topics exist. */
int help_options(struct help_option out[HELP_MOST_OPTIONS], const struct verb *v);
/* out[n_bytes] := what the option cannot be used with: "--forward-only, --compute hollow". */
void help_not_with(const struct help_option *o, char *out, size_t n_bytes);
/* The option with this name, "batch"; asserts that it is there. */
const struct help_option *help_option_of(const struct help_option *options, int n, const char *name);
/* Call each(to, name) for every word of names, separated by blanks. */
void help_each_word(const char *names, void (*each)(void *to, const char *name), void *to);
/* out[n_bytes] := line i of its usage, after "gradmark NAME "; false: there is no such line. */
bool help_usage_line(char *out, size_t n_bytes, const struct verb *v, int i);

/* Word i that may follow gradmark help, besides subcommands: a page. out[n_bytes] may hold it. A page whose name is a
 * subcommand, too, is "NAME.md". NULL after the last. */
const char *help_page_word(int i, const struct verb *const *verbs, char *out, size_t n_bytes);
/* Format i of gradmark help --format; NULL after the last. */
const char *help_format_word(int i);

/* OPT_BRIEF: the text of --help; OPT_WHOLE: of --help-all. */
void help_print(FILE *to, const struct verb *v, enum opt_detail detail);
enum { HELP_WORD_BYTES = 64 };
/* Run gradmark help WORDS. verbs: NULL-terminated. Returns the exit code; unknown: the words that are neither a
 * subcommand, a page nor an entry of the glossary, else "". */
int help_run(const struct verb *const *verbs, char *const *words, char unknown[HELP_WORD_BYTES]);
/* out: the nearest of those words, with hyphens for blanks. Returns it; NULL: none is near. */
const char *help_nearest(char out[HELP_WORD_BYTES], const struct verb *const *verbs, const char *word);

#endif
