/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_files.h - small files of every format, whole and damaged, in a folder of their own. For tests only.
 *
 * Image i has pixels test_pixel(i, k) and label test_label(i), counted over the training images, then the test
 * images. Functions assert on the calling thread.
 */
#ifndef DATA_SUITE_TEST_FILES_H
#define DATA_SUITE_TEST_FILES_H

#include <stdint.h>

#include "data/dataset.h"

enum { TEST_CIFAR_RECORD_BYTES = 3073, TEST_MAX_FEATURES = 3 * 32 * 32 };

struct test_files {
    char folder[40];
};

void test_files_open(struct test_files *f);
void test_files_close(struct test_files *f); /* removes the folder and what is in it */
/* "FOLDER/NAME" in out. */
void test_files_path(const struct test_files *f, const char *name, char out[128]);
void test_files_write(const struct test_files *f, const char *name, const uint8_t *bytes, size_t n_bytes);
/* The whole file, malloc'ed. */
uint8_t *test_files_read(const struct test_files *f, const char *name, size_t *n_bytes);
void test_files_remove(const struct test_files *f, const char *name);

/* Images whose numbers differ by a power of two differ, too: blocks and chunks have such sizes. */
uint8_t test_pixel(size_t i, size_t k);
uint32_t test_label(size_t i); /* 0 to 9 */

/* The four files of MNIST, H x W pixels. */
void test_files_make_idx(const struct test_files *f, size_t n_train, size_t n_test, uint32_t H, uint32_t W);
/* The six files of CIFAR-10, all of n_per_file images but the second, of n_in_second. */
void test_files_make_cifar10_with(const struct test_files *f, size_t n_per_file, size_t n_in_second);
void test_files_make_cifar10(const struct test_files *f, size_t n_per_file);
/* Images first .. first + n_images - 1 of d as one shard. What writing and reading return. */
enum rc test_files_pack(const char *path, const struct dataset *d, size_t first, size_t n_images) MUST_CHECK;
/* NAME, images first .. first + n_images - 1 of (C, H, W). */
void test_files_make_gmimg(const struct test_files *f, const char *name, int C, int H, int W, size_t first,
                           size_t n_images);
/* Make the sums of labels and header of a damaged shard right again, as far as its size allows. */
void test_files_sign_gmimg(uint8_t *bytes, size_t n_bytes);

/* The folder as a data set; fails the test where it is refused. */
struct dataset *test_files_open_dataset(const struct test_files *f);

struct test_want {
    const char *name;
    size_t n_train, n_test;
    int C, H, W; /* C <= 3, at most TEST_MAX_FEATURES in all */
};
/* Every label, byte and float of d that is not what w and the two functions above say; asserts the shape. */
int test_files_count_wrong(const struct dataset *d, const struct test_want *w);

/* For tests: a data set that returns what another one does; a test replaces one of its operations. */

struct wrapped { /* the mutant of a data set */
    struct dataset base;
    const struct dataset *real;
};

static inline const struct dataset *real_of(const struct dataset *d)
{
    return ((const struct wrapped *)d)->real;
}

static inline uint32_t real_label(const struct dataset *d, size_t i)
{
    return real_of(d)->ops->label(real_of(d), i);
}

static inline enum rc real_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    return real_of(d)->ops->bytes(real_of(d), i, out);
}

#endif
