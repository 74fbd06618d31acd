/* SPDX-License-Identifier: Apache-2.0 */
/* max_batch.c - see max_batch.h. */
#include "harness/train/max_batch.h"

#include <stdio.h>

enum rc max_batch_text(char text[MAX_BATCH_TEXT_BYTES], size_t too_large, double available_bytes,
                       max_batch_bytes_fn *bytes, const void *arg)
{
    size_t fits = 0;
    enum rc rc = RC_OK;

    while (fits + 1 < too_large) {
        const size_t middle = fits + (too_large - fits) / 2;
        double n_bytes;
        TRY(bytes(arg, middle, &n_bytes));
        *(n_bytes <= available_bytes ? &fits : &too_large) = middle;
    }
    if (fits > 0)
        snprintf(text, MAX_BATCH_TEXT_BYTES, "--batch %zu fits", fits);
    else
        snprintf(text, MAX_BATCH_TEXT_BYTES, "not even --batch 1 fits");
out:
    return rc;
}
