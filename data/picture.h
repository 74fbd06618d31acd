/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture.h - JPEG and PNG files, decoded to RGB. A file's first bytes decide its format, not its name.
 *
 * Results are those of Pillow's convert("RGB"). Grey is repeated, transparency is dropped, CMYK is assumed to be
 * Adobe's (inverted). Of 16 bits the upper 8 are kept. The orientation noted by a camera is not applied. One
 * difference: 16-bit grey also keeps the upper 8 bits, while Pillow (10.4 to 13.0) makes all values above 255 white.
 *
 * Invariants
 *   G1  For any bytes of a file, decoding gives a picture or a one-line error that names the file and the reason. A
 *       file that ends early or has damaged data is an error, never a picture with grey areas.
 *   G2  Memory is bounded by the limits below, for any sizes that a file claims.
 */
#ifndef DATA_PICTURE_H
#define DATA_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

enum {
    PICTURE_MAX_SIDE = 65500,          /* JPEG's own */
    PICTURE_MAX_PIXELS = 1 << 26,      /* 192 MiB as RGB; a progressive JPEG needs twice that during decoding */
    PICTURE_MAX_FILE_BYTES = 1 << 28,  /* 256 MiB */
    PICTURE_MAX_SCANS = 500,           /* of a progressive JPEG: each scan is a pass over all pixels */
    PICTURE_MAX_CHUNK_BYTES = 1 << 23, /* of a PNG's texts and profiles, uncompressed */
};

struct picture {
    int H, W;
    uint8_t *rgb; /* uint8_t (H, W, 3); owned */
};

/* Read and decode the file at path. RC_INVAL "PATH: reason"; RC_UNSUPPORTED: a format that is not built in; RC_NOMEM.
 * Any thread. */
enum rc picture_read(struct picture *out, const char *path) MUST_CHECK;
/* The same for bytes[n_bytes], read from path. */
enum rc picture_decode(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes) MUST_CHECK;
void picture_free(struct picture *p); /* accepts a zeroed one */

/* For decoders: memory for a picture of these sizes, which the file claims. RC_INVAL: over the limits; RC_NOMEM. */
enum rc picture_alloc(struct picture *out, const char *path, uint64_t H, uint64_t W) MUST_CHECK;
/* The decoders; each RC_UNSUPPORTED if its library is not built in. */
enum rc picture_decode_jpeg(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes) MUST_CHECK;
enum rc picture_decode_png(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes) MUST_CHECK;

/*
 * The middle of a picture, resized: the usual input for evaluating networks.
 *
 * Implements torchvision's transforms.Resize(resize_side) and transforms.CenterCrop(image_size) on a Pillow image. The
 * shorter side becomes resize_side, the longer side is scaled and rounded down. Resizing is bilinear, over all source
 * pixels that an output pixel covers; then the middle is cut out. The bits are those of Pillow 10.4 to 12.0:
 * coefficients of 22 bits, columns first, 8 bits between. Pillow 13.0 processes rows first if that is less work, for
 * example for tall pictures that become smaller: some bytes of those differ by 1. tf_cnn_benchmarks crops the same 87.5
 * % of the shorter side, but its samples do not cover the source.
 *
 * Sources: Pillow, src/libImaging/Resample.c; torchvision, transforms/functional.py.
 */

struct picture_crop {
    int image_size;  /* output: image_size x image_size */
    int resize_side; /* of the shorter side before the crop; >= image_size */
    int channels;    /* 3: RGB; 1: grey, (19595 R + 38470 G + 7471 B + 32768) / 65536 of the source */
};

/* The usual resize_side, 256 for 224: image_size * 256 / 224, rounded. */
int picture_crop_usual_side(int image_size);
/* out: uint8_t (channels, image_size, image_size). Changes the pixels of p if channels is 1. RC_INVAL: the longer side
 * would exceed PICTURE_MAX_SIDE; RC_NOMEM. path: the picture's, for messages. */
enum rc picture_crop(uint8_t *out, struct picture *p, const struct picture_crop *crop, const char *path) MUST_CHECK;

#endif
