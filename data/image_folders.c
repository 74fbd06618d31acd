/* SPDX-License-Identifier: Apache-2.0 */
/* image_folders.c - a data set of JPEG and PNG files, one folder per class, like ImageNet; see image_folders.h. */
#include "data/image_folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/pixels.h"

enum { MAX_DEPTH = 8 }; /* of folders in a class; links could make a circle */

struct names { /* in the order of data.I1 */
    char **name;
    size_t n, n_room;
};

struct folders {
    struct dataset base;
    struct picture_crop crop;
    struct names classes, files;
    struct names unused; /* sentences: PATH: why */
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

/* All in the folder but "." and "..", whose names begin with a dot or not; sorted. RC_INVAL: path and reason. */
static enum rc list_some(struct names *out, const char *path, bool hidden)
{
    DIR *dir = opendir(path);
    const int error = errno;
    enum rc rc = RC_OK;

    if (dir == NULL)
        FAIL(RC_INVAL, "%s: %s", path, strerror(error));
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if ((e->d_name[0] == '.') == hidden && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            TRY(names_add(out, strdup(e->d_name)));
    if (out->n > 0)
        qsort(out->name, out->n, sizeof *out->name, by_bytes);
out:
    if (dir != NULL)
        (void)closedir(dir);
    return rc;
}

/* But for hidden ones, which are passed over. */
static enum rc list(struct names *out, const char *path)
{
    return list_some(out, path, false);
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

static bool has_ending(const char *name, const char *const *ending)
{
    const char *dot = strrchr(name, '.');

    for (; dot != NULL && *ending != NULL; ending++)
        if (strcasecmp(dot, *ending) == 0)
            return true;
    return false;
}

static bool is_image_name(const char *name)
{
    static const char *const ending[] = { ".jpg", ".jpeg", ".png", NULL };

    return has_ending(name, ending);
}

/* Pictures by name that others read, and gradmark does not. */
static bool is_other_image_name(const char *name)
{
    static const char *const ending[] = { ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp", NULL };

    return has_ending(name, ending);
}

/* What is not used of PATH, and why. */
static enum rc note_unused(struct folders *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static enum rc note_unused(struct folders *f, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return names_add(&f->unused, text);
}

/* A file that is no image of a class. why: of an image that could be one. */
static enum rc note_file(struct folders *f, const char *folder, const char *name, const char *why)
{
    if (is_other_image_name(name))
        return note_unused(f, "%s/%s: no .jpg, .jpeg or .png", folder, name);
    if (is_image_name(name))
        return note_unused(f, "%s/%s: %s", folder, name, why);
    f->n_left_out++;
    return RC_OK;
}

/* Hidden folders are noted, and of hidden pictures the first: there may be one beside each picture. */
static enum rc note_hidden(struct folders *f, const char *folder)
{
    struct names hidden = { .name = NULL };
    const char *first = NULL;
    size_t n_pictures = 0;
    enum rc rc;

    TRY(list_some(&hidden, folder, true));
    for (size_t i = 0; i < hidden.n; i++) {
        const char *name = hidden.name[i];
        if (has_folder(folder, name)) {
            TRY(note_unused(f, "%s/%s: is hidden, its name begins with a dot", folder, name));
        } else if (is_image_name(name) || is_other_image_name(name)) {
            first = first ? first : name;
            n_pictures++;
        }
    }
    if (n_pictures == 1)
        TRY(note_unused(f, "%s/%s: is hidden, its name begins with a dot", folder, first));
    else if (n_pictures > 1)
        TRY(note_unused(f, "%s/%s: is hidden, its name begins with a dot, and so %s %zu more in this folder", folder,
                        first, n_pictures == 2 ? "is" : "are", n_pictures - 1));
out:
    names_free(&hidden);
    return rc;
}

/* Images in `folder` and in folders of it, by name; counts on to n_most. What cannot be read holds none. */
static size_t count_images(const char *folder, size_t n_most, int depth)
{
    struct names entries = { .name = NULL };
    size_t n = 0;

    if (depth > MAX_DEPTH || list(&entries, folder) != RC_OK)
        rc_clear();
    for (size_t i = 0; i < entries.n && n < n_most; i++) {
        char *path = pixels_path(folder, entries.name[i]);
        if (path != NULL && is_folder(path))
            n += count_images(path, n_most - n, depth + 1);
        else
            n += is_image_name(entries.name[i]);
        free(path);
    }
    names_free(&entries);
    return n;
}

static bool holds_images(const char *folder)
{
    return count_images(folder, 1, 1) > 0;
}

static enum rc add_files(struct folders *f, const char *folder, int depth);

/* One entry of a folder of a class. */
static enum rc add_entry(struct folders *f, const char *folder, const char *name, int depth)
{
    char *path = pixels_path(folder, name);
    enum rc rc = RC_OK;

    if (path == NULL)
        FAIL(RC_NOMEM, "no memory for the names of files");
    if (is_folder(path)) {
        TRY(add_files(f, path, depth + 1));
    } else if (is_image_name(name)) {
        char *const kept = path;
        path = NULL;
        TRY(names_add(&f->files, kept));
    } else {
        TRY(note_file(f, folder, name, ""));
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
    TRY(note_hidden(f, folder));
    for (size_t i = 0; i < entries.n; i++)
        TRY(add_entry(f, folder, entries.name[i], depth));
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
    TRY(note_hidden(f, folder));
    for (size_t i = 0; i < entries.n; i++) {
        if (!has_folder(folder, entries.name[i])) {
            TRY(note_file(f, folder, entries.name[i], "in no folder of a class"));
            continue;
        }
        if (strchr(entries.name[i], '\n') != NULL)
            FAIL(RC_INVAL, "%s: the name of its folder %zu has a line break in it; rename the folder", folder, i);
        TRY(names_add(&f->classes, strdup(entries.name[i])));
    }
    if (f->classes.n < 2)
        FAIL(RC_INVAL, "%s: holds %s; use one folder for each class, and two classes or more", folder,
             f->classes.n == 1 ? "one folder" : "no folder");
out:
    names_free(&entries);
    return rc;
}

/* Folders and files in the folder of the test images that are no class's. */
static enum rc check_strangers(struct folders *f, const char *folder)
{
    struct names entries = { .name = NULL };
    char *path = NULL;
    enum rc rc;

    TRY(list(&entries, folder));
    TRY(note_hidden(f, folder));
    for (size_t i = 0; i < entries.n; i++) {
        const char *name = entries.name[i];
        free(path);
        path = pixels_path(folder, name);
        if (path == NULL)
            FAIL(RC_NOMEM, "%s: no memory for a path", folder);
        if (!is_folder(path))
            TRY(note_file(f, folder, name, "in no folder of a class"));
        else if (!holds_images(path))
            TRY(note_unused(f, "%s: holds no .jpg, .jpeg or .png", path));
        else if (bsearch(&name, f->classes.name, f->classes.n, sizeof *f->classes.name, by_bytes) == NULL)
            FAIL(RC_INVAL, "%s: no folder for training has this name; add it there, or remove this one", path);
    }
out:
    free(path);
    names_free(&entries);
    return rc;
}

/* Images of every class in `folder`, and their labels. A class may have none for testing. */
static enum rc add_images(struct folders *f, const char *folder, bool for_training)
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
        if (for_training && f->files.n == first)
            FAIL(RC_INVAL,
                 "%s: holds no file named .jpg, .jpeg or .png, and each class needs one; add images, or remove the "
                 "folder",
                 path);
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
    names_free(&f->unused);
}

static const struct dataset_ops folders_ops = {
    .image = folders_image,
    .label = dataset_array_label,
    .bytes = folders_bytes,
    .close = folders_close,
};

/* --- splits --- */

enum split { SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST, SPLIT_NONE };
static const char *const split_use[] = { "training", "validation", "testing" };

/* What a folder of that name holds, if it holds folders of classes. */
static enum split split_named(const char *name)
{
    static const struct {
        const char *name;
        enum split split;
    } known[] = {
        { "train", SPLIT_TRAIN },    { "training", SPLIT_TRAIN }, { "val", SPLIT_VAL },      { "valid", SPLIT_VAL },
        { "validation", SPLIT_VAL }, { "test", SPLIT_TEST },      { "testing", SPLIT_TEST },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(known[i].name, name) == 0)
            return known[i].split;
    return SPLIT_NONE;
}

/* Does it hold a folder with images, as a split does? */
static bool holds_classes(const char *folder)
{
    struct names entries = { .name = NULL };
    bool holds = false;

    if (list(&entries, folder) != RC_OK)
        rc_clear();
    for (size_t i = 0; i < entries.n && !holds; i++) {
        char *path = pixels_path(folder, entries.name[i]);
        holds = path != NULL && is_folder(path) && holds_images(path);
        free(path);
    }
    names_free(&entries);
    return holds;
}

/* The folders in `path`: the name of each split, in `entries`, or NULL. */
static enum rc find_splits(const char *split[SPLIT_NONE], const struct names *entries, const char *path)
{
    size_t n_folders = 0, n_named = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < entries->n; i++) {
        const enum split s = split_named(entries->name[i]);
        char *folder = pixels_path(path, entries->name[i]);
        const bool is = folder != NULL && is_folder(folder),
                   has_classes = is && s != SPLIT_NONE && holds_classes(folder);
        free(folder);
        n_folders += is;
        n_named += is && s != SPLIT_NONE;
        if (has_classes && split[s] != NULL)
            FAIL(RC_INVAL, "%s: holds %s and %s, both for %s; rename or remove one", path, split[s], entries->name[i],
                 split_use[s]);
        if (has_classes)
            split[s] = entries->name[i];
    }
    if (split[SPLIT_TRAIN] == NULL && (split[SPLIT_VAL] != NULL || split[SPLIT_TEST] != NULL))
        FAIL(RC_INVAL, "%s: holds %s/CLASS, but no train/CLASS with images", path,
             split[SPLIT_VAL] != NULL ? split[SPLIT_VAL] : split[SPLIT_TEST]);
    if (split[SPLIT_TRAIN] == NULL && n_folders > 0 && n_named == n_folders)
        FAIL(RC_INVAL, "%s: holds folders that are named as splits, without folders of classes; use train/CLASS", path);
out:
    return rc;
}

/* What lies beside the folders of splits that are used. */
static enum rc note_others(struct folders *f, const struct names *entries, const char *path, const char *train,
                           const char *test)
{
    char *folder = NULL;
    enum rc rc;

    TRY(note_hidden(f, path));
    for (size_t i = 0; i < entries->n; i++) {
        const char *name = entries->name[i];
        free(folder);
        folder = pixels_path(path, name);
        if (folder == NULL)
            FAIL(RC_NOMEM, "%s: no memory for a path", path);
        if (name == train || name == test)
            continue;
        if (!is_folder(folder))
            TRY(note_file(f, path, name, "in no folder of a class"));
        else if (test != NULL && split_named(name) != SPLIT_NONE && holds_classes(folder))
            TRY(note_unused(f, "%s: the images for testing are those of %s/%s", folder, path, test));
        else if (!holds_images(folder))
            TRY(note_unused(f, "%s: holds no .jpg, .jpeg or .png", folder));
        else
            TRY(note_unused(f, "%s: its %zu images are in no folder of a class for training or testing", folder,
                            count_images(folder, SIZE_MAX, 1)));
    }
out:
    free(folder);
    return rc;
}

static enum rc find_train(struct folders *f, const char *folder)
{
    enum rc rc;

    TRY(find_classes(f, folder));
    TRY(add_images(f, folder, true));
    f->base.n_train = f->files.n;
out:
    return rc;
}

static enum rc find_test(struct folders *f, const char *folder)
{
    enum rc rc;

    TRY(check_strangers(f, folder));
    TRY(add_images(f, folder, false));
    f->base.n_test = f->files.n - f->base.n_train;
out:
    return rc;
}

static enum rc find_images(struct folders *f, const char *path)
{
    struct names entries = { .name = NULL };
    const char *split[SPLIT_NONE] = { NULL };
    char *train_folder = NULL, *test_folder = NULL;
    enum rc rc;

    TRY(list(&entries, path));
    TRY(find_splits(split, &entries, path));
    const char *const train = split[SPLIT_TRAIN];
    const char *const test = split[SPLIT_VAL] != NULL ? split[SPLIT_VAL] : split[SPLIT_TEST];
    train_folder = train != NULL ? pixels_path(path, train) : strdup(path);
    test_folder = pixels_path(path, test != NULL ? test : "");
    if (train_folder == NULL || test_folder == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a path", path);
    TRY(find_train(f, train_folder));
    if (test != NULL)
        TRY(find_test(f, test_folder));
    if (train != NULL)
        TRY(note_others(f, &entries, path, train, test));
out:
    free(train_folder);
    free(test_folder);
    names_free(&entries);
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

bool image_folders_flat(const char *path)
{
    struct names entries = { .name = NULL };
    bool has = false;

    if (list(&entries, path) != RC_OK)
        rc_clear();
    for (size_t i = 0; i < entries.n && !has; i++)
        has = is_image_name(entries.name[i]);
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

size_t image_folders_unused_count(const struct dataset *d)
{
    return ((const struct folders *)d)->unused.n;
}

const char *image_folders_unused(const struct dataset *d, size_t i)
{
    return ((const struct folders *)d)->unused.name[i];
}
