/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h - which options do not go together, and why: tables of rows. Refusals, and "Not with ..." in --help-all and
 * docs/options.md, come from the rows.
 *
 * A row says: this option cannot be used, or would change nothing, where this fact holds. Whoever has a table finds out
 * which of its facts hold. What depends on numbers (a batch that has no such parts) is checked where the numbers are
 * known.
 *
 * To add a row, name the option and the fact, with the reason and the remedy, for the reader of an error.
 */
#ifndef HARNESS_BASE_RULE_H
#define HARNESS_BASE_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/opt.h"
#include "harness/base/rc.h"

/* value: only this one of the option; "topk:": those that begin so; "*": any, 0 too. NULL: any that asks for something.
 * Rows of an option stand in the order in which a user should hear of them. */
struct rule {
    const char *option, *value;
    int fact;
    const char *why;
};

struct rules {
    const struct opt *const *table; /* the options that rows may name; NULL last */
    const struct rule *row;
    int n_rows;
    /* Of each fact: how a user brings it about, for "not with ..."; NULL: it is the lack of something needed. */
    const char *const *fact_words;
    const char *const *implied; /* options that others set, too, and that count though not given; NULL last */
};

/* RC_INVAL "--OPTION VALUE: why" of the first row whose option is given and whose fact holds.
 *   holds  bool for each fact
 *   opts   the values of the options; NULL: those of the groups */
enum rc rules_check(const struct rules *rules, const bool *holds, const struct opt_group *group, int n_groups,
                    const void *opts) MUST_CHECK;
/* Why this option cannot be added; NULL: it can, as far as the rows say. */
const char *rules_why(const struct rules *rules, const bool *holds, const char *option);
enum { RULES_BYTES = 320 };
/* Appends to out[n_bytes], a text, what this option cannot be used with: "--forward-only, --compute hollow"; nothing if
 * it is in none of the tables, or no row is about it. */
void rules_words(const struct rules *rules, const struct opt *option, char *out, size_t n_bytes);

#endif
