/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset_path_test.c - every kind of invalid IDX, CIFAR-10 and gmimg file is refused with the right message; valid
 * files: pixels_test.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/gmimg.h"
#include "data/suite/test_files.h"
#include "harness/base/suite/unit.h"

static struct dataset *open_folder(const struct test_files *f)
{
    struct dataset *d = NULL;

    if (dataset_open_path(&d, f->folder) != RC_OK)
        fail_msg("%s", rc_message());
    return d;
}

/* A folder must be refused with "FOLDER/" message, exactly. */
static void refuse(const struct test_files *f, const char *message)
{
    struct dataset *d = NULL;
    char want[RC_MESSAGE_BYTES];

    assert_int_equal(dataset_open_path(&d, f->folder), RC_INVAL);
    assert_null(d);
    snprintf(want, sizeof want, "%s/%s", f->folder, message);
    /* Messages name a second file by its path, too: */
    char *at = strstr(want, "@/");
    if (at != NULL) {
        char tail[RC_MESSAGE_BYTES];
        snprintf(tail, sizeof tail, "%s", at + 1);
        snprintf(at, sizeof want - (size_t)(at - want), "%s%s", f->folder, tail);
    }
    assert_string_equal(rc_message(), want);
}

/* File `name` with n_new bytes at `at`, cut or grown to n_bytes (0: as it was), is refused; then made whole again. */
static void refuse_bytes(const struct test_files *f, const char *name, size_t at, const void *new_bytes, size_t n_new,
                         size_t n_bytes, const char *message)
{
    size_t n_whole = 0;
    uint8_t *whole = test_files_read(f, name, &n_whole);
    const size_t n = n_bytes > 0 ? n_bytes : n_whole;
    uint8_t *bad = calloc(n > n_whole ? n : n_whole, 1);

    assert_non_null(bad);
    memcpy(bad, whole, n_whole);
    memcpy(bad + at, new_bytes, n_new);
    if (strstr(name, ".gmimg") != NULL && message[0] == '!') /* with right sums */
        test_files_sign_gmimg(bad, n);
    test_files_write(f, name, bad, n);
    refuse(f, message[0] == '!' ? message + 1 : message);
    test_files_write(f, name, whole, n_whole);
    free(whole);
    free(bad);
}

UNIT_TEST(wrong_idx_is_named)
{
    static const char images[] = "train-images-idx3-ubyte", labels[] = "t10k-labels-idx1-ubyte";
    struct test_files f;

    test_files_open(&f);
    test_files_make_idx(&f, 4, 2, 5, 3);
    refuse_bytes(&f, images, 0, "\3\10\0\0", 4, 0,
                 "train-images-idx3-ubyte: offset 0: magic number 50855936; IDX images begin with 2051");
    refuse_bytes(&f, labels, 3, "\3", 1, 0,
                 "t10k-labels-idx1-ubyte: offset 0: magic number 2051; IDX labels begin with 2049");
    refuse_bytes(&f, images, 0, "", 0, 15, "train-images-idx3-ubyte: offset 15: ends in the header, which is 16 bytes");
    refuse_bytes(&f, images, 0, "", 0, 75,
                 "train-images-idx3-ubyte: offset 75: the file ends, but offset 4 promises 4 records of 15 bytes");
    refuse_bytes(&f, images, 0, "", 0, 77, "train-images-idx3-ubyte: offset 76: 1 bytes too many");
    refuse_bytes(&f, images, 4, "\xff\xff\xff\xff", 4, 0,
                 "train-images-idx3-ubyte: offset 76: the file ends, but offset 4 promises 4294967295 records of 15 "
                 "bytes");
    refuse_bytes(&f, images, 8, "\0\0\0\0", 4, 0,
                 "train-images-idx3-ubyte: offset 8: images of 0 x 3 pixels; 1 to 8192 a side");
    refuse_bytes(&f, images, 12, "\xff\xff\xff\xff", 4, 0,
                 "train-images-idx3-ubyte: offset 8: images of 5 x 4294967295 pixels; 1 to 8192 a side");
    refuse_bytes(&f, labels, 7, "\1", 1, 9,
                 "t10k-labels-idx1-ubyte: offset 4: 1 labels, but @/t10k-images-idx3-ubyte has 2 images");
    refuse_bytes(&f, labels, 0, "", 0, 9,
                 "t10k-labels-idx1-ubyte: offset 9: the file ends, but offset 4 promises 2 records of 1 bytes");
    refuse_bytes(&f, labels, 0, "", 0, 12, "t10k-labels-idx1-ubyte: offset 10: 2 bytes too many");
    refuse_bytes(&f, "t10k-images-idx3-ubyte", 11, "\3\0\0\0\5", 5, 0,
                 "t10k-images-idx3-ubyte: offset 8: images of 3 x 5 pixels, those for training are 5 x 3");
    refuse_bytes(&f, images, 0, "\x1f\x8b\x08", 3, 0,
                 "train-images-idx3-ubyte: offset 0: is compressed (gzip); gunzip it first");
    test_files_remove(&f, labels);
    refuse(&f, "t10k-labels-idx1-ubyte: No such file or directory");
    test_files_write(&f, "t10k-labels-idx1-ubyte.gz", (const uint8_t *)"\x1f\x8b", 2);
    refuse(&f, "t10k-labels-idx1-ubyte: is not there, but @/t10k-labels-idx1-ubyte.gz is: gunzip it first");
    test_files_write(&f, labels, (const uint8_t *)"", 0);
    refuse(&f, "t10k-labels-idx1-ubyte: is empty");
    test_files_make_idx(&f, 0, 1, 5, 3);
    refuse(&f, "train-images-idx3-ubyte: no training image");
    test_files_close(&f);
}

