/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - an array that grows item by item. */
#ifndef HARNESS_LABS_ARRAY_H
#define HARNESS_LABS_ARRAY_H

#include <stddef.h>

/* Make room for one more item after the first n. Returns array itself, or a larger one of *n_room items that replaces
 * it. array NULL: none yet, with *n_room 0. Returns NULL if there is no memory; array is then unchanged, and rc.h has
 * the error, which names `what` (plural). */
void *array_grow(void *array, size_t n, size_t *n_room, size_t item_bytes, const char *what);

#endif
