/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels_damaged_test.c - random damage to files of every format ends in a data set or in one line about the file
 * (data.P3), with memory in proportion to the file (data.P3), and no read outside it (data.P4, which the sanitizers
 * see). Always the same damage: a failure repeats.
 *
 * usage: pixels_damaged_test ROUNDS
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/suite/test_files.h"
#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"

static uint64_t n_rounds;
static size_t most_bytes; /* of one allocation since it was last zero */

void *__real_malloc(size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);

void *__wrap_malloc(size_t n_bytes)
{
    most_bytes = n_bytes > most_bytes ? n_bytes : most_bytes;
    return __real_malloc(n_bytes);
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
    most_bytes = n * n_bytes > most_bytes ? n * n_bytes : most_bytes;
    return __real_calloc(n, n_bytes);
}

struct tally {
    uint64_t n_opened, n_refused, n_images, n_bad_blocks;
};

/* Read all of it, as a network would. */
static void read_images(const struct dataset *d, struct tally *t)
{
    const size_t plane = (size_t)d->H * (size_t)d->W;
    float *x = malloc(d->n_features * sizeof *x);

    assert_non_null(x);
    for (size_t i = 0; i < d->n_train + d->n_test; i++) {
        assert_true(d->ops->label(d, i) < d->n_classes);
        if (d->ops->image(d, i, x, plane) != RC_OK) {
            t->n_bad_blocks++;
            continue;
        }
        for (size_t k = 0; k < d->n_features; k++)
            assert_true(fabsf(x[k]) <= 2.0f);
        t->n_images++;
    }
    free(x);
}

static void try_folder(const struct test_files *f, size_t n_bytes, struct tally *t)
{
    struct dataset *d = NULL;

    rc_clear();
    most_bytes = 0;
    const enum rc rc = dataset_open_path(&d, f->folder);
    /* Labels are four times as large in memory; the rest is names and what scandir() asks for. */
    assert_true(most_bytes < 65536 + 4 * n_bytes);
    assert_true(rc == RC_OK || rc == RC_INVAL);
    assert_true((rc == RC_OK) == (d != NULL));
    if (rc != RC_OK) {
        assert_memory_equal(rc_message(), f->folder, strlen(f->folder));
        assert_null(strchr(rc_message(), '\n'));
        t->n_refused++;
        return;
    }
    t->n_opened++;
    read_images(d, t);
    dataset_close(&d);
}

struct draw {
    uint64_t n;
};

static uint64_t draw(struct draw *r, uint64_t n_values)
{
    return rng_u64(9, RNG_TEST, r->n++) % n_values;
}

/* One piece of damage; most of it where headers are. The buffer has room for 64 bytes more. */
static size_t damage(struct draw *r, uint8_t *bytes, size_t n_bytes)
{
    static const uint8_t often[] = { 0, 1, 2, 3, 8, 9, 10, 0x1f, 0x7f, 0x80, 0xfe, 0xff };
    static const uint32_t words[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000, 8192, 8193, 0x00200000 };
    const size_t at = (size_t)draw(r, draw(r, 4) == 0 || n_bytes < 100 ? n_bytes : 100);

    switch (draw(r, 7)) {
    case 0:
        bytes[at] = often[draw(r, sizeof often)];
        return n_bytes;
    case 1:
        bytes[at] ^= (uint8_t)(1u << draw(r, 8));
        return n_bytes;
    case 2: { /* a word of a header, large or odd */
        const uint32_t word = words[draw(r, sizeof words / sizeof words[0])];
        const size_t to = at & ~(size_t)3;
        for (size_t i = 0; i < 4 && to + i < n_bytes; i++)
            bytes[to + i] = (uint8_t)(word >> 8 * i);
        return n_bytes;
    }
    case 3:
        return at; /* cut */
    case 4: {
        const size_t n_more = 1 + (size_t)draw(r, 64);
        memset(bytes + n_bytes, (int)draw(r, 256), n_more);
        return n_bytes + n_more;
    }
    case 5: /* a byte is lost */
        memmove(bytes + at, bytes + at + 1, n_bytes - at - 1);
        return n_bytes - 1;
    default: { /* two bytes change places */
        const size_t other = (size_t)draw(r, n_bytes);
        const uint8_t kept = bytes[at];
        bytes[at] = bytes[other];
        bytes[other] = kept;
        return n_bytes;
    }
    }
}

