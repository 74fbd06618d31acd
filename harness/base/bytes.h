/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - whole numbers in little-endian bytes, the same on every machine: headers of files and messages. */
#ifndef HARNESS_BASE_BYTES_H
#define HARNESS_BASE_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* out[n_bytes] := the low n_bytes (1 to 8) of value; bytes_get() reads them back. Cannot fail. With a constant n_bytes
 * it is one store or load; a message has a dozen of them. */
static inline void bytes_put(unsigned char *out, uint64_t value, size_t n_bytes)
{
    const uint64_t little_endian = htole64(value);

    memcpy(out, &little_endian, n_bytes);
}

static inline uint64_t bytes_get(const unsigned char *in, size_t n_bytes)
{
    uint64_t little_endian = 0;

    memcpy(&little_endian, in, n_bytes);
    return le64toh(little_endian);
}

#endif
