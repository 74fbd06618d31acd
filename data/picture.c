/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c - which decoder a file needs, and what all decoders share. */
#include "data/picture.h"

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