/* The labels of an IDX data set: as many classes as they say, unless one of them is damaged. */
UNIT_TEST(labels_of_idx_have_no_gap)
{
    static const char train[] = "train-labels-idx1-ubyte", test[] = "t10k-labels-idx1-ubyte";
    struct test_files f;

    test_files_open(&f);
    test_files_make_idx(&f, 12, 3, 5, 3); /* 9 2 5 8 1 4 7 0 3 6 9 2, 5 8 1 */
    refuse_bytes(&f, train, 8 + 10, "\xff", 1, 0,
                 "train-labels-idx1-ubyte: offset 18: label 255, but no image has a label of 10 to 254");
    refuse_bytes(&f, test, 8 + 2, "\x0b", 1, 0,
                 "t10k-labels-idx1-ubyte: offset 10: label 11, but no image has a label of 10 to 10");
    refuse_bytes(&f, train, 8 + 9, "\7", 1, 0,
                 "train-labels-idx1-ubyte: offset 14: label 7, but no image has a label of 6 to 6");
    test_files_write(&f, train, (const uint8_t *)"\0\0\10\1\0\0\0\14\3\2\2\2\2\2\2\2\2\2\2\2", 20);
    test_files_write(&f, test, (const uint8_t *)"\0\0\10\1\0\0\0\3\4\4\4", 11);
    struct dataset *d = open_folder(&f); /* begins at 2, as EMNIST's letters do at 1 */
    assert_int_equal(d->n_classes, 5);
    dataset_close(&d);
    test_files_close(&f);
}

UNIT_TEST(wrong_cifar10_is_named)
{
    struct test_files f;

    test_files_open(&f);
    test_files_make_cifar10(&f, 2);
    refuse_bytes(&f, "data_batch_2.bin", 3073, "\12", 1, 0, "data_batch_2.bin: offset 3073: label 10; must be 0 to 9");
    refuse_bytes(&f, "test_batch.bin", 0, "\xff", 1, 0, "test_batch.bin: offset 0: label 255; must be 0 to 9");
    refuse_bytes(&f, "data_batch_5.bin", 0, "", 0, 3072,
                 "data_batch_5.bin: offset 0: 3072 bytes are no whole record of 3073");
    refuse_bytes(&f, "data_batch_5.bin", 0, "", 0, 6150,
                 "data_batch_5.bin: offset 6146: 4 bytes are no whole record of 3073");
    for (int i = 1; i <= 5; i++) {
        char name[32], message[96];
        size_t n_bytes;
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        snprintf(message, sizeof message, "%s: No such file or directory", name);
        uint8_t *bytes = test_files_read(&f, name, &n_bytes);
        test_files_remove(&f, name);
        refuse(&f, message);
        test_files_write(&f, name, bytes, n_bytes);
        free(bytes);
    }
    test_files_close(&f);
}

