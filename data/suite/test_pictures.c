/* SPDX-License-Identifier: Apache-2.0 */
/* test_pictures.c - see test_pictures.h. */
#include "data/suite/test_pictures.h"
#include "harness/base/suite/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum { MAX_SCANS = 800 };

static void append(png_structp png, png_bytep bytes, size_t n_bytes)
{
    struct test_bytes *out = png_get_io_ptr(png);
    uint8_t *grown = realloc(out->bytes, out->n_bytes + n_bytes);

    assert_non_null(grown);
    memcpy(grown + out->n_bytes, bytes, n_bytes);
    out->bytes = grown;
    out->n_bytes += n_bytes;
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void set_palette(png_structp png, png_infop info, bool transparent)
{
    static const png_byte alpha[] = { 255, 128 };
    png_color colour[256];

    for (int i = 0; i < 256; i++)
        colour[i] = (png_color){ (png_byte)i, (png_byte)(255 - i), 7 };
    png_set_PLTE(png, info, colour, 256);
    if (transparent)
        png_set_tRNS(png, info, alpha, 2, NULL);
}

struct test_bytes test_encode_png(const struct test_png *p, const uint8_t *rows, size_t row_bytes)
{
    struct test_bytes out = { .bytes = NULL };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;

    assert_non_null(info);
    if (setjmp(png_jmpbuf(png)) != 0)
        fail_msg("libpng does not encode");
    png_set_write_fn(png, &out, append, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32)p->W, (png_uint_32)p->H, p->bit_depth, p->color_type,
                 p->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (p->color_type == PNG_COLOR_TYPE_PALETTE)
        set_palette(png, info, p->transparent);
    png_write_info(png, info);
    for (int n_left = png_set_interlace_handling(png); n_left > 0; n_left--)
        for (int y = 0; y < p->H; y++)
            png_write_row(png, rows + (size_t)y * row_bytes);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return out;
}

/* Every scan but the first of a component's DC refines, or begins, one coefficient of one component. */
static int make_scans(jpeg_scan_info *scan, int n_scans)
{
    int n = 0;

    scan[n++] = (jpeg_scan_info){ 3, { 0, 1, 2 }, 0, 0, 0, 0 };
    for (int low = 3; low >= 0; low--)
        for (int k = 1; k < 64; k++)
            for (int c = 0; c < 3 && n < n_scans; c++)
                scan[n++] = (jpeg_scan_info){ 1, { c }, k, k, low == 3 ? 0 : low + 1, low };
    return n;
}

struct test_bytes test_encode_jpeg(const struct test_jpeg *j, const uint8_t *pixels)
{
    static const J_COLOR_SPACE space[] = { 0, JCS_GRAYSCALE, 0, JCS_RGB, JCS_CMYK };
    struct jpeg_compress_struct jpeg;
    jpeg_scan_info scan[MAX_SCANS];
    struct jpeg_error_mgr error;
    unsigned char *bytes = NULL;
    unsigned long n_bytes = 0;

    jpeg.err = jpeg_std_error(&error); /* which ends the test */
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &n_bytes);
    jpeg.image_height = (JDIMENSION)j->H;
    jpeg.image_width = (JDIMENSION)j->W;
    jpeg.input_components = j->n_channels;
    jpeg.in_color_space = space[j->n_channels];
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    if (j->n_scans > 0) {
        assert_true(j->n_scans <= MAX_SCANS);
        jpeg.num_scans = make_scans(scan, j->n_scans);
        jpeg.scan_info = scan;
    }
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPLE row[4 * 256];
        JSAMPROW from = row;
        assert_true((size_t)j->W * (size_t)j->n_channels <= sizeof row);
        memcpy(row, pixels + (size_t)jpeg.next_scanline * (size_t)j->W * (size_t)j->n_channels,
               (size_t)j->W * (size_t)j->n_channels);
        (void)jpeg_write_scanlines(&jpeg, &from, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return (struct test_bytes){ bytes, (size_t)n_bytes };
}

uint8_t test_smooth_pixel(int y, int x, int c, int shade)
{
    return (uint8_t)(40 + 3 * y + 2 * x + 5 * c + shade);
}

static uint8_t *smooth(int H, int W, int shade)
{
    uint8_t *pixels = malloc((size_t)H * (size_t)W * 3), *next = pixels;

    assert_non_null(pixels);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < 3; c++)
                *next++ = test_smooth_pixel(y, x, c, shade);
    return pixels;
}

struct test_bytes test_smooth_png(int H, int W, int shade)
{
    const struct test_png png = { .H = H, .W = W, .bit_depth = 8, .color_type = PNG_COLOR_TYPE_RGB };
    uint8_t *pixels = smooth(H, W, shade);
    const struct test_bytes out = test_encode_png(&png, pixels, (size_t)W * 3);

    free(pixels);
    return out;
}

struct test_bytes test_smooth_jpeg(int H, int W, int shade)
{
    const struct test_jpeg jpeg = { .H = H, .W = W, .n_channels = 3 };
    uint8_t *pixels = smooth(H, W, shade);
    const struct test_bytes out = test_encode_jpeg(&jpeg, pixels);

    free(pixels);
    return out;
}
