/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_members.h - reads the keys of a record into a struct. Private to accept/. Cannot fail except as stated. */
#ifndef HARNESS_ACCEPT_ACCEPTANCE_MEMBERS_H
#define HARNESS_ACCEPT_ACCEPTANCE_MEMBERS_H

#include <jansson.h>

#include "harness/accept/acceptance_fields.h"

/* Read all members of `fields` from record; a keeps constants. NULL: they were read; else what is wrong with *key. */
const char *members_read(struct acceptance *a, const struct fields *fields, const json_t *record, void *into,
                         const char **key);
/* Read a record rank_order, number `kind` of them, into a. NULL: it was read; else what is wrong with *key. */
const char *members_read_order(struct acceptance *a, const json_t *record, int kind, const char **key);
/* The same for a record trained_order; there is at most one. */
const char *members_read_trained(struct acceptance *a, const json_t *record, const char **key);
/* Read a number, or null, which is NaN; a whole number from least to most. False: value is not such a number. */
bool member_f64(double *out, const json_t *value);
bool member_int(int *out, const json_t *value, int least, int most);

#endif