UNIT_TEST(wrong_gmimg_is_named)
{
    static const char name[] = "train-1.gmimg";
    struct test_files f;

    test_files_open(&f);
    test_files_make_gmimg(&f, name, 1, 2, 3, 0, 4); /* 80 + 16 + 16 + 24 bytes */
    refuse_bytes(&f, name, 6, "2", 1, 0,
                 "train-1.gmimg: offset 0: no gmimg file of version 01: they begin with \"GMIMG01\"");
    refuse_bytes(&f, name, 0, "", 0, 79, "train-1.gmimg: offset 79: ends in the header, which is 80 bytes");
    refuse_bytes(&f, name, 12, "\3", 1, 0,
                 "train-1.gmimg: offset 56: the header is not what was written: its sum differs");
    refuse_bytes(&f, name, 8, "\0", 1, 0,
                 "!train-1.gmimg: offset 8: images of 0 x 2 x 3; 1 to 64 channels of 1 to 8192 pixels a side");
    refuse_bytes(&f, name, 12, "\1\40", 2, 0,
                 "!train-1.gmimg: offset 8: images of 1 x 8193 x 3; 1 to 64 channels of 1 to 8192 pixels a side");
    refuse_bytes(&f, name, 16, "\xff\xff\xff\xff", 4, 0,
                 "!train-1.gmimg: offset 8: images of 1 x 2 x 4294967295; 1 to 64 channels of 1 to 8192 pixels a "
                 "side");
    refuse_bytes(&f, name, 20, "\0", 1, 0, "!train-1.gmimg: offset 20: 0 classes; 1 to 1000000");
    refuse_bytes(&f, name, 24, "\0", 1, 0, "!train-1.gmimg: offset 24: no image; at least 1");
    refuse_bytes(&f, name, 24, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 0,
                 "!train-1.gmimg: offset 136: the file ends, but offset 24 promises 18446744073709551615 images of 6 "
                 "bytes");
    refuse_bytes(&f, name, 24, "\5", 1, 0, "!train-1.gmimg: offset 136: the file ends; its header asks for 146 bytes");
    refuse_bytes(&f, name, 32, "\0\0\0\0", 4, 0, "!train-1.gmimg: offset 32: blocks of 0 images; at least 1");
    refuse_bytes(&f, name, 32, "\2\0\0\0", 4, 0,
                 "!train-1.gmimg: offset 136: the file ends; its header asks for 152 bytes");
    refuse_bytes(&f, name, 36, "\1", 1, 0, "!train-1.gmimg: offset 36: is 1; 0 in this version");
    refuse_bytes(&f, name, 79, "\1", 1, 0, "train-1.gmimg: offset 76: is 16777216; 0 in this version");
    refuse_bytes(&f, name, 80, "\0", 1, 0, "train-1.gmimg: offset 80: labels or sums are not those that were written");
    refuse_bytes(&f, name, 96, "\0\0", 2, 0,
                 "train-1.gmimg: offset 80: labels or sums are not those that were written");
    refuse_bytes(&f, name, 84, "\12", 1, 0, "!train-1.gmimg: offset 84: label 10; must be 0 to 9");
    refuse_bytes(&f, name, 0, "", 0, 135, "train-1.gmimg: offset 135: the file ends; its header asks for 136 bytes");
    refuse_bytes(&f, name, 0, "", 0, 137, "train-1.gmimg: offset 137: the file ends; its header asks for 136 bytes");
    test_files_make_gmimg(&f, "test-1.gmimg", 1, 3, 2, 0, 2);
    refuse(&f, "test-1.gmimg: offset 8: images of 1 x 3 x 2 in 10 classes; @/train-1.gmimg has 1 x 2 x 3 in 10");
    test_files_close(&f);
}

