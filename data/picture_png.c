/* SPDX-License-Identifier: Apache-2.0 */
/* picture_png.c - PNG files by libpng. */
#include "data/picture.h"

#if GRADMARK_HAVE_PNG
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

struct png_reader {
    png_structp png;
    png_infop info;
    jmp_buf back;
    const char *path;
    const uint8_t *bytes;
    size_t n_bytes, offset_bytes;
    char why[128];
    struct picture picture;
};

static void leave(png_structp png, png_const_charp why)
{
    struct png_reader *r = png_get_error_ptr(png);

    snprintf(r->why, sizeof r->why, "%s", why);
    longjmp(r->back, 1);
}

/* Of chunks without which the pixels are the same. */
static void ignore(png_structp png, png_const_charp why)
{
    (void)png;
    (void)why;
}

static void read_bytes(png_structp png, png_bytep out, size_t n_bytes)
{
    struct png_reader *r = png_get_io_ptr(png);

    if (n_bytes > r->n_bytes - r->offset_bytes)
        png_error(png, "the file ends early");
    memcpy(out, r->bytes + r->offset_bytes, n_bytes);
    r->offset_bytes += n_bytes;
}

/* Whatever the file holds, rows come as RGB of 8 bits. */
static int convert(struct png_reader *r)
{
    png_set_expand(r->png); /* palettes, grey of 1, 2 and 4 bits, transparency as a channel, ... */
    png_set_strip_16(r->png);
    png_set_strip_alpha(r->png); /* ... which is dropped */
    png_set_gray_to_rgb(r->png);
    const int n_passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    if (png_get_rowbytes(r->png, r->info) != (size_t)r->picture.W * 3)
        png_error(r->png, "its rows cannot be converted to RGB");
    return n_passes;
}

/* libpng leaves through r->back on errors: nothing that is needed then is a local variable. */
static enum rc decode(struct png_reader *r)
{
    enum rc rc;

    if (setjmp(r->back) != 0)
        return rc_raise(RC_INVAL, "%s: PNG: %s", r->path, r->why);
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* picture_alloc() limits them, and says so */
    png_set_chunk_malloc_max(r->png, PICTURE_MAX_CHUNK_BYTES);
    png_set_read_fn(r->png, r, read_bytes);
    png_read_info(r->png, r->info);
    TRY(picture_alloc(&r->picture, r->path, png_get_image_height(r->png, r->info),
                      png_get_image_width(r->png, r->info)));
    for (int n_left = convert(r); n_left > 0; n_left--)
        for (int y = 0; y < r->picture.H; y++)
            png_read_row(r->png, r->picture.rgb + (size_t)y * (size_t)r->picture.W * 3, NULL);
    png_read_end(r->png, NULL);
out:
    return rc;
}

enum rc picture_decode_png(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes)
{
    struct png_reader r = { .path = path, .bytes = bytes, .n_bytes = n_bytes };
    enum rc rc = RC_OK;

    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, leave, ignore);
    r.info = r.png != NULL ? png_create_info_struct(r.png) : NULL;
    if (r.info == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a PNG decoder", path);
    TRY(decode(&r));
    *out = r.picture;
    r.picture.rgb = NULL;
out:
    png_destroy_read_struct(&r.png, &r.info, NULL); /* accepts NULL */
    picture_free(&r.picture);
    return rc;
}

#else

enum rc picture_decode_png(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes)
{
    (void)out;
    (void)bytes;
    (void)n_bytes;
    return rc_raise(RC_UNSUPPORTED, "%s: is a PNG file; %s", path, GRADMARK_PNG_WHY_NOT);
}

#endif
