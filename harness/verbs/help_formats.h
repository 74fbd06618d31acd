/* SPDX-License-Identifier: Apache-2.0 */
/* help_formats.h - the option tables of subcommands in the formats of other programs. verbs: NULL-terminated. */
#ifndef HARNESS_VERBS_HELP_FORMATS_H
#define HARNESS_VERBS_HELP_FORMATS_H

#include <stdio.h>

#include "harness/verbs/verb.h"

/* A page for man(1), in the macros of man(7): for gradmark (v NULL), or for one subcommand. */
void help_print_man(FILE *to, const struct verb *const *verbs, const struct verb *v);
/* Scripts that complete gradmark's command line in a shell. */
void help_print_bash(FILE *to, const struct verb *const *verbs);
void help_print_zsh(FILE *to, const struct verb *const *verbs);
void help_print_fish(FILE *to, const struct verb *const *verbs);
/* docs/options.md */
void help_print_markdown(FILE *to, const struct verb *const *verbs);
/* docs/records.md, and the JSON Schema of all records. */
void help_print_records(FILE *to, const struct verb *const *verbs);
void help_print_json_schema(FILE *to, const struct verb *const *verbs);

#endif
