/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - every message between the ranks of a run, as a table for charts and lessons.
 *
 * One row per message and end, rank after rank; within a rank, in the order in which messages ended. Columns: rank;
 * step (nan: none, as on a server); direction (send, receive); peer; tag. Then start_s and end_s (since the first
 * message of any rank began); bytes_count (of the body); header_bytes_count; offset_bytes (of the body in this rank's
 * gradients; nan: not in them); adds (1: the received values were added to the present ones).
 */
#ifndef HARNESS_TRAIN_MESSAGES_H
#define HARNESS_TRAIN_MESSAGES_H

#include "harness/train/train.h"

/* RC_INVAL: path cannot be written; RC_IO: the file is unchanged. */
enum rc messages_write(const char *path, const struct train_result *result) MUST_CHECK;

#endif
