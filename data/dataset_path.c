/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_path.c - recognises the format of the data set at a path by file names and first bytes, and opens it. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/gmimg.h"
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

#define CIFAR100_REMEDY \
    "which is not read; write it as folders of PNG files, one for each class, of which gradmark pack makes a data set"

enum format {
    FORMAT_IDX,
    FORMAT_CIFAR10,
    FORMAT_CIFAR10_PYTHON,
    FORMAT_CIFAR100,
    FORMAT_FOLDERS,
    FORMAT_PICTURES, /* without folders: no classes */
    FORMAT_GMIMG
};

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

static bool is_one_of(const char *const *known, const char *name)
{
    for (; *known; known++)
        if (strcmp(*known, name) == 0)
            return true;
    return false;
}

bool dataset_path_is_part(const char *name)
{
    const size_t n = strlen(name);

    return is_one_of(idx, name) || is_one_of(cifar, name) || (n > 6 && strcmp(name + n - 6, ".gmimg") == 0);
}

/* One file is enough to recognise the format; the function that opens it names files that are missing. */
static enum format format_of(const char *folder)
{
    if (any_exists(folder, idx))
        return FORMAT_IDX;
    if (any_exists(folder, cifar))
        return FORMAT_CIFAR10;
    if (pixels_exists(folder, "data_batch_1"))
        return FORMAT_CIFAR10_PYTHON;
    if (pixels_exists(folder, "fine_label_names.txt") ||
        (pixels_exists(folder, "meta") && pixels_exists(folder, "train") && pixels_exists(folder, "test")))
        return FORMAT_CIFAR100;
    if (has_gmimg(folder))
        return FORMAT_GMIMG;
    return image_folders_at(folder) ? FORMAT_FOLDERS : image_folders_flat(folder) ? FORMAT_PICTURES : FORMAT_GMIMG;
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
    case FORMAT_CIFAR100:
        return rc_raise(RC_INVAL, "%s: holds CIFAR-100, " CIFAR100_REMEDY, folder);
    case FORMAT_FOLDERS:
        return rc_raise(RC_INVAL,
                        "%s: holds folders of pictures; pack them first: gradmark pack --data %s --out shards "
                        "--image-size 32 (for lenet: --image-size 28 --channels 1)",
                        folder, folder);
    case FORMAT_PICTURES:
        return rc_raise(
            RC_INVAL,
            "%s: holds pictures, but no folders of them; name the folder above it, which has one folder for "
            "each class",
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

enum { BEGIN_BYTES = 512, CIFAR10_RECORD_BYTES = 3073, CIFAR100_RECORD_BYTES = 3074 };

struct begin { /* of a file */
    const char *path;
    unsigned char byte[BEGIN_BYTES];
    size_t n_bytes;
    uint64_t n_file_bytes;
};

/* Files that are known by what they begin with, but not read. */
static enum rc refuse_known(const struct begin *b)
{
    static const struct {
        int offset, n_bytes;
        const char *bytes, *what;
    } known[] = {
        { 0, 2, "\x1f\x8b", "is compressed (gzip); gunzip it first" },
        { 0, 6,
          "\xfd"
          "7zXZ\0",
          "is compressed (xz); unxz it first" },
        { 0, 3, "BZh", "is compressed (bzip2); bunzip2 it first" },
        { 0, 4, "\x28\xb5\x2f\xfd", "is compressed (zstd); unzstd it first" },
        { 0, 4, "PK\3\4", "is a zip archive; unpack it, and give the folder" },
        { 257, 5, "ustar", "is a tar archive; unpack it, and give the folder" },
        { 0, 4, "\0\0\x08\x01", "is an IDX file; give the folder with all four" },
        { 0, 4, "\0\0\x08\x03", "is an IDX file; give the folder with all four" },
        { 0, 6, "\x93NUMPY", "is a NumPy array, which is not read" },
        { 0, 4, "\x89HDF", "is an HDF5 file, which is not read" },
        { 0, 4, "PAR1", "is a Parquet file, which is not read" },
        { 0, 2, "\x80\2", "is a Python pickle, which is not read; of CIFAR-10 the binary version is" },
        { 0, 2, "\x80\3", "is a Python pickle, which is not read; of CIFAR-10 the binary version is" },
        { 0, 2, "\x80\4", "is a Python pickle, which is not read; of CIFAR-10 the binary version is" },
        { 0, 2, "\x80\5", "is a Python pickle, which is not read; of CIFAR-10 the binary version is" },
        { 0, 4, "\x89PNG", "is a picture; gradmark pack makes a data set of folders of pictures, one for each class" },
        { 0, 3, "\xff\xd8\xff",
          "is a picture; gradmark pack makes a data set of folders of pictures, one for each class" },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((size_t)known[i].offset + (size_t)known[i].n_bytes <= b->n_bytes &&
            memcmp(b->byte + known[i].offset, known[i].bytes, (size_t)known[i].n_bytes) == 0)
            return rc_raise(RC_INVAL, "%s: offset %d: %s", b->path, known[i].offset, known[i].what);
    return RC_OK;
}

/* CIFAR's binary files have no magic number: whole records of one length, which begin with labels. */
static enum rc refuse_cifar(const struct begin *b)
{
    if (b->n_file_bytes == 0)
        return rc_raise(RC_INVAL, "%s: is empty", b->path);
    if (b->n_file_bytes % CIFAR10_RECORD_BYTES == 0 && b->byte[0] < 10)
        return rc_raise(RC_INVAL, "%s: is one of CIFAR-10's six files; give the folder that holds them", b->path);
    if (b->n_file_bytes % CIFAR100_RECORD_BYTES == 0 && b->byte[0] < 20 && b->byte[1] < 100)
        return rc_raise(RC_INVAL, "%s: looks like CIFAR-100, " CIFAR100_REMEDY, b->path);
    return RC_OK;
}

static enum rc refuse_binary(const struct begin *b)
{
    for (size_t i = 0; i < b->n_bytes; i++)
        if (b->byte[i] < 0x20 && !strchr("\t\n\r", b->byte[i]))
            return rc_raise(
                RC_INVAL,
                "%s: offset %zu: is neither text nor of another format that is read; use a .gmimg shard, or "
                "the folder with the files of MNIST or CIFAR-10",
                b->path, i);
    return RC_OK;
}

/* What is text can only be digits. */
static enum rc open_text(struct dataset **out, const char *path)
{
    char why[RC_MESSAGE_BYTES];
    const enum rc rc = dataset_open_digits(out, path);

    if (rc != RC_INVAL)
        return rc;
    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(RC_INVAL, "%.400s; as text it was read as a table of digits (CSV)", why);
}

static enum rc read_begin(struct begin *b, const char *path, const struct stat *info)
{
    FILE *file = fopen(path, "rbe");

    *b = (struct begin){ .path = path, .n_file_bytes = (uint64_t)info->st_size };
    if (file == NULL)
        return rc_raise(RC_INVAL, "%s: %s", path, strerror(errno));
    b->n_bytes = fread(b->byte, 1, sizeof b->byte, file);
    (void)fclose(file);
    return RC_OK;
}

enum rc dataset_open_path(struct dataset **out, const char *path)
{
    struct stat info;
    struct begin b;
    enum rc rc;

    if (stat(path, &info) != 0)
        return rc_raise(RC_INVAL, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return open_folder(out, path);
    if (!S_ISREG(info.st_mode))
        return rc_raise(RC_INVAL, "%s: is neither a folder nor a regular file", path);
    TRY(read_begin(&b, path, &info));
    if (b.n_bytes >= sizeof GMIMG_MAGIC && memcmp(b.byte, GMIMG_MAGIC, sizeof GMIMG_MAGIC) == 0)
        return pixels_open_gmimg(out, path);
    TRY(refuse_known(&b));
    const size_t n = strlen(path);
    if (n > 6 && strcmp(path + n - 6, ".gmimg") == 0)
        return pixels_open_gmimg(out, path); /* which says what is wrong with it */
    TRY(refuse_cifar(&b));
    TRY(refuse_binary(&b));
    TRY(open_text(out, path));
out:
    return rc;
}
