/* SPDX-License-Identifier: Apache-2.0 */
/* file_data.h - image files given by --data: they set what the user does not, and must fit the network. */
#ifndef HARNESS_TRAIN_FILE_DATA_H
#define HARNESS_TRAIN_FILE_DATA_H

#include "data/dataset.h"
#include "models/engine/network.h"

/* *image_size, *classes: 0 is replaced by the file's value. *out: owned by the caller, also after an error. Errors:
 * RC_INVAL, RC_IO and those of dataset_open_path(); the message has --data, the path and the problem. */
enum rc file_data_open(struct dataset **out, const char *path, uint64_t *image_size, uint64_t *classes) MUST_CHECK;
/* path: or the name to use in the message. RC_INVAL: channels, size or classes of the images differ from the
 * network's. */
enum rc file_data_check(const struct dataset *d, const char *path, const struct network *n) MUST_CHECK;

#endif
