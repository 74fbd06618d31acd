/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - an array that grows item by item; see array.h. */
#include "harness/labs/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "harness/base/rc.h"

enum { FIRST_ITEMS = 256 };

void *array_grow(void *array, size_t n, size_t *n_room, size_t item_bytes, const char *what)
{
    const size_t n_wanted = *n_room > 0 ? 2 * *n_room : FIRST_ITEMS;
    void *larger;

    if (n < *n_room)
        return array;
    larger = n_wanted <= SIZE_MAX / item_bytes ? realloc(array, n_wanted * item_bytes) : NULL;
    if (!larger) {
        (void)rc_raise(RC_NOMEM, "no memory for %zu %s", n_wanted, what);
        return NULL;
    }
    *n_room = n_wanted;
    return larger;
}
