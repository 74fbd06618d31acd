/* SPDX-License-Identifier: Apache-2.0 */
/* opt_help.h - an option as --help, a page or a shell shows it. */
#ifndef HARNESS_BASE_OPT_HELP_H
#define HARNESS_BASE_OPT_HELP_H

#include <stdio.h>

#include "harness/base/opt.h"

enum opt_detail {
    OPT_BRIEF, /* the first sentence of its help, choices, unit and default */
    OPT_WHOLE, /* all of its help */
};

enum {
    OPT_TEXT_COLUMN = 20, /* where texts begin; longer names have a separate line */
    OPT_TEXT_BYTES = 2048,
};

/* "--ring.segment-bytes". module: its module, or NULL. */
void opt_help_name(char *out, size_t n_bytes, const struct module *module, const struct opt *o);
/* The name of its value: "N", "FILE", or "off|on|auto" if that is short enough to precede the text, else "NAME". "" for
 * a switch. */
void opt_help_value(char *out, size_t n_bytes, const struct module *module, const struct opt *o);
/* Its text on one line. not_with: what it cannot be used with, which ends the whole text; "": nothing. */
void opt_help_text(char *out, size_t n_bytes, const struct module *module, const struct opt *o, enum opt_detail detail,
                   const char *not_with);
/* Name, value and text, in lines of at most n_columns. */
void opt_help_print(FILE *to, const struct module *module, const struct opt *o, enum opt_detail detail,
                    const char *not_with, int n_columns);

#endif
