/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture_test.c - what is decoded is what was encoded; what ends early, is damaged or claims too much is an error of
 * one line that names the file (data.G1, G2).
 *
 * usage: picture_test [ROUNDS]   of random damage
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/suite/test_pictures.h"
#include "harness/base/rng.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

enum { H = 9, W = 13 };

static uint64_t n_rounds = 1000;

static struct picture decoded(const struct test_bytes *b)
{
    struct picture p = { .rgb = NULL };

    assert_int_equal(picture_decode(&p, "a/picture", b->bytes, b->n_bytes), RC_OK);
    assert_non_null(p.rgb);
    return p;
}

/* RC_INVAL, "a/picture: ..." in one line that holds `text`. */
static void expect_refused(const uint8_t *bytes, size_t n_bytes, const char *text)
{
    struct picture p = { .rgb = NULL };

    rc_clear();
    assert_int_equal(picture_decode(&p, "a/picture", bytes, n_bytes), RC_INVAL);
    assert_null(p.rgb);
    assert_memory_equal(rc_message(), "a/picture: ", 11);
    assert_null(strchr(rc_message(), '\n'));
    if (strstr(rc_message(), text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", rc_message(), text);
}

static int n_apart(const struct picture *p, int shade, int most)
{
    int n = 0;

    for (int y = 0; y < p->H; y++)
        for (int x = 0; x < p->W; x++)
            for (int c = 0; c < 3; c++)
                n += abs(p->rgb[(y * p->W + x) * 3 + c] - test_smooth_pixel(y, x, c, shade)) > most;
    return n;
}

UNIT_TEST(rgb_comes_back)
{
    struct test_bytes png = test_smooth_png(H, W, 3), jpeg = test_smooth_jpeg(H, W, 3);
    struct picture a = decoded(&png), b = decoded(&jpeg);

    assert_true(a.H == H && a.W == W && b.H == H && b.W == W);
    assert_int_equal(n_apart(&a, 3, 0), 0);
    assert_int_equal(n_apart(&b, 3, 2), 0);
    assert_true(n_apart(&b, 9, 2) > H * W * 2); /* or the bound would say nothing */
    picture_free(&a);
    picture_free(&b);
    free(png.bytes);
    free(jpeg.bytes);
}

/* Rows (H, W, n_channels of 1 or 2 bytes) of a PNG, and which byte of a pixel red, green and blue are. */
static void expect_png(const struct test_png *png, size_t pixel_bytes, const int take[3])
{
    uint8_t rows[H * W * 8];
    const size_t row_bytes = (size_t)png->W * pixel_bytes;

    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (uint8_t)(i * 7 + i / 5);
    struct test_bytes b = test_encode_png(png, rows, row_bytes);
    struct picture p = decoded(&b);
    assert_true(p.H == png->H && p.W == png->W);
    for (size_t i = 0; i < (size_t)(H * W); i++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(p.rgb[3 * i + (size_t)c], rows[i * pixel_bytes + (size_t)take[c]]);
    picture_free(&p);
    free(b.bytes);
}

UNIT_TEST(every_kind_of_png)
{
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        const struct {
            int bit_depth, color_type;
            size_t pixel_bytes;
            int take[3];
        } kind[] = {
            { 8, 0, 1, { 0, 0, 0 } },  { 8, 2, 3, { 0, 1, 2 } },  { 8, 4, 2, { 0, 0, 0 } },  { 8, 6, 4, { 0, 1, 2 } },
            { 16, 0, 2, { 0, 0, 0 } }, { 16, 2, 6, { 0, 2, 4 } }, { 16, 6, 8, { 0, 2, 4 } },
        };
        for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
            const struct test_png png = { H, W, kind[i].bit_depth, kind[i].color_type, interlaced != 0, false };
            expect_png(&png, kind[i].pixel_bytes, kind[i].take);
        }
    }
}

UNIT_TEST(palettes_and_single_bits)
{
    static const uint8_t bits[] = { 0xa5, 0x0f }, indices[] = { 0, 1, 200, 255 };
    const struct test_png two_rows = { .H = 2, .W = 8, .bit_depth = 1, .color_type = 0 };
    const struct test_png palette = { .H = 2, .W = 2, .bit_depth = 8, .color_type = 3, .transparent = true };
    struct test_bytes b = test_encode_png(&two_rows, bits, 1);
    struct picture p = decoded(&b);

    for (int i = 0; i < 16; i++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(p.rgb[3 * i + c], (bits[i / 8] >> (7 - i % 8) & 1) * 255);
    picture_free(&p);
    free(b.bytes);
    b = test_encode_png(&palette, indices, 2);
    p = decoded(&b);
    for (int i = 0; i < 4; i++) {
        const uint8_t want[] = { indices[i], (uint8_t)(255 - indices[i]), 7 };
        assert_memory_equal(p.rgb + 3 * i, want, 3);
    }
    picture_free(&p);
    free(b.bytes);
}

UNIT_TEST(grey_and_cmyk_jpegs)
{
    const struct test_jpeg grey = { .H = 8, .W = 8, .n_channels = 1 }, cmyk = { .H = 8, .W = 8, .n_channels = 4 };
    uint8_t flat[8 * 8 * 4];

    memset(flat, 77, sizeof flat);
    struct test_bytes b = test_encode_jpeg(&grey, flat);
    struct picture p = decoded(&b);
    for (int i = 0; i < 8 * 8 * 3; i++)
        assert_in_range(p.rgb[i], 76, 78);
    picture_free(&p);
    free(b.bytes);
    for (int i = 0; i < 8 * 8; i++)
        memcpy(flat + 4 * i, (const uint8_t[]){ 255, 128, 0, 200 }, 4); /* as Adobe stores it: 255 is no ink */
    b = test_encode_jpeg(&cmyk, flat);
    p = decoded(&b);
    for (int i = 0; i < 8 * 8; i++) {
        assert_in_range(p.rgb[3 * i], 198, 202);
        assert_in_range(p.rgb[3 * i + 1], 98, 102);
        assert_in_range(p.rgb[3 * i + 2], 0, 2);
    }
    picture_free(&p);
    free(b.bytes);
}

/* Of every file but the whole one. */
UNIT_TEST(no_end_is_overlooked)
{
    struct test_bytes b[] = { test_smooth_png(H, W, 0), test_smooth_jpeg(H, W, 0) };

    for (int k = 0; k < 2; k++) {
        for (size_t n = 1; n < b[k].n_bytes; n++) {
            uint8_t *cut = malloc(n); /* to the byte: readers that go on show under the address sanitizer */
            assert_non_null(cut);
            memcpy(cut, b[k].bytes, n);
            expect_refused(cut, n, "");
            free(cut);
        }
        free(b[k].bytes);
    }
}

static uint32_t crc(const uint8_t *bytes, size_t n_bytes)
{
    uint32_t sum = 0xffffffffu;

    for (size_t i = 0; i < n_bytes; i++) {
        sum ^= bytes[i];
        for (int k = 0; k < 8; k++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

static void put_be(uint8_t *at, uint32_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        at[i] = (uint8_t)(value >> 8 * (n_bytes - 1 - i));
}

/* The sizes in IHDR, with its checksum. */
static void claim_png(uint8_t *png, uint32_t n_wide, uint32_t n_high)
{
    put_be(png + 16, n_wide, 4);
    put_be(png + 20, n_high, 4);
    put_be(png + 29, crc(png + 12, 17), 4);
}

/* The sizes in the frame header SOF0. */
static void claim_jpeg(const struct test_bytes *b, uint32_t n_wide, uint32_t n_high)
{
    for (size_t i = 0; i + 9 < b->n_bytes; i++)
        if (b->bytes[i] == 0xff && b->bytes[i + 1] == 0xc0) {
            put_be(b->bytes + i + 5, n_high, 2);
            put_be(b->bytes + i + 7, n_wide, 2);
            return;
        }
    fail_msg("no frame header");
}

UNIT_TEST(claims_are_limited)
{
    static const uint32_t claim[][2] = { { 65501, 1 }, { 1, 65501 }, { 8193, 8192 }, { 65500, 65500 } };
    struct test_bytes png = test_smooth_png(H, W, 0), jpeg = test_smooth_jpeg(H, W, 0);

    for (size_t i = 0; i < sizeof claim / sizeof *claim; i++) {
        claim_png(png.bytes, claim[i][0], claim[i][1]);
        expect_refused(png.bytes, png.n_bytes, "at most 65500 on a side and 67108864 in all");
        claim_jpeg(&jpeg, claim[i][0], claim[i][1]);
        expect_refused(jpeg.bytes, jpeg.n_bytes, i < 2 ? "" : "at most 65500 on a side and 67108864 in all");
    }
    claim_png(png.bytes, 0x7fffffff, 0x7fffffff);
    expect_refused(png.bytes, png.n_bytes, "");
    claim_png(png.bytes, 0, 5);
    expect_refused(png.bytes, png.n_bytes, "");
    claim_png(png.bytes, W, H + 1);
    expect_refused(png.bytes, png.n_bytes, "");
    claim_jpeg(&jpeg, W, H + 20);
    expect_refused(jpeg.bytes, jpeg.n_bytes, "");
    free(png.bytes);
    free(jpeg.bytes);
}

UNIT_TEST(scans_are_limited)
{
    const struct test_jpeg few = { .H = 8, .W = 8, .n_channels = 3, .n_scans = PICTURE_MAX_SCANS };
    const struct test_jpeg many = { .H = 8, .W = 8, .n_channels = 3, .n_scans = PICTURE_MAX_SCANS + 2 };
    uint8_t pixels[8 * 8 * 3];

    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 91);
    struct test_bytes b = test_encode_jpeg(&few, pixels);
    struct picture p = decoded(&b);
    picture_free(&p);
    free(b.bytes);
    b = test_encode_jpeg(&many, pixels);
    expect_refused(b.bytes, b.n_bytes, "JPEG: ");
    free(b.bytes);
}

UNIT_TEST(other_files_are_refused)
{
    struct picture p = { .rgb = NULL };

    expect_refused((const uint8_t *)"GIF89a", 6, "is not a JPEG or PNG file");
    expect_refused((const uint8_t *)"\xff", 1, "is not a JPEG or PNG file");
    expect_refused((const uint8_t *)"\x89PNG", 4, "PNG: ");
    assert_int_equal(picture_read(&p, "no/such.jpg"), RC_INVAL);
    assert_names(rc_message(), "no/such.jpg:");
}

static uint64_t n_drawn;

static uint64_t draw(uint64_t n_values)
{
    return rng_u64(17, RNG_TEST, n_drawn++) % n_values;
}

/* Headers are as likely to be hit as all the rest; what the checksums of a PNG cover is signed again in half of all
 * rounds, or nothing behind them would be reached. */
static void damage(struct test_bytes *b, const struct test_bytes *whole)
{
    memcpy(b->bytes, whole->bytes, whole->n_bytes);
    b->n_bytes = whole->n_bytes;
    for (uint64_t n = 1 + draw(3); n > 0; n--) {
        const size_t at = (size_t)draw(draw(2) == 0 && b->n_bytes > 64 ? 64 : b->n_bytes);
        if (draw(8) == 0)
            b->n_bytes = at + 1;
        else
            b->bytes[at] = (uint8_t)(draw(2) == 0 ? draw(256) : b->bytes[at] ^ 1u << draw(8));
    }
    for (size_t i = 8; draw(2) == 0 && b->bytes[0] == 0x89 && i + 12 <= b->n_bytes;) {
        const size_t n = (size_t)b->bytes[i + 2] << 8 | b->bytes[i + 3];
        if (b->bytes[i] != 0 || b->bytes[i + 1] != 0 || i + 12 + n > b->n_bytes)
            break;
        put_be(b->bytes + i + 8 + n, crc(b->bytes + i + 4, n + 4), 4);
        i += 12 + n;
    }
}

UNIT_TEST(damage_ends_in_a_line)
{
    const struct test_jpeg progressive = { .H = H, .W = W, .n_channels = 3, .n_scans = 200 };
    const struct test_png rgba = { .H = H, .W = W, .bit_depth = 8, .color_type = 6, .interlaced = true };
    uint8_t pixels[H * W * 4];
    uint64_t n_decoded = 0, n_refused = 0;

    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 5);
    struct test_bytes whole[] = { test_smooth_png(H, W, 1), test_smooth_jpeg(H, W, 1),
                                  test_encode_png(&rgba, pixels, W * 4), test_encode_jpeg(&progressive, pixels) };
    for (uint64_t round = 0; round < n_rounds; round++) {
        const struct test_bytes *from = &whole[round % 4];
        struct test_bytes bad = { malloc(from->n_bytes), 0 };
        struct picture p = { .rgb = NULL };
        assert_non_null(bad.bytes);
        damage(&bad, from);
        rc_clear();
        const enum rc rc = picture_decode(&p, "a/picture", bad.bytes, bad.n_bytes);
        assert_true(rc == RC_OK || rc == RC_INVAL);
        if (rc != RC_OK)
            assert_memory_equal(rc_message(), "a/picture: ", 11);
        else
            assert_true(p.H >= 1 && p.W >= 1 && (uint64_t)p.H * (uint64_t)p.W <= PICTURE_MAX_PIXELS);
        *(rc == RC_OK ? &n_decoded : &n_refused) += 1;
        picture_free(&p);
        free(bad.bytes);
    }
    for (int k = 0; k < 4; k++)
        free(whole[k].bytes);
    print_message("%llu decoded, %llu refused\n", (unsigned long long)n_decoded, (unsigned long long)n_refused);
    assert_true(n_decoded > n_rounds / 100 && n_refused > n_rounds / 4); /* else the damage is of the wrong kind */
}

int main(int argc, char **argv)
{
    if (argc == 2)
        n_rounds = strtoull(argv[1], NULL, 10);
    return unit_run("picture", NULL, NULL, NULL);
}
