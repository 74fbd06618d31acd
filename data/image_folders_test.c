/* SPDX-License-Identifier: Apache-2.0 */
/* image_folders_test.c - classes and images in the order of their names (data.I1), splits, and what is no data set. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/image_folders.h"
#include "data/pixels.h"
#include "data/suite/test_files.h"
#include "data/suite/test_pictures.h"
#include "harness/base/suite/unit.h"

enum { SIDE = 8 };
static const struct picture_crop crop = { SIDE, SIDE, 3 };

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_all(const struct test_files *f)
{
    assert_int_equal(nftw(f->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_folders(const struct test_files *f, const char *const *name)
{
    char path[128];

    for (; *name != NULL; name++) {
        test_files_path(f, *name, path);
        assert_int_equal(mkdir(path, 0777), 0);
    }
}

static void write_png(const struct test_files *f, const char *name, int shade)
{
    struct test_bytes b = test_smooth_png(SIDE, SIDE, shade);

    test_files_write(f, name, b.bytes, b.n_bytes);
    free(b.bytes);
}

/* Image i is of that shade and label. */
static void expect_image(const struct dataset *d, size_t i, int shade, uint32_t label)
{
    uint8_t byte[3 * SIDE * SIDE];
    float x[3 * SIDE * SIDE];

    assert_int_equal(d->ops->bytes(d, i, byte), RC_OK);
    assert_int_equal(d->ops->image(d, i, x, SIDE * SIDE), RC_OK);
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < SIDE * SIDE; k++) {
            assert_int_equal(byte[c * SIDE * SIDE + k], test_smooth_pixel(k / SIDE, k % SIDE, c, shade));
            assert_true(x[c * SIDE * SIDE + k] == pixels_scaled(byte[c * SIDE * SIDE + k]));
        }
    assert_int_equal(d->ops->label(d, i), label);
}

static void make_split(struct test_files *f)
{
    static const char *const folders[] = { "train", "train/b", "train/a", "train/a/deep", "train/B", "val",
                                           "val/B", "val/b",   "test",    "test/z",       NULL };

    test_files_open(f);
    make_folders(f, folders);
    write_png(f, "train/b/2.png", 1);
    write_png(f, "train/b/10.PNG", 2);
    write_png(f, "train/a/deep/x.jpeg", 3); /* a PNG by another name */
    write_png(f, "train/B/only.jpg", 4);
    write_png(f, "val/b/v.png", 5);
    write_png(f, "val/B/v.png", 6);
    test_files_write(f, "train/b/notes.txt", (const uint8_t *)"x", 1);
    test_files_write(f, "train/README", (const uint8_t *)"x", 1);
    test_files_write(f, "train/b/.hidden.png", (const uint8_t *)"x", 1);
}

/* What the folders hold that is not used, in order. */
static void expect_unused(const struct dataset *d, const struct test_files *f, const char *const *says, size_t n)
{
    char want[256];

    assert_int_equal(image_folders_unused_count(d), n);
    for (size_t i = 0; i < n; i++) {
        snprintf(want, sizeof want, "%s/%s", f->folder, says[i]);
        assert_string_equal(image_folders_unused(d, i), want);
    }
}

UNIT_TEST(names_give_the_order)
{
    static const char *const more_hidden[] = { "train/B/.1.png", "train/B/.2.png", "train/a/deep/.1.png",
                                               "train/a/deep/.2.jpg", "train/a/deep/.3.gif" };
    static const char *const unused[] = {
        "train/B/.1.png: is hidden, its name begins with a dot, and so is 1 more in this folder",
        "train/a/deep/.1.png: is hidden, its name begins with a dot, and so are 2 more in this folder",
        "train/b/.hidden.png: is hidden, its name begins with a dot",
        "test: holds no .jpg, .jpeg or .png",
    };
    struct dataset *d = NULL;
    struct test_files f;

    make_split(&f);
    for (size_t i = 0; i < sizeof more_hidden / sizeof *more_hidden; i++)
        test_files_write(&f, more_hidden[i], (const uint8_t *)"x", 1);
    assert_true(dataset_path_is_folders(f.folder));
    assert_int_equal(image_folders_open(&d, f.folder, &crop), RC_OK);
    assert_int_equal(d->n_classes, 3);
    assert_string_equal(image_folders_class(d, 0), "B");
    assert_string_equal(image_folders_class(d, 1), "a");
    assert_string_equal(image_folders_class(d, 2), "b");
    assert_int_equal(d->n_train, 4);
    assert_int_equal(d->n_test, 2);
    assert_int_equal(d->n_features, 3 * SIDE * SIDE);
    expect_image(d, 0, 4, 0);
    expect_image(d, 1, 3, 1);
    expect_image(d, 2, 2, 2); /* "10.PNG" < "2.png" */
    expect_image(d, 3, 1, 2);
    expect_image(d, 4, 6, 0);
    expect_image(d, 5, 5, 2);
    assert_int_equal(image_folders_left_out_count(d), 2);
    expect_unused(d, &f, unused, sizeof unused / sizeof *unused);
    dataset_close(&d);
    remove_all(&f);
}

