/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h - the verdict: a row for each criterion, findings, and the outcome of stages and of the whole (D2). Pure. */
#ifndef HARNESS_ACCEPT_JUDGE_H
#define HARNESS_ACCEPT_JUDGE_H

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"

/* Replaces findings and criteria of a by those that follow from what was measured. RC_NOMEM. */
enum rc judge(struct acceptance *a, const struct criteria *c) MUST_CHECK;

#endif