static void damage_files(const struct test_files *f, const char *const *name, size_t n_names, struct tally *t)
{
    struct draw r = { .n = n_names << 40 };

    for (uint64_t round = 0; round < n_rounds; round++) {
        const char *const file = name[draw(&r, n_names)];
        size_t n_whole = 0;
        uint8_t *whole = test_files_read(f, file, &n_whole);
        uint8_t *bad = malloc(n_whole + 4 * 64);
        assert_non_null(bad);
        memcpy(bad, whole, n_whole);
        size_t n_bytes = n_whole;
        for (uint64_t n = 1 + draw(&r, 3); n > 0 && n_bytes > 0; n--)
            n_bytes = damage(&r, bad, n_bytes);
        if (strstr(file, ".gmimg") != NULL && draw(&r, 4) != 0)
            test_files_sign_gmimg(bad, n_bytes); /* or nothing behind the sums would be reached */
        test_files_write(f, file, bad, n_bytes);
        try_folder(f, 65536 + n_bytes, t); /* the other files are smaller than 64 KiB together */
        test_files_write(f, file, whole, n_whole);
        free(whole);
        free(bad);
    }
}

/* Both ways out must have been taken, or the damage is of the wrong kind. */
static void tell(const char *what, const struct tally *t)
{
    print_message("%s: %llu opened, %llu refused, %llu images read, %llu in damaged blocks\n", what,
                  (unsigned long long)t->n_opened, (unsigned long long)t->n_refused, (unsigned long long)t->n_images,
                  (unsigned long long)t->n_bad_blocks);
    assert_int_equal(t->n_opened + t->n_refused, n_rounds);
    assert_true(t->n_opened > n_rounds / 100 && t->n_refused > n_rounds / 4);
}

UNIT_TEST(damaged_idx)
{
    static const char *const names[] = { "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                         "t10k-labels-idx1-ubyte" };
    struct tally t = { 0 };
    struct test_files f;

    test_files_open(&f);
    test_files_make_idx(&f, 8, 3, 5, 4); /* all ten labels */
    damage_files(&f, names, 4, &t);
    test_files_close(&f);
    tell("idx", &t);
}

UNIT_TEST(damaged_cifar10)
{
    static const char *const names[] = { "data_batch_1.bin", "data_batch_4.bin", "test_batch.bin" };
    struct tally t = { 0 };
    struct test_files f;

    test_files_open(&f);
    test_files_make_cifar10(&f, 1);
    damage_files(&f, names, 3, &t);
    test_files_close(&f);
    tell("cifar10", &t);
}

UNIT_TEST(damaged_gmimg)
{
    static const char *const names[] = { "train-1.gmimg", "test-1.gmimg" };
    struct tally t = { 0 };
    struct test_files f;

    test_files_open(&f);
    test_files_make_gmimg(&f, names[0], 3, 4, 5, 0, 6);
    test_files_make_gmimg(&f, names[1], 3, 4, 5, 6, 2);
    damage_files(&f, names, 2, &t);
    test_files_close(&f);
    tell("gmimg", &t);
    assert_true(t.n_bad_blocks > 0);
}

int main(int argc, char **argv)
{
    n_rounds = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
    if (n_rounds < 100) {
        fprintf(stderr, "usage: pixels_damaged_test ROUNDS (at least 100)\n");
        return 2;
    }
    return unit_run("pixels_damaged", NULL, NULL, NULL);
}
