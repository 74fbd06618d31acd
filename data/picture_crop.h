/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture_crop.h - the middle of a picture, resized: the usual input for evaluating networks.
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
#ifndef DATA_PICTURE_CROP_H
#define DATA_PICTURE_CROP_H

#include "data/picture.h"

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
