/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_files.h - small files of every format, whole and damaged, in a folder of their own. For tests only.
 *
 * Image i has pixels test_pixel(i, k) and label test_label(i), counted over the training images, then the test
 * images. Functions assert on the calling thread.
 */
#ifndef DATA_TEST_FILES_H
#define DATA_TEST_FILES_H

#include <stdint.h>

#include "data/dataset.h"

enum { TEST_CIFAR_RECORD_BYTES = 3073 };

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

uint8_t test_pixel(size_t i, size_t k);
uint32_t test_label(size_t i); /* 0 to 9 */

/* The four files of MNIST, H x W pixels. */
void test_files_make_idx(const struct test_files *f, size_t n_train, size_t n_test, uint32_t H, uint32_t W);
/* The six files of CIFAR-10. */
void test_files_make_cifar10(const struct test_files *f, size_t n_per_file);
/* NAME, images first .. first + n_images - 1 of (C, H, W). */
void test_files_make_gmimg(const struct test_files *f, const char *name, int C, int H, int W, size_t first,
                           size_t n_images);
/* Make the sums of labels and header of a damaged shard right again, as far as its size allows. */
void test_files_sign_gmimg(uint8_t *bytes, size_t n_bytes);

#endif
