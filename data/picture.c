/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c - which decoder a file needs, and what all decoders share. */
#include "data/picture.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/pixels.h"

enum rc picture_alloc(struct picture *out, const char *path, uint64_t H, uint64_t W)
{
    if (H == 0 || W == 0)
        return rc_raise(RC_INVAL, "%s: claims to be %llu x %llu pixels", path, (unsigned long long)H,
                        (unsigned long long)W);
    if (H > PICTURE_MAX_SIDE || W > PICTURE_MAX_SIDE || H * W > PICTURE_MAX_PIXELS)
        return rc_raise(RC_INVAL, "%s: claims to be %llu x %llu pixels; at most %d on a side and %d in all are decoded",
                        path, (unsigned long long)H, (unsigned long long)W, PICTURE_MAX_SIDE, PICTURE_MAX_PIXELS);
    out->rgb = malloc((size_t)(H * W * 3));
    if (out->rgb == NULL)
        return rc_raise(RC_NOMEM, "%s: no memory for %llu x %llu pixels", path, (unsigned long long)H,
                        (unsigned long long)W);
    out->H = (int)H;
    out->W = (int)W;
    return RC_OK;
}

void picture_free(struct picture *p)
{
    free(p->rgb);
    *p = (struct picture){ .rgb = NULL };
}

enum rc picture_decode(struct picture *out, const char *path, const uint8_t *bytes, size_t n_bytes)
{
    static const uint8_t png[] = { 0x89, 'P', 'N', 'G' };
    struct picture p = { .rgb = NULL };
    enum rc rc;

    if (n_bytes >= 2 && bytes[0] == 0xff && bytes[1] == 0xd8)
        TRY(picture_decode_jpeg(&p, path, bytes, n_bytes));
    else if (n_bytes >= sizeof png && memcmp(bytes, png, sizeof png) == 0)
        TRY(picture_decode_png(&p, path, bytes, n_bytes));
    else
        FAIL(RC_INVAL, "%s: is not a JPEG or PNG file", path);
    *out = p;
    p.rgb = NULL;
out:
    picture_free(&p);
    return rc;
}

enum rc picture_read(struct picture *out, const char *path)
{
    struct pixels_file file = { .path = NULL };
    uint8_t *bytes = NULL;
    enum rc rc;

    TRY(pixels_file_open(&file, path));
    if (file.n_bytes > PICTURE_MAX_FILE_BYTES)
        FAIL(RC_INVAL, "%s: has %zu bytes; at most %d are decoded", path, file.n_bytes, PICTURE_MAX_FILE_BYTES);
    bytes = malloc(file.n_bytes);
    if (bytes == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its %zu bytes", path, file.n_bytes);
    TRY(pixels_read(&file, 0, file.n_bytes, bytes));
    TRY(picture_decode(out, path, bytes, file.n_bytes));
out:
    free(bytes);
    pixels_file_close(&file);
    return rc;
}

/* Pillow's bilinear resize, of those rows and columns alone that the crop keeps. */

enum { FRACTION_BITS = 22 }; /* of coefficients: 8 bits of pixel and 2 of sign and overshoot fill the 32 */

/* One output index of an axis is the sum of source [first, first + n) times coefficient. */
struct window {
    int first, n;
};

struct axis {
    int n_out;    /* kept by the crop */
    int n_most;   /* coefficients at coefficient + k n_most */
    int first_in; /* of the source, all windows are in [first_in, end_in) */
    int end_in;
    struct window *window;
    int32_t *coefficient;
};

static void axis_free(struct axis *a)
{
    free(a->window);
    free(a->coefficient);
}

/* The weight of a source pixel at distance x from the centre of an output pixel: bilinear. */
static double triangle(double x)
{
    const double distance = fabs(x);

    return distance < 1.0 ? 1.0 - distance : 0.0;
}

/* Output index k of n_resized that n_in source pixels become. weight: room for n_most. */
static struct window fill_window(int32_t *coefficient, double *weight, int k, int n_in, int n_resized)
{
    const double scale = (double)n_in / n_resized, support = scale < 1.0 ? 1.0 : scale;
    const double centre = (k + 0.5) * scale;
    const double begin = centre - support + 0.5, end = centre + support + 0.5;
    struct window w = { .first = begin > 0.0 ? (int)begin : 0 };
    double sum = 0.0;

    w.n = (end < n_in ? (int)end : n_in) - w.first;
    for (int i = 0; i < w.n; i++) {
        weight[i] = triangle((i + w.first - centre + 0.5) * (1.0 / support));
        sum += weight[i];
    }
    for (int i = 0; i < w.n; i++) {
        const double share = sum != 0.0 ? weight[i] / sum : weight[i];
        coefficient[i] = (int32_t)(0.5 + share * (1 << FRACTION_BITS));
    }
    return w;
}

/* Outputs [from, from + n_out) of n_resized. */
static enum rc axis_open(struct axis *a, int n_in, int n_resized, int from, int n_out)
{
    const double scale = (double)n_in / n_resized;
    double *weight = NULL;
    enum rc rc = RC_OK;

