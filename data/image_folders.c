/* SPDX-License-Identifier: Apache-2.0 */
/* image_folders.c - see image_folders.h. */
#include "data/image_folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/pixels.h"

enum { MAX_DEPTH = 8 }; /* of folders in a class; links could make a circle */

struct names { /* in the order of I1 */
    char **name;
    size_t n, n_room;
};

struct folders {
    struct dataset base;
    struct picture_crop crop;
    struct names classes, files;
    size_t n_left_out;
};

static void names_free(struct names *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->name[i]);
    free(l->name);
    *l = (struct names){ .name = NULL };
}

/* Owns name from now on, also on error. NULL: no memory for it. */
static enum rc names_add(struct names *l, char *name)
{
    if (name != NULL && l->n == l->n_room) {
        const size_t n_room = l->n_room > 0 ? 2 * l->n_room : 64;
        char **grown = realloc(l->name, n_room * sizeof *grown);
        if (grown != NULL) {
            l->name = grown;
            l->n_room = n_room;
        }
    }
    if (name == NULL || l->n == l->n_room) {
        free(name);
        return rc_raise(RC_NOMEM, "no memory for the names of files");
    }
    l->name[l->n++] = name;
    return RC_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All in the folder but ".", ".." and hidden ones, sorted. RC_INVAL: path and reason. */
static enum rc list(struct names *out, const char *path)
{
    DIR *dir = opendir(path);
    const int error = errno;
    enum rc rc = RC_OK;

    if (dir == NULL)
        FAIL(RC_INVAL, "%s: %s", path, strerror(error));
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (e->d_name[0] != '.')
            TRY(names_add(out, strdup(e->d_name)));
    if (out->n > 0)
        qsort(out->name, out->n, sizeof *out->name, by_bytes);
out:
    if (dir != NULL)
        (void)closedir(dir);
    return rc;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool has_folder(const char *folder, const char *name)
{
    char *path = pixels_path(folder, name);
    const bool has = path != NULL && is_folder(path);

    free(path);
    return has;
}

static bool is_image_name(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL &&
           (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 || strcasecmp(dot, ".png") == 0);
}

static enum rc add_files(struct folders *f, const char *folder, int depth);

/* One entry of a folder of a class. Owns path from now on. */
static enum rc add_entry(struct folders *f, char *path, int depth)
{
    enum rc rc = RC_OK;

    if (path == NULL)
        FAIL(RC_NOMEM, "no memory for the names of files");
    if (is_folder(path)) {
        TRY(add_files(f, path, depth + 1));
    } else if (is_image_name(path)) {
        char *const kept = path;
        path = NULL;
        TRY(names_add(&f->files, kept));
    } else {
        f->n_left_out++;
    }
out:
    free(path);
    return rc;
}

static enum rc add_files(struct folders *f, const char *folder, int depth)
{
    struct names entries = { .name = NULL };
    enum rc rc;

    if (depth > MAX_DEPTH)
        FAIL(RC_INVAL, "%s: more than %d folders deep: do links make a circle?", folder, MAX_DEPTH);
    TRY(list(&entries, folder));
    for (size_t i = 0; i < entries.n; i++)
        TRY(add_entry(f, pixels_path(folder, entries.name[i]), depth));
out:
    names_free(&entries);
    return rc;
}

/* The folders in `folder` are the classes. */
static enum rc find_classes(struct folders *f, const char *folder)
{
    struct names entries = { .name = NULL };
    enum rc rc;

    TRY(list(&entries, folder));
    for (size_t i = 0; i < entries.n; i++) {
        if (!has_folder(folder, entries.name[i])) {
            f->n_left_out++;
            continue;
        }
        if (strchr(entries.name[i], '\n') != NULL)
            FAIL(RC_INVAL, "%s: the name of its folder %zu has a line break in it", folder, i);
        TRY(names_add(&f->classes, strdup(entries.name[i])));
    }
    if (f->classes.n < 2)
        FAIL(RC_INVAL, "%s: holds %s; one folder for each of two or more classes is wanted", folder,
             f->classes.n == 1 ? "one folder" : "no folder");
out:
    names_free(&entries);
    return rc;
}

static enum rc no_stranger(const struct folders *f, const char *folder)
{
    struct names entries = { .name = NULL };
    enum rc rc;

    TRY(list(&entries, folder));
    for (size_t i = 0; i < entries.n; i++) {
        const char *name = entries.name[i];
        if (has_folder(folder, name) &&
            bsearch(&name, f->classes.name, f->classes.n, sizeof *f->classes.name, by_bytes) == NULL)
            FAIL(RC_INVAL, "%s/%s: no folder for training has this class's name", folder, name);
    }
out:
    names_free(&entries);
    return rc;
}

/* Images of every class in `folder`, and their labels. A class may have none. */
static enum rc add_images(struct folders *f, const char *folder)
{
    char *path = NULL;
    enum rc rc = RC_OK;

