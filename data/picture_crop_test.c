/* SPDX-License-Identifier: Apache-2.0 */
/* picture_crop_test.c - the bits that Pillow gives (10.4 to 13.0), whose figures are here, and what needs none. */
#include <stdlib.h>
#include <string.h>

#include "data/picture.h"
#include "data/suite/test_files.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

/* Image.fromarray(a).resize((w, h), Image.BILINEAR).crop(...) of test_pixel(0, k), channel by channel; the second one
 * after convert("L"). Sizes in crop_is_pillows(). */
static const uint8_t smaller[] = { 105, 144, 146, 183, 126, 151, 190, 80,  101, 140, 101, 140, 168, 115, 153,
                                   82,  121, 150, 96,  135, 96,  135, 178, 168, 85,  117, 122, 151, 194, 137,
                                   162, 79,  69,  112, 151, 112, 151, 97,  126, 165, 93,  132, 79,  107, 146,
                                   107, 146, 166, 57,  96,  128, 134, 162, 142, 36,  173, 90,  80,  123, 125,
                                   123, 162, 108, 137, 109, 105, 143, 90,  118, 157, 118, 157, 178, 68,  107 };
static const uint8_t grey_smaller[] = {
    131, 123, 129, 122, 129, 124, 130, 124, 133, 124, 132, 126, 130, 130, 127, 131, 122, 129, 123, 129, 124, 128,
    125, 128, 130, 130, 127, 129, 130, 124, 132, 125, 132, 123, 128, 125, 128, 126, 126, 127, 128, 130, 127, 131,
    122, 134, 122, 134, 125, 129, 125, 128, 127, 125, 128, 125, 135, 126, 131, 121, 133, 122, 134, 126
};
static const uint8_t larger[] = {
    28,  36,  44,  52,  60,  67,  75,  83,  91,  99,  59,  67,  75,  83,  91,  98,  106, 114, 122, 130, 90,  98,
    106, 114, 122, 129, 137, 145, 153, 161, 121, 129, 137, 145, 153, 160, 168, 176, 184, 192, 152, 160, 168, 176,
    184, 191, 199, 207, 215, 223, 124, 132, 140, 148, 156, 163, 171, 179, 187, 195, 95,  103, 111, 119, 127, 135,
    143, 151, 159, 166, 67,  75,  83,  91,  99,  107, 115, 123, 131, 138, 38,  46,  54,  62,  70,  78,  86,  94,
    102, 109, 29,  37,  45,  53,  61,  69,  77,  85,  93,  100, 39,  47,  55,  63,  71,  79,  87,  95,  103, 110,
    70,  78,  86,  94,  102, 110, 118, 126, 134, 141, 101, 109, 117, 125, 133, 141, 149, 157, 165, 172, 132, 140,
    148, 156, 164, 171, 179, 187, 195, 203, 163, 171, 179, 187, 195, 202, 210, 218, 226, 234, 135, 143, 151, 159,
    167, 174, 182, 190, 198, 206, 107, 115, 123, 131, 139, 146, 154, 162, 170, 177, 79,  87,  95,  103, 111, 118,
    126, 134, 142, 149, 50,  58,  66,  74,  82,  89,  97,  105, 113, 120, 41,  49,  57,  65,  73,  80,  88,  96,
    104, 111, 50,  58,  66,  74,  82,  90,  98,  102, 106, 108, 81,  89,  97,  105, 113, 121, 129, 121, 110, 99,
    112, 120, 128, 136, 144, 152, 160, 139, 115, 90,  143, 151, 159, 167, 175, 182, 190, 158, 119, 81,  174, 182,
    190, 198, 206, 213, 221, 176, 124, 72,  146, 154, 162, 170, 178, 185, 193, 160, 122, 84,  118, 126, 134, 142,
    150, 157, 165, 144, 120, 96,  90,  98,  106, 114, 122, 129, 137, 128, 118, 107, 61,  69,  77,  85,  93,  100,
    108, 112, 116, 119, 52,  60,  68,  76,  84,  91,  99,  107, 115, 123
};

static struct picture made(int H, int W)
{
    struct picture p = { .rgb = NULL };

    assert_int_equal(picture_alloc(&p, "made", (uint64_t)H, (uint64_t)W), RC_OK);
    for (size_t k = 0; k < (size_t)H * (size_t)W * 3; k++)
        p.rgb[k] = test_pixel(0, k);
    return p;
}

UNIT_TEST(crop_is_pillows)
{
    static const struct {
        int H, W;
        struct picture_crop crop;
        const uint8_t *want;
        size_t n_bytes;
    } kind[] = {
        { 7, 11, { 5, 6, 3 }, smaller, sizeof smaller },
        { 50, 37, { 8, 9, 1 }, grey_smaller, sizeof grey_smaller },
        { 3, 4, { 10, 13, 3 }, larger, sizeof larger },
    };
    uint8_t got[300];

    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        struct picture p = made(kind[i].H, kind[i].W);
        assert_int_equal(picture_crop(got, &p, &kind[i].crop, "made"), RC_OK);
        assert_memory_equal(got, kind[i].want, kind[i].n_bytes);
        picture_free(&p);
    }
}

/* Without a change of size every pixel stays; with one, one colour stays. */
UNIT_TEST(what_is_there_stays)
{
    const struct picture_crop whole = { 6, 6, 3 }, middle = { 4, 6, 3 }, other = { 9, 11, 3 };
    struct picture p = made(6, 6);
    uint8_t got[9 * 9 * 3];

    assert_int_equal(picture_crop(got, &p, &whole, "made"), RC_OK);
    for (size_t k = 0; k < 6 * 6 * 3; k++)
        assert_int_equal(got[k], p.rgb[k % 36 * 3 + k / 36]);
    assert_int_equal(picture_crop(got, &p, &middle, "made"), RC_OK);
    for (size_t k = 0; k < 4 * 4 * 3; k++)
        assert_int_equal(got[k], p.rgb[((k % 16 / 4 + 1) * 6 + k % 4 + 1) * 3 + k / 16]);
    for (size_t k = 0; k < 36; k++)
        memcpy(p.rgb + 3 * k, (const uint8_t[]){ 3, 200, 255 }, 3);
    assert_int_equal(picture_crop(got, &p, &other, "made"), RC_OK);
    for (size_t k = 0; k < 9 * 9 * 3; k++)
        assert_int_equal(got[k], k < 81 ? 3 : k < 162 ? 200 : 255);
    picture_free(&p);
}

UNIT_TEST(usual_sides)
{
    assert_int_equal(picture_crop_usual_side(224), 256);
    assert_int_equal(picture_crop_usual_side(299), 342);
    assert_int_equal(picture_crop_usual_side(1), 1);
    for (int size = 1; size <= 8192; size++)
        assert_true(picture_crop_usual_side(size) >= size);
}

UNIT_TEST(long_strips_are_refused)
{
    const struct picture_crop crop = { 224, 256, 3 };
    struct picture p = made(1, 300);
    uint8_t *got = malloc(224 * 224 * 3);

    assert_non_null(got);
    assert_int_equal(picture_crop(got, &p, &crop, "a.png"), RC_INVAL);
    assert_names(rc_message(), "a.png: 1 x 300 pixels: ... 256 ... 76800");
    picture_free(&p);
    free(got);
}

UNIT_MAIN("picture_crop")
