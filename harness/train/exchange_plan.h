/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_plan.h - what a job's exchange will move, and which of its options change nothing of it. */
#ifndef HARNESS_TRAIN_EXCHANGE_PLAN_H
#define HARNESS_TRAIN_EXCHANGE_PLAN_H

#include "harness/train/train.h"

enum { USELESS_EXCHANGE_BYTES = 256 };

/* Does anything cross between ranks? Not where a mode that exchanges has one worker and no server, nor with --omit
 * average. Cannot fail. */
bool train_exchanges(const struct train_job *job);
/* "5 buckets, 14 pieces, overlap on (auto: workers are on 2 hosts), priority on"; with servers "14 pieces, 8 at once",
 * or "one after the other"; of one piece "all gradients at once, overlap off". RC_NOMEM. */
enum rc train_exchange_text(char *out, size_t n_bytes, const struct train_job *job,
                            const struct overlap_choice *chosen) MUST_CHECK;
/* One sentence where --overlap on, --priority on or --partition-bytes change nothing, or topk saves nothing, with what
 * to give; else "". It
 * fits USELESS_EXCHANGE_BYTES. RC_NOMEM. */
enum rc train_useless_exchange(char *out, size_t n_bytes, const struct train_job *job) MUST_CHECK;

#endif
