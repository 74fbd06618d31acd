/* SPDX-License-Identifier: Apache-2.0 */
/* refused.c - words for reasons; the contract is in refused.h. */
#include "harness/exchange/refused.h"

#include <inttypes.h>
#include <stdio.h>

const char *refused_word(enum refused why)
{
    static const char *const word[N_REFUSED] = {
        "nothing",   "stranger",  "version",    "model",    "truncated",
        "oversized", "malformed", "not_finite", "replayed", "out_of_order",
    };

    return why >= 0 && why < N_REFUSED ? word[why] : "unknown";
}

uint64_t refused_total(const uint64_t count[N_REFUSED])
{
    uint64_t total = 0;

    for (int i = 0; i < N_REFUSED; i++)
        total += count[i];
    return total;
}

void refused_text(char *out, size_t n_bytes, const uint64_t count[N_REFUSED])
{
    size_t n_used = 0;

    out[0] = '\0';
    for (int i = 0; i < N_REFUSED && n_used < n_bytes; i++)
        if (count[i] > 0) {
            const int n = snprintf(out + n_used, n_bytes - n_used, "%s%s %" PRIu64, n_used > 0 ? ", " : "",
                                   refused_word((enum refused)i), count[i]);
            n_used += n > 0 ? (size_t)n : 0;
        }
}
