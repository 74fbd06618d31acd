/* SPDX-License-Identifier: Apache-2.0 */
/* fitting.c - see fitting.h. */
#include "harness/train/fitting.h"

#include <stdio.h>

enum rc fitting_batch_text(char text[FITTING_TEXT_BYTES], size_t too_large, double available_bytes,
                           fitting_bytes_fn *bytes, const void *arg)
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
        snprintf(text, FITTING_TEXT_BYTES, "--batch %zu fits", fits);
    else
        snprintf(text, FITTING_TEXT_BYTES, "not even --batch 1 fits");
out:
    return rc;
}