/* A block is checked when one of its images is first asked for, and only that block. */
UNIT_TEST(damaged_pixels_are_found)
{
    enum { SIDE = 300, IMAGE_BYTES = 3 * SIDE * SIDE, N = 7, PER_BLOCK = 3, PIXELS_AT = 80 + 4 * N + 16 * 3 };
    struct test_files f;
    size_t n_bytes;
    char path[128], want[256];

    test_files_open(&f);
    test_files_make_gmimg(&f, "train-1.gmimg", 3, SIDE, SIDE, 0, N);
    test_files_path(&f, "train-1.gmimg", path);
    uint8_t *bytes = test_files_read(&f, "train-1.gmimg", &n_bytes);
    assert_int_equal(n_bytes, PIXELS_AT + N * IMAGE_BYTES);
    bytes[PIXELS_AT + 5 * IMAGE_BYTES + 12345] ^= 1; /* image 5, in block 1 */
    test_files_write(&f, "train-1.gmimg", bytes, n_bytes);
    snprintf(want, sizeof want, "%s: offset %d: the pixels of block 1 (%d bytes) are not those that were written", path,
             PIXELS_AT + PER_BLOCK * IMAGE_BYTES, PER_BLOCK * IMAGE_BYTES);
    struct dataset *d = open_folder(&f);
    float *x = malloc(IMAGE_BYTES * sizeof *x);
    assert_non_null(x);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < N; i++) {
            const int is_bad = i / PER_BLOCK == 1;
            assert_int_equal(d->ops->image(d, i, x, (size_t)SIDE * SIDE), is_bad ? RC_INVAL : RC_OK);
            if (is_bad)
                assert_string_equal(rc_message(), want);
        }
    free(x);
    free(bytes);
    dataset_close(&d);
    test_files_close(&f);
}

static void refuse_path(const char *path, const char *message)
{
    struct dataset *d = NULL;
    char want[RC_MESSAGE_BYTES];

    assert_int_equal(dataset_open_path(&d, path), RC_INVAL);
    assert_null(d);
    snprintf(want, sizeof want, "%s: %s", path, message);
    assert_string_equal(rc_message(), want);
}

UNIT_TEST(other_paths_are_refused)
{
    struct test_files f;
    char path[128];

    test_files_open(&f);
    refuse_path("no/such/folder", "No such file or directory");
    refuse_path(f.folder, "holds no train-*.gmimg, nor files of MNIST (train-images-idx3-ubyte, ...) or CIFAR-10 "
                          "(data_batch_1.bin, ...)");
    test_files_path(&f, "pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse_path(path, "is neither a folder nor a regular file"); /* and is not waited for */
    test_files_path(&f, "train-1.gmimg", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse(&f, "train-1.gmimg: is not a regular file");
    test_files_remove(&f, "train-1.gmimg");
    assert_int_equal(mkdir(path, 0700), 0);
    refuse(&f, "train-1.gmimg: is not a regular file");
    assert_int_equal(remove(path), 0);
    test_files_make_idx(&f, 2, 2, 1, 1);
    test_files_path(&f, "t10k-labels-idx1-ubyte", path);
    refuse_path(path, "offset 0: is an IDX file; give the folder with all four");
    test_files_close(&f);
}

/* By what they hold, whatever their names are. */
UNIT_TEST(files_of_other_formats_are_named)
{
    static const struct {
        const char *bytes;
        size_t n_bytes, n_file_bytes;
        const char *message;
    } files[] = {
        { "\7", 1, 2 * 3073, "is one of CIFAR-10's six files; give the folder that holds them" },
        { "\23\143", 2, 2 * 3074,
          "looks like CIFAR-100, which is not read; write it as folders of PNG files, one for each class, of which "
          "gradmark pack makes a data set" },
        { "\x1f\x8b", 2, 2, "offset 0: is compressed (gzip); gunzip it first" },
        { "BZh9", 4, 600, "offset 0: is compressed (bzip2); bunzip2 it first" },
        { "PK\3\4", 4, 600, "offset 0: is a zip archive; unpack it, and give the folder" },
        { "\x93NUMPY", 6, 600, "offset 0: is a NumPy array, which is not read" },
        { "\x80\4", 2, 600, "offset 0: is a Python pickle, which is not read; of CIFAR-10 the binary version is" },
        { "\xff\xd8\xff", 3, 600,
          "offset 0: is a picture; gradmark pack makes a data set of folders of pictures, one for each class" },
        { "ab\1", 3, 600,
          "offset 2: is neither text nor of another format that is read; use a .gmimg shard, or the folder with the "
          "files "
          "of MNIST or CIFAR-10" },
        { "", 0, 0, "is empty" },
    };
    uint8_t bytes[2 * 3074];
    struct test_files f;
    char path[128], want[RC_MESSAGE_BYTES];
    struct dataset *d = NULL;

    test_files_open(&f);
    test_files_path(&f, "x", path);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, files[i].bytes, files[i].n_bytes);
        test_files_write(&f, "x", bytes, files[i].n_file_bytes);
        refuse_path(path, files[i].message);
    }
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, "x/data_batch_1", 14);
    memcpy(bytes + 257, "ustar", 5);
    test_files_write(&f, "x", bytes, 1024);
    refuse_path(path, "offset 257: is a tar archive; unpack it, and give the folder");
    test_files_write(&f, "x", (const uint8_t *)"a,b\n", 4);
    snprintf(want, sizeof want,
             "%s:1: 2 values instead of 65 (64 pixels and a label); as text it was read as a table of digits (CSV)",
             path);
    assert_int_equal(dataset_open_path(&d, path), RC_INVAL);
    assert_string_equal(rc_message(), want);
    test_files_write(&f, "fine_label_names.txt", (const uint8_t *)"a\n", 2);
    refuse_path(f.folder,
                "holds CIFAR-100, which is not read; write it as folders of PNG files, one for each class, of "
                "which gradmark pack makes a data set");
    test_files_remove(&f, "fine_label_names.txt");
    test_files_remove(&f, "x");
    test_files_close(&f);
}