UNIT_TEST(without_train_all_is_for_training)
{
    static const char *const folders[] = { "cat", "dog", NULL };
    struct dataset *d = NULL;
    struct test_files f;

    test_files_open(&f);
    make_folders(&f, folders);
    write_png(&f, "cat/1.png", 7);
    write_png(&f, "dog/1.png", 8);
    assert_int_equal(image_folders_open(&d, f.folder, &crop), RC_OK);
    assert_true(d->n_train == 2 && d->n_test == 0 && d->n_classes == 2);
    expect_image(d, 1, 8, 1);
    assert_int_equal(image_folders_unused_count(d), 0);
    dataset_close(&d);
    remove_all(&f);
}

static void expect_refused(const struct test_files *f, const char *text)
{
    struct dataset *d = NULL;

    assert_int_equal(image_folders_open(&d, f->folder, &crop), RC_INVAL);
    assert_null(d);
    assert_memory_equal(rc_message(), f->folder, strlen(f->folder));
    if (strstr(rc_message(), text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", rc_message(), text);
}

UNIT_TEST(no_data_set)
{
    static const char *const one[] = { "cat", NULL }, *const two[] = { "dog", NULL };
    static const char *const test_alone[] = { "train", "train/x", "train/y", "val", "val/z", NULL };
    struct test_files f;
    char path[128];

    test_files_open(&f);
    assert_false(dataset_path_is_folders(f.folder));
    make_folders(&f, one);
    assert_true(dataset_path_is_folders(f.folder));
    expect_refused(&f, "holds one folder; use one folder for each class, and two classes or more");
    make_folders(&f, two);
    expect_refused(&f, "/cat: holds no file named .jpg, .jpeg or .png, and each class needs one");
    write_png(&f, "cat/1.png", 0);
    test_files_path(&f, "dog/again", path);
    assert_int_equal(symlink(".", path), 0);
    expect_refused(&f, "do links make a circle?");
    assert_int_equal(unlink(path), 0);
    make_folders(&f, test_alone);
    write_png(&f, "train/x/1.png", 0);
    write_png(&f, "train/y/1.png", 0);
    write_png(&f, "val/z/1.png", 0);
    expect_refused(&f, "/val/z: no folder for training has this name; add it there, or remove this one");
    remove_all(&f);
}

/* Each format that is opened by dataset_open_path() stays what it was with a folder beside its files. */
UNIT_TEST(other_formats_come_first)
{
    static const char *const folders[] = { "raw", NULL };
    struct dataset *d = NULL;
    struct test_files f;

    test_files_open(&f);
    make_folders(&f, folders);
    assert_int_equal(dataset_open_path(&d, f.folder), RC_INVAL);
    assert_non_null(strstr(rc_message(), "pack them first: gradmark pack --data "));
    test_files_make_gmimg(&f, "train-1.gmimg", 3, 4, 4, 0, 6);
    assert_false(dataset_path_is_folders(f.folder));
    test_files_make_idx(&f, 8, 3, 5, 4);
    assert_false(dataset_path_is_folders(f.folder));
    assert_int_equal(dataset_open_path(&d, f.folder), RC_OK);
    dataset_close(&d);
    remove_all(&f);
}

UNIT_TEST(broken_images_are_named)
{
    uint8_t byte[3 * SIDE * SIDE];
    struct dataset *d = NULL;
    struct test_files f;
    char path[128];

    make_split(&f);
    test_files_write(&f, "train/b/10.PNG", (const uint8_t *)"\x89PNG....", 8);
    test_files_write(&f, "train/B/only.jpg", (const uint8_t *)"", 0);
    assert_int_equal(image_folders_open(&d, f.folder, &crop), RC_OK);
    assert_int_equal(d->ops->bytes(d, 2, byte), RC_INVAL);
    test_files_path(&f, "train/b/10.PNG: PNG: ", path);
    assert_memory_equal(rc_message(), path, strlen(path));
    assert_int_equal(d->ops->bytes(d, 0, byte), RC_INVAL);
    test_files_path(&f, "train/B/only.jpg: is empty", path);
    assert_string_equal(rc_message(), path);
    expect_image(d, 3, 1, 2); /* the others are as before */
    dataset_close(&d);
    remove_all(&f);
}

UNIT_MAIN("image_folders")
