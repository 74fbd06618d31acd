/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h - what the tables of verbs say of themselves: --help, man pages, completion of shells, docs/options.md.
 *
 * All of them walk the list of help_options(), so an option that a table has is in each of them.
 */
#ifndef HARNESS_VERBS_HELP_H
#define HARNESS_VERBS_HELP_H

#include <stdio.h>

#include "harness/base/opt_help.h"
#include "harness/verbs/verb.h"

enum { HELP_MOST_OPTIONS = 256 };

struct help_option {             /* an option of a verb */
    char topic[64];              /* the heading that it stands below; the same of neighbours */
    const struct module *module; /* whose it is; NULL: of none */
    const struct opt *opt;
    const struct verb_basics *basics; /* that name it; NULL: none */
};

/* The options of v in the order of its tables: how many. Asserts that each name in its basics and topics is one. */
int help_options(struct help_option out[HELP_MOST_OPTIONS], const struct verb *v);
/* The option with this name, "batch"; asserts that it is there. */
const struct help_option *help_option_of(const struct help_option *options, int n, const char *name);
/* Calls each(to, name) for every word of names, which have a blank between two. */
void help_each_word(const char *names, void (*each)(void *to, const char *name), void *to);
/* Line i of its usage with "gradmark NAME " before it, to out[n_bytes]; false: there is no such line. */
bool help_usage_line(char *out, size_t n_bytes, const struct verb *v, int i);

/* OPT_BRIEF: what --help prints; OPT_WHOLE: --help-all. */
void help_print(FILE *to, const struct verb *v, enum opt_detail detail);
/* gradmark help WORDS. verbs: NULL last. Returns the exit code; *unknown: the word that is neither a verb nor a page,
 * else NULL. */
int help_run(const struct verb *const *verbs, char *const *words, const char **unknown);

#endif
