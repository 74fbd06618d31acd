/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gmimg.h - shards of raw images: a file is checked and read in place, nothing is unpacked.
 *
 * Little-endian. Header (80 bytes), labels, sums of blocks, pixels; nothing after:
 *
 *   0   8   "GMIMG01" and a zero byte
 *   8   4   C       12  4   H       16  4   W       20  4   n_classes
 *   24  8   n_images
 *   32  4   block_images: images whose pixels share a sum
 *   36  4   zero
 *   40  16  sum of the labels and of the sums of blocks
 *   56  16  sum of bytes 0 to 55
 *   72  8   zero
 *   80  4 n_images                            labels, each < n_classes
 *       16 ceil(n_images / block_images)      sum of each block's pixels
 *       n_images C H W                        pixels, one byte each, (C, H, W)
 *
 * A sum is BLAKE2b of 16 bytes (RFC 7693). Header, labels and sums are checked when a file is opened; a block when its
 * first image is requested. So opening a terabyte costs no more than reading its labels.
 */
#ifndef DATA_GMIMG_H
#define DATA_GMIMG_H

#include <sodium.h>

#include "data/pixels.h"

/* Check the block of image i (of this shard). RC_INVAL if it differs from what was written: file and offset. Any
 * thread. */
enum rc gmimg_check(const struct pixels_shard *s, size_t i) MUST_CHECK;
void gmimg_close_checks(struct pixels_checks **c); /* NULL-safe, nulls */

/* Writes a shard one image at a time: a whole file, or none. */
struct gmimg_writer;
/* For at most max_images images of shape->C, H, W and n_classes; memory for their labels is allocated at once.
 * RC_INVAL, RC_IO: path and reason; RC_NOMEM. */
enum rc gmimg_writer_open(struct gmimg_writer **out, const char *path, const struct dataset *shape,
                          size_t max_images) MUST_CHECK;
/* pixels: uint8_t (C, H, W). At most max_images calls. Write errors are reported by commit. */
void gmimg_writer_add(struct gmimg_writer *w, uint32_t label, const uint8_t *pixels);
/* Complete the file at its path. RC_INVAL: it has no image; RC_IO. */
enum rc gmimg_writer_commit(struct gmimg_writer *w) MUST_CHECK;
void gmimg_writer_close(struct gmimg_writer **w); /* NULL-safe, nulls; drops what is not committed */

/* The offsets of gmimg.h's table, and its checksum. Private to this module. */

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
