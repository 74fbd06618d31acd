/* SPDX-License-Identifier: Apache-2.0 */
/* max_batch.c - see max_batch.h. */
#include "harness/train/max_batch.h"

#include <stdio.h>

enum rc max_batch_text(char text[MAX_BATCH_TEXT_BYTES], size_t too_large, size_t unit, double available_bytes,
                       max_batch_bytes_fn *bytes, const void *arg)
{
    size_t fits = 0, exceeds = too_large / unit; /* units */
    enum rc rc = RC_OK;

    while (fits + 1 < exceeds) {
        const size_t middle = fits + (exceeds - fits) / 2;
        double n_bytes;
        TRY(bytes(arg, middle * unit, &n_bytes));
        *(n_bytes <= available_bytes ? &fits : &exceeds) = middle;
    }
    if (fits > 0)
        snprintf(text, MAX_BATCH_TEXT_BYTES, "--batch %zu fits", fits * unit);
    else
        snprintf(text, MAX_BATCH_TEXT_BYTES, "not even --batch %zu fits", unit);
out:
    return rc;
}
