/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pictures.h - JPEG and PNG files in memory, encoded by the libraries that decode them. For tests only, and only
 * where both libraries are built in. Functions assert on the calling thread.
 */
#ifndef DATA_SUITE_TEST_PICTURES_H
#define DATA_SUITE_TEST_PICTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/picture.h"

struct test_bytes {
    uint8_t *bytes; /* malloc'ed */
    size_t n_bytes;
};

/* A PNG of rows as they are stored: color_type as in png.h (0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA). The
 * palette's colour i is (i, 255 - i, 7). transparent: with a tRNS chunk (palette: index 1 is half transparent). */
struct test_png {
    int H, W, bit_depth, color_type;
    bool interlaced, transparent;
};
struct test_bytes test_encode_png(const struct test_png *png, const uint8_t *rows, size_t row_bytes);

/* A JPEG of quality 100 without chroma subsampling. n_channels: 1 grey, 3 RGB, 4 CMYK (stored as given). n_scans > 0:
 * progressive, of so many scans (1 pixel block; each refines a coefficient); 0: baseline. */
struct test_jpeg {
    int H, W, n_channels, n_scans;
};
struct test_bytes test_encode_jpeg(const struct test_jpeg *jpeg, const uint8_t *pixels);

/* A PNG or, smooth enough to be exact within 2, a JPEG (H, W, 3); byte (y, x, c) is 40 + 3 y + 2 x + 5 c + shade. */
struct test_bytes test_smooth_png(int H, int W, int shade);
struct test_bytes test_smooth_jpeg(int H, int W, int shade);
uint8_t test_smooth_pixel(int y, int x, int c, int shade);

#endif
