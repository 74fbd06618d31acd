/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture_jpeg.c - JPEG files by libjpeg (libjpeg-turbo is one), with its slow exact transform and smooth chroma.
 *
 * libjpeg goes on after damage with a warning, and fills what is missing with grey: such a warning ends the decoding
 * here (data.G1).
 */
#include "data/picture.h"

#if GRADMARK_HAVE_JPEG
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

struct jpeg_reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const char *path;
    struct picture picture;
    uint8_t *cmyk; /* one row; NULL: rows come as RGB */
};

static void leave(j_common_ptr jpeg)
{
    struct jpeg_reader *r = jpeg->client_data;

    longjmp(r->back, 1);
}

/* Damage that leaves every pixel as it was written. */
static bool is_harmless(int code)
{
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
}

/* libjpeg's emit_message. level: -1 for a warning, which is about damage; else how detailed a trace is. */
static void stop_at_damage(j_common_ptr jpeg, int level)
{
    if (level < 0 && !is_harmless(jpeg->err->msg_code))
        leave(jpeg);
}

static void print_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void limit_scans(j_common_ptr jpeg)
{
    if (((j_decompress_ptr)jpeg)->input_scan_number > PICTURE_MAX_SCANS)
        ERREXIT(jpeg, JERR_BAD_PROGRESSION);
}

/* (a b) / 255, rounded. */
static int of_255(int a, int b)
{
    const int product = a * b + 128;

    return ((product >> 8) + product) >> 8;
}

/* cmyk (W, 4), stored inverted -> rgb (W, 3). */
static void cmyk_to_rgb(uint8_t *rgb, const uint8_t *cmyk, int W)
{
    for (int x = 0; x < W; x++)
        for (int c = 0; c < 3; c++)
            rgb[3 * x + c] = (uint8_t)(cmyk[4 * x + 3] - of_255(255 - cmyk[4 * x + c], cmyk[4 * x + 3]));
}

static enum rc start(struct jpeg_reader *r)
{
    const bool cmyk = r->jpeg.jpeg_color_space == JCS_CMYK || r->jpeg.jpeg_color_space == JCS_YCCK;
    enum rc rc;

    TRY(picture_alloc(&r->picture, r->path, r->jpeg.image_height, r->jpeg.image_width));
    r->jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    if (cmyk) {
        r->cmyk = malloc((size_t)r->picture.W * 4);
        if (r->cmyk == NULL)
            FAIL(RC_NOMEM, "%s: no memory for a row", r->path);
    }
    (void)jpeg_start_decompress(&r->jpeg); /* suspends only where data come in parts */
out:
    return rc;
}

/* libjpeg leaves through r->back on errors: nothing that is needed then is a local variable. */
static enum rc decode(struct jpeg_reader *r, const uint8_t *bytes, size_t n_bytes)
{
    enum rc rc;

    if (setjmp(r->back) != 0) {
        char why[JMSG_LENGTH_MAX];
        r->jpeg.err->format_message((j_common_ptr)&r->jpeg, why);
        return rc_raise(r->jpeg.err->msg_code == JERR_OUT_OF_MEMORY ? RC_NOMEM : RC_INVAL, "%s: JPEG: %s", r->path,
                        why);
    }
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.client_data = r;
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, bytes, (unsigned long)n_bytes);
    (void)jpeg_read_header(&r->jpeg, TRUE);
    TRY(start(r));
    while (r->jpeg.output_scanline < r->jpeg.output_height) {
        uint8_t *row = r->picture.rgb + (size_t)r->jpeg.output_scanline * (size_t)r->picture.W * 3;
        JSAMPROW into = r->cmyk != NULL ? r->cmyk : row;
        (void)jpeg_read_scanlines(&r->jpeg, &into, 1);
        if (r->cmyk != NULL)
            cmyk_to_rgb(row, r->cmyk, r->picture.W);
    }
    (void)jpeg_finish_decompress(&r->jpeg);
out:
    return rc;
}

enum rc picture_decode_jpeg(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes)
{
    struct jpeg_reader r = { .path = path };
    enum rc rc;

    r.jpeg.err = jpeg_std_error(&r.error);
    r.jpeg.client_data = &r;
    r.error.error_exit = leave;
    r.error.emit_message = stop_at_damage;
    r.error.output_message = print_nothing;
    r.progress.progress_monitor = limit_scans;
    TRY(decode(&r, bytes, n_bytes));
    *out = r.picture;
    r.picture.rgb = NULL;
out:
    jpeg_destroy_decompress(&r.jpeg);
    free(r.cmyk);
    picture_free(&r.picture);
    return rc;
}

#else

enum rc picture_decode_jpeg(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes)
{
    (void)out;
    (void)bytes;
    (void)n_bytes;
    return rc_raise(RC_UNSUPPORTED, "%s: is a JPEG file; %s", path, GRADMARK_JPEG_WHY_NOT);
}

#endif
