/* SPDX-License-Identifier: Apache-2.0 */
/* file_data.h - images from files behind --data: they decide what the user does not, and must suit the network. */
#ifndef HARNESS_TRAIN_FILE_DATA_H
#define HARNESS_TRAIN_FILE_DATA_H

#include "data/dataset.h"
#include "models/engine/network.h"

/* *image_size, *classes: 0 becomes the file's. *out: the caller's, also after an error. RC_INVAL, RC_IO and whatever
 * dataset_open_path() gives: says --data, the path and what is wrong. */
enum rc file_data_open(struct dataset **out, const char *path, uint64_t *image_size, uint64_t *classes) MUST_CHECK;
/* path: or what the message shall call it. RC_INVAL: channels, size or classes of the images are not the network's. */
enum rc file_data_check(const struct dataset *d, const char *path, const struct network *n) MUST_CHECK;

#endif
