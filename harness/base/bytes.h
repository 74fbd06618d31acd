/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - whole numbers in little-endian bytes, the same on every machine: headers of files and messages. */
#ifndef HARNESS_BASE_BYTES_H
#define HARNESS_BASE_BYTES_H

#include <stdint.h>

/* out[n_bytes] := the low n_bytes (1 to 8) of value; bytes_get() reads them back. Cannot fail. */
static inline void bytes_put(unsigned char *out, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        out[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t bytes_get(const unsigned char *in, int n_bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < n_bytes; i++)
        value |= (uint64_t)in[i] << (8 * i);
    return value;
}

#endif
