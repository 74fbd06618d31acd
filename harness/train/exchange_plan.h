/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_plan.h - what a job's exchange will send, and which of its options have no effect. */
#ifndef HARNESS_TRAIN_EXCHANGE_PLAN_H
#define HARNESS_TRAIN_EXCHANGE_PLAN_H

#include "harness/train/train.h"

enum { USELESS_EXCHANGE_BYTES = 256 };

/* Do ranks exchange anything? No if the mode has one worker and no server, nor with --omit average. Cannot fail. */
bool train_exchanges(const struct train_job *job);
/* "5 buckets, 14 pieces, overlap on (auto: workers are on 2 hosts), priority on". With servers: "14 pieces, 8 at once",
 * or "one after the other". With one piece: "all gradients at once, overlap off". RC_NOMEM. */
enum rc train_exchange_text(char *out, size_t n_bytes, const struct train_job *job,
                            const struct overlap_choice *chosen) MUST_CHECK;
/* One sentence if --overlap on, --priority on or --partition-bytes have no effect, or topk saves nothing, with what to
 * give instead; else "". It fits USELESS_EXCHANGE_BYTES. RC_NOMEM. */
enum rc train_useless_exchange(char *out, size_t n_bytes, const struct train_job *job) MUST_CHECK;

#endif
