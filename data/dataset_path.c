/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_path.c - recognises the format of the data set at a path by file names and first bytes, and opens it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/gmimg_format.h"
#include "data/image_folders.h"
#include "data/pixels.h"

static bool any_exists(const char *folder, const char *const *name)
{
    for (size_t i = 0; name[i] != NULL; i++)
        if (pixels_exists(folder, name[i]))
            return true;
    return false;
}

static int is_gmimg(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);

    return n > 6 && strcmp(entry->d_name + n - 6, ".gmimg") == 0;
}

static bool has_gmimg(const char *folder)
{
    struct dirent **entry = NULL;
    const int n = scandir(folder, &entry, is_gmimg, NULL);

    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    return n > 0;
}

enum format { FORMAT_IDX, FORMAT_CIFAR10, FORMAT_CIFAR10_PYTHON, FORMAT_FOLDERS, FORMAT_GMIMG };

/* One file is enough to recognise the format; the function that opens it names files that are missing. */
static enum format format_of(const char *folder)
{
    static const char *const idx[] = { "train-images-idx3-ubyte",    "train-images.idx3-ubyte",
                                       "train-labels-idx1-ubyte",    "train-labels.idx1-ubyte",
                                       "t10k-images-idx3-ubyte",     "t10k-images.idx3-ubyte",
                                       "t10k-labels-idx1-ubyte",     "t10k-labels.idx1-ubyte",
                                       "train-images-idx3-ubyte.gz", NULL };
    static const char *const cifar[] = { "data_batch_1.bin",
                                         "data_batch_2.bin",
                                         "data_batch_3.bin",
                                         "data_batch_4.bin",
                                         "data_batch_5.bin",
                                         "test_batch.bin",
                                         NULL };

    if (any_exists(folder, idx))
        return FORMAT_IDX;
    if (any_exists(folder, cifar))
        return FORMAT_CIFAR10;
    if (pixels_exists(folder, "data_batch_1"))
        return FORMAT_CIFAR10_PYTHON;
    return image_folders_at(folder) && !has_gmimg(folder) ? FORMAT_FOLDERS : FORMAT_GMIMG;
}

static enum rc open_folder(struct dataset **out, const char *folder)
{
    switch (format_of(folder)) {
    case FORMAT_IDX:
        return pixels_open_idx(out, folder);
    case FORMAT_CIFAR10:
        return pixels_open_cifar10(out, folder);
    case FORMAT_CIFAR10_PYTHON:
        return rc_raise(RC_INVAL, "%s: holds the Python version of CIFAR-10; the binary version is read", folder);
    case FORMAT_FOLDERS:
        return rc_raise(RC_INVAL,
                        "%s: holds folders, no data set; of folders of JPEG or PNG files, one for each class, gradmark "
                        "pack makes one",
                        folder);
    case FORMAT_GMIMG:
        break;
    }
    return pixels_open_gmimg(out, folder);
}

bool dataset_path_is_folders(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && format_of(path) == FORMAT_FOLDERS;
}

enum rc dataset_open_path(struct dataset **out, const char *path)
{
    struct stat info;
    char begin[sizeof GMIMG_MAGIC] = { 0 };

    if (stat(path, &info) != 0)
        return rc_raise(RC_INVAL, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return open_folder(out, path);
    if (!S_ISREG(info.st_mode))
        return rc_raise(RC_INVAL, "%s: is neither a folder nor a regular file", path);
    FILE *file = fopen(path, "rbe");
    const size_t n_read = file != NULL ? fread(begin, 1, sizeof begin, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    if (n_read == sizeof begin && memcmp(begin, GMIMG_MAGIC, sizeof begin) == 0)
        return pixels_open_gmimg(out, path);
    const size_t n = strlen(path);
    if (n > 6 && strcmp(path + n - 6, ".gmimg") == 0)
        return pixels_open_gmimg(out, path); /* which says what is wrong with it */
    if (n_read >= 2 && memcmp(begin, "\x1f\x8b", 2) == 0)
        return rc_raise(RC_INVAL, "%s: offset 0: is compressed (gzip); gunzip it first", path);
    if (n_read >= 4 && (memcmp(begin, "\0\0\x08\x01", 4) == 0 || memcmp(begin, "\0\0\x08\x03", 4) == 0))
        return rc_raise(RC_INVAL, "%s: offset 0: is an IDX file; give the folder with all four", path);
    if (n > 4 && strcmp(path + n - 4, ".bin") == 0)
        return rc_raise(RC_INVAL, "%s: is one of CIFAR-10's six files; give the folder that holds them", path);
    return dataset_open_digits(out, path);
}
