/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - an array that grows item by item. */
#ifndef HARNESS_LABS_ARRAY_H
#define HARNESS_LABS_ARRAY_H

#include <stddef.h>

/* An array with room for another item behind its n: array itself (NULL: none yet, with *n_room 0), or a larger one in
 * its place, of *n_room items. NULL: no memory; array is as it was, and rc.h has the error, which names what (plural).
 */
void *array_grow(void *array, size_t n, size_t *n_room, size_t item_bytes, const char *what);

#endif