/* Whichever file of a format is alone in a folder, the others of that format are missing. */
UNIT_TEST(one_file_tells_the_format)
{
    static const struct {
        const char *name, *missing; /* in the message */
    } alone[] = {
        { "train-images-idx3-ubyte", "train-labels-idx1-ubyte" },
        { "train-images.idx3-ubyte", "train-labels" },
        { "train-labels-idx1-ubyte", "train-images-idx3-ubyte" },
        { "train-labels.idx1-ubyte", "train-images" },
        { "t10k-images-idx3-ubyte", "train-images-idx3-ubyte" },
        { "t10k-images.idx3-ubyte", "train-images" },
        { "t10k-labels-idx1-ubyte", "train-images-idx3-ubyte" },
        { "t10k-labels.idx1-ubyte", "train-images" },
        { "train-images-idx3-ubyte.gz", "train-images-idx3-ubyte" },
        { "data_batch_1.bin", "data_batch_2.bin" },
        { "data_batch_2.bin", "data_batch_1.bin" },
        { "data_batch_3.bin", "data_batch_1.bin" },
        { "data_batch_4.bin", "data_batch_1.bin" },
        { "data_batch_5.bin", "data_batch_1.bin" },
        { "test_batch.bin", "data_batch_1.bin" },
    };
    struct test_files idx, cifar10;

    test_files_open(&idx);
    test_files_open(&cifar10);
    test_files_make_idx(&idx, 4, 2, 5, 3);
    test_files_make_cifar10(&cifar10, 2);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        const bool is_idx = strstr(alone[i].name, "idx") != NULL;
        const char *like = !is_idx                                   ? alone[i].name
                           : strstr(alone[i].name, "images") != NULL ? "t10k-images-idx3-ubyte"
                                                                     : "t10k-labels-idx1-ubyte";
        struct test_files f;
        struct dataset *d = NULL;
        size_t n_bytes;
        uint8_t *bytes = test_files_read(is_idx ? &idx : &cifar10, like, &n_bytes);
        test_files_open(&f);
        test_files_write(&f, alone[i].name, bytes, n_bytes);
        assert_int_not_equal(dataset_open_path(&d, f.folder), RC_OK);
        const size_t n_folder = strlen(f.folder);
        if (strncmp(rc_message(), f.folder, n_folder) != 0 || rc_message()[n_folder] != '/' ||
            strncmp(rc_message() + n_folder + 1, alone[i].missing, strlen(alone[i].missing)) != 0)
            fail_msg("%s alone: %s", alone[i].name, rc_message());
        free(bytes);
        test_files_close(&f);
    }
    test_files_close(&idx);
    test_files_close(&cifar10);
}

UNIT_TEST(the_python_version_is_named)
{
    struct test_files f;

    test_files_open(&f);
    test_files_write(&f, "data_batch_1", (const uint8_t *)"\x80\2", 2);
    refuse_path(f.folder, "holds the Python version of CIFAR-10; the binary version is read");
    test_files_close(&f);
}

UNIT_MAIN("dataset_path")
