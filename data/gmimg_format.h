/* SPDX-License-Identifier: Apache-2.0 */
/* gmimg_format.h - the offsets of gmimg.h's table, and its checksum. Private to this module. */
#ifndef DATA_GMIMG_FORMAT_H
#define DATA_GMIMG_FORMAT_H

#include <sodium.h>

enum {
    GMIMG_OFFSET_SHAPE = 8, /* C, H, W, n_classes */
    GMIMG_OFFSET_N_IMAGES = 24,
    GMIMG_OFFSET_BLOCK_IMAGES = 32,
    GMIMG_OFFSET_INDEX_SUM = 40,
    GMIMG_OFFSET_HEADER_SUM = 56,
    GMIMG_OFFSET_ZERO_4 = 36, /* nothing yet: zero */
    GMIMG_OFFSET_ZERO_8 = 72,
    GMIMG_HEADER_BYTES = 80,
    GMIMG_SUM_BYTES = crypto_generichash_BYTES_MIN,
    GMIMG_LABEL_BYTES = 4,
    GMIMG_MAX_SIDE = 8192,
    GMIMG_MAX_CHANNELS = 64,
    GMIMG_MAX_CLASSES = 1000000,
};
#define GMIMG_MAGIC "GMIMG01" /* and its zero byte */

static inline void gmimg_sum(unsigned char out[GMIMG_SUM_BYTES], const unsigned char *bytes, size_t n_bytes)
{
    (void)crypto_generichash(out, GMIMG_SUM_BYTES, bytes, n_bytes, NULL, 0); /* can't fail: sizes are in range */
}

#endif
