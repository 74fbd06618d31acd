/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - every message between the ranks of a run, as a table for charts and lessons.
 *
 * A row for each message at each of its ends, ranks one after the other, those of a rank in the order in which they
 * ended: rank, step (nan: none, as on a server), direction (send, receive), peer, tag, start_s and end_s (since the
 * first message of any rank began), bytes_count (of the body), header_bytes_count, offset_bytes (of the body in this
 * rank's gradients; nan: not in them), adds (1: what was received was added to what was there).
 */
#ifndef HARNESS_TRAIN_MESSAGES_H
#define HARNESS_TRAIN_MESSAGES_H

#include "harness/train/train.h"

/* RC_INVAL: path cannot be written; RC_IO: nothing new is there. */
enum rc messages_write(const char *path, const struct train_result *result) MUST_CHECK;

#endif
