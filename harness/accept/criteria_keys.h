/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_keys.h - the table of what a criteria file says: one row for each member of struct criteria (C1). */
#ifndef HARNESS_ACCEPT_CRITERIA_KEYS_H
#define HARNESS_ACCEPT_CRITERIA_KEYS_H

#include "harness/accept/criteria.h"
#include "harness/base/key_table.h"

extern const struct key criteria_keys[]; /* [CRITERIA_N_KEYS] */
extern const struct key_table criteria_key_table;
enum { CRITERIA_N_KEYS = 39 };

/* c->runs := what stages says, and does one value contradict another? RC_INVAL names what would be right, for a message
 * behind place and key; *key: which. */
enum rc criteria_settle(struct criteria *c, int *key) MUST_CHECK;

#endif
