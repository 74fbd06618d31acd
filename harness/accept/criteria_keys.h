/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_keys.h - the table of keys of a criteria file: one row for each member of struct criteria (accept.C1). */
#ifndef HARNESS_ACCEPT_CRITERIA_KEYS_H
#define HARNESS_ACCEPT_CRITERIA_KEYS_H

#include "harness/accept/criteria.h"
#include "harness/base/key_table.h"

extern const struct key criteria_keys[]; /* [CRITERIA_N_KEYS] */
extern const struct key_table criteria_key_table;
enum { CRITERIA_N_KEYS = 39 };

/* Set c->runs from stages, and check that no value contradicts another. RC_INVAL names the expected value, for a
 * message that follows place and key; *key: which key. */
enum rc criteria_settle(struct criteria *c, int *key) MUST_CHECK;

#endif