    a->n_out = n_out;
    a->n_most = (int)ceil(scale < 1.0 ? 1.0 : scale) * 2 + 1;
    a->window = malloc((size_t)n_out * sizeof *a->window);
    a->coefficient = malloc((size_t)n_out * (size_t)a->n_most * sizeof *a->coefficient);
    weight = malloc((size_t)a->n_most * sizeof *weight);
    if (a->window == NULL || a->coefficient == NULL || weight == NULL)
        FAIL(RC_NOMEM, "no memory to resize %d pixels to %d", n_in, n_resized);
    for (int k = 0; k < n_out; k++)
        a->window[k] = fill_window(a->coefficient + (size_t)k * (size_t)a->n_most, weight, from + k, n_in, n_resized);
    a->first_in = a->window[0].first;
    a->end_in = a->window[n_out - 1].first + a->window[n_out - 1].n;
out:
    free(weight);
    return rc;
}

static uint8_t clip(int32_t sum)
{
    const int32_t value = sum >> FRACTION_BITS;

    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* out[k], k < a->n_out, of source samples in[i stride]. */
static uint8_t weighted(const struct axis *a, int k, const uint8_t *in, size_t stride)
{
    const int32_t *coefficient = a->coefficient + (size_t)k * (size_t)a->n_most;
    int32_t sum = 1 << (FRACTION_BITS - 1);

    for (int i = 0; i < a->window[k].n; i++)
        sum += in[(size_t)i * stride] * coefficient[i];
    return clip(sum);
}

/* in (H, W, n_channels) -> between (rows, columns, n_channels): the source's rows [rows->first_in, rows->end_in). */
static void resize_rows(uint8_t *between, const struct picture *p, const struct axis *columns, const struct axis *rows,
                        int n_channels)
{
    for (int y = rows->first_in; y < rows->end_in; y++)
        for (int k = 0; k < columns->n_out; k++)
            for (int c = 0; c < n_channels; c++)
                *between++ = weighted(
                    columns, k,
                    p->rgb + ((size_t)y * (size_t)p->W + (size_t)columns->window[k].first) * (size_t)n_channels +
                        (size_t)c,
                    (size_t)n_channels);
}

/* between -> out (n_channels, rows, columns). */
static void resize_columns(uint8_t *out, const uint8_t *between, const struct axis *columns, const struct axis *rows,
                           int n_channels)
{
    const size_t row_bytes = (size_t)columns->n_out * (size_t)n_channels;

    for (int c = 0; c < n_channels; c++)
        for (int k = 0; k < rows->n_out; k++) {
            const uint8_t *first = between + (size_t)(rows->window[k].first - rows->first_in) * row_bytes + c;
            for (int x = 0; x < columns->n_out; x++)
                *out++ = weighted(rows, k, first + (size_t)x * (size_t)n_channels, row_bytes);
        }
}

/* (H, W, 3) -> (H, W, 1), in place. */
static void make_grey(struct picture *p)
{
    const size_t n_pixels = (size_t)p->H * (size_t)p->W;

    for (size_t i = 0; i < n_pixels; i++) {
        const uint8_t *rgb = p->rgb + 3 * i;
        p->rgb[i] = (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
    }
}

/* Where the middle begins: half of what is over, to even (Python's round). */
static int crop_begin(int n_resized, int image_size)
{
    const int over = n_resized - image_size, half = over / 2;

    return over % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

int picture_crop_usual_side(int image_size)
{
    return (image_size * 256 + 112) / 224;
}

enum rc picture_crop(uint8_t *out, struct picture *p, const struct picture_crop *crop, const char *path)
{
    const int n_short = p->H < p->W ? p->H : p->W, n_long = p->H < p->W ? p->W : p->H;
    const int64_t longer = (int64_t)crop->resize_side * n_long / n_short;
    const int H = p->H <= p->W ? crop->resize_side : (int)longer, W = p->H <= p->W ? (int)longer : crop->resize_side;
    struct axis columns = { .window = NULL }, rows = { .window = NULL };
    uint8_t *between = NULL;
    enum rc rc = RC_OK;

    assert(crop->image_size <= crop->resize_side && (crop->channels == 1 || crop->channels == 3));
    if (longer > PICTURE_MAX_SIDE)
        FAIL(RC_INVAL, "%s: %d x %d pixels: with %d on the shorter side it would be %lld long", path, p->H, p->W,
             crop->resize_side, (long long)longer);
    TRY(axis_open(&columns, p->W, W, crop_begin(W, crop->image_size), crop->image_size));
    TRY(axis_open(&rows, p->H, H, crop_begin(H, crop->image_size), crop->image_size));
    between = malloc((size_t)(rows.end_in - rows.first_in) * (size_t)columns.n_out * (size_t)crop->channels);
    if (between == NULL)
        FAIL(RC_NOMEM, "%s: no memory to resize it", path);
    if (crop->channels == 1)
        make_grey(p);
    resize_rows(between, p, &columns, &rows, crop->channels);
    resize_columns(out, between, &columns, &rows, crop->channels);
out:
    free(between);
    axis_free(&columns);
    axis_free(&rows);
    return rc;
}