    for (size_t label = 0; label < f->classes.n; label++) {
        const size_t first = f->files.n;
        if (!has_folder(folder, f->classes.name[label]))
            continue;
        free(path);
        path = pixels_path(folder, f->classes.name[label]);
        if (path == NULL)
            FAIL(RC_NOMEM, "%s: no memory for a path", folder);
        TRY(add_files(f, path, 1));
        uint32_t *grown = realloc(f->base.label, (f->files.n + 1) * sizeof *grown);
        if (grown == NULL)
            FAIL(RC_NOMEM, "%s: no memory for %zu labels", folder, f->files.n);
        f->base.label = grown;
        for (size_t i = first; i < f->files.n; i++)
            f->base.label[i] = (uint32_t)label;
    }
out:
    free(path);
    return rc;
}

/* uint8_t (C, H, W) */
static enum rc folders_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    const struct folders *f = (const struct folders *)d;
    struct picture p = { .rgb = NULL };
    enum rc rc;

    TRY(picture_read(&p, f->files.name[i]));
    TRY(picture_crop(out, &p, &f->crop, f->files.name[i]));
out:
    picture_free(&p);
    return rc;
}

static enum rc folders_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const size_t plane = (size_t)d->H * (size_t)d->W;
    uint8_t *byte = malloc(d->n_features);
    enum rc rc = RC_OK;

    if (byte == NULL)
        FAIL(RC_NOMEM, "no memory for an image");
    TRY(folders_bytes(d, i, byte));
    for (size_t k = 0; k < d->n_features; k++)
        x[k / plane * channel_stride + k % plane] = pixels_scaled(byte[k]);
out:
    free(byte);
    return rc;
}

static void folders_close(struct dataset *d)
{
    struct folders *f = (struct folders *)d;

    names_free(&f->classes);
    names_free(&f->files);
}

static const struct dataset_ops folders_ops = {
    .image = folders_image,
    .label = dataset_array_label,
    .bytes = folders_bytes,
    .close = folders_close,
};

/* folder NULL: no memory for its name. */
static enum rc find_train(struct folders *f, const char *folder)
{
    enum rc rc;

    if (folder == NULL)
        FAIL(RC_NOMEM, "no memory for a path");
    TRY(find_classes(f, folder));
    TRY(add_images(f, folder));
    f->base.n_train = f->files.n;
    if (f->base.n_train == 0)
        FAIL(RC_INVAL, "%s: its folders hold no file named .jpg, .jpeg or .png", folder);
out:
    return rc;
}

static enum rc find_test(struct folders *f, const char *folder)
{
    enum rc rc;

    if (folder == NULL)
        FAIL(RC_NOMEM, "no memory for a path");
    TRY(no_stranger(f, folder));
    TRY(add_images(f, folder));
    f->base.n_test = f->files.n - f->base.n_train;
out:
    return rc;
}

static enum rc find_images(struct folders *f, const char *path)
{
    const bool split = has_folder(path, "train");
    const char *const test = has_folder(path, "val") ? "val" : has_folder(path, "test") ? "test" : NULL;
    char *train_folder = split ? pixels_path(path, "train") : strdup(path);
    char *test_folder = split && test != NULL ? pixels_path(path, test) : NULL;
    enum rc rc;

    TRY(find_train(f, train_folder));
    if (split && test != NULL)
        TRY(find_test(f, test_folder));
out:
    free(train_folder);
    free(test_folder);
    return rc;
}

bool image_folders_at(const char *path)
{
    struct names entries = { .name = NULL };
    bool has = false;

    if (list(&entries, path) != RC_OK)
        rc_clear();
    for (size_t i = 0; i < entries.n && !has; i++)
        has = has_folder(path, entries.name[i]);
    names_free(&entries);
    return has;
}

enum rc image_folders_open(struct dataset **out, const char *path, const struct picture_crop *crop)
{
    struct folders *f = calloc(1, sizeof *f);
    struct dataset *d = f != NULL ? &f->base : NULL;
    enum rc rc = RC_OK;

    if (f == NULL)
        FAIL(RC_NOMEM, "data set folders: %zu bytes", sizeof *f);
    f->base.ops = &folders_ops;
    f->base.name = "folders";
    f->base.C = crop->channels;
    f->base.H = f->base.W = crop->image_size;
    f->base.n_features = (size_t)crop->channels * (size_t)crop->image_size * (size_t)crop->image_size;
    f->crop = *crop;
    TRY(find_images(f, path));
    f->base.n_classes = f->classes.n;
    *out = d;
    d = NULL;
out:
    dataset_close(&d);
    return rc;
}

const char *image_folders_class(const struct dataset *d, size_t label)
{
    return ((const struct folders *)d)->classes.name[label];
}

size_t image_folders_left_out_count(const struct dataset *d)
{
    return ((const struct folders *)d)->n_left_out;
}
