/* SPDX-License-Identifier: Apache-2.0 */
/* pack_verb.c - gradmark pack: a data set of images as *.gmimg shards, which open at once however large they are. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/gmimg.h"
#include "harness/base/folder.h"
#include "harness/base/opt.h"
#include "harness/verbs/verb.h"

enum { MAX_SHARDS = 100000 }; /* of a kind: five digits, so that names sort as numbers do */

struct pack_opts {
    const char *data, *out;
    uint64_t shard_images, limit;
};

static const struct opt table[] = {
    OPT_TEXT_(struct pack_opts, data, "data", "", "PATH",
              "what is packed: a folder with MNIST's IDX files, CIFAR-10's or shards, a digits CSV or a shard"),
    OPT_TEXT_(struct pack_opts, out, "out", "", "DIR", "folder for the shards: empty, or not there yet"),
    OPT_U64_(struct pack_opts, shard_images, "shard-images", "10000", 1, 9007199254740992.0, "images",
             "at most this many in a shard"),
    OPT_U64_(struct pack_opts, limit, "limit", "", 1, 9007199254740992.0, "images",
             "only the first of the training images and of the test images; without it: all"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "pack", table, 0 }, { NULL, NULL, 0 } };

/* Nothing is overwritten, and nothing of another data set is left beside the shards. rename() finds it, too; this
 * names what is there before anything is read. */
static enum rc check_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    const int error = errno;
    const struct dirent *entry;
    enum rc rc = RC_OK;

    if (dir == NULL && error == ENOENT)
        return RC_OK; /* it is made later */
    if (dir == NULL)
        FAIL(RC_INVAL, "--out %s: %s", folder, strerror(error));
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            FAIL(RC_INVAL, "--out %s: holds %s; name a folder that is empty or not there yet", folder, entry->d_name);
out:
    if (dir != NULL)
        (void)closedir(dir);
    return rc;
}

/* A range of the images of a data set, written as shards of one kind. */
struct part {
    const char *kind; /* "train", "test" */
    size_t first, n_images;
    size_t n_shards, n_written;
    uint64_t n_bytes;
};

static struct part part_of(const struct pack_opts *o, const char *kind, size_t first, size_t n_images)
{
    const size_t n = o->limit > 0 && o->limit < n_images ? (size_t)o->limit : n_images;

    return (struct part){ .kind = kind,
                          .first = first,
                          .n_images = n,
                          .n_shards = n / (size_t)o->shard_images + (n % (size_t)o->shard_images != 0) };
}

static char *shard_path(const char *folder, const struct part *p, size_t shard)
{
    char name[32];

    snprintf(name, sizeof name, "%s-%05zu.gmimg", p->kind, shard % MAX_SHARDS);
    return pixels_path(folder, name);
}

static enum rc write_shard(struct part *p, const struct pack_opts *o, const char *folder, const struct dataset *d)
{
    const size_t from = p->n_written * (size_t)o->shard_images, left = p->n_images - from;
    const size_t n = left < o->shard_images ? left : (size_t)o->shard_images;
    char *path = shard_path(folder, p, p->n_written);
    struct stat info = { .st_size = 0 };
    enum rc rc;

    if (path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a path", folder);
    TRY(gmimg_write(path, d, p->first + from, n));
    p->n_written++;
    if (stat(path, &info) != 0)
        FAIL(RC_IO, "%s: %s", path, strerror(errno));
    p->n_bytes += (uint64_t)info.st_size;
    printf("%s%s: %zu images, %lld bytes\n", o->out, strrchr(path, '/'), n, (long long)info.st_size);
out:
    free(path);
    return rc;
}

/* Some of the shards would look like all of a smaller data set: they appear together or not at all. */
static enum rc write_parts(struct part part[2], const struct pack_opts *o, const struct dataset *d,
                           enum verb_stage *stage)
{
    struct atomic_folder folder = { .path = NULL };
    enum rc rc;

    TRY(atomic_folder_open(&folder, o->out));
    *stage = STAGE_RUN;
    for (int i = 0; i < 2; i++)
        while (part[i].n_written < part[i].n_shards)
            TRY(write_shard(&part[i], o, folder.temporary_path, d));
    TRY(atomic_folder_commit(&folder));
    const uint64_t n_bytes = part[0].n_bytes + part[1].n_bytes;
    printf("%s: %zu training and %zu test images of %d x %d x %d in %zu classes: %zu shards, %" PRIu64 " bytes\n",
           d->name, part[0].n_images, part[1].n_images, d->C, d->H, d->W, d->n_classes,
           part[0].n_shards + part[1].n_shards, n_bytes);
out:
    atomic_folder_discard(&folder);
    return rc;
}

static enum rc check_wanted(const struct pack_opts *o)
{
    if (o->data[0] == '\0')
        return rc_raise(RC_INVAL, "--data: needed: the images to pack");
    if (o->out[0] == '\0')
        return rc_raise(RC_INVAL, "--out: needed: a folder for the shards");
    return check_empty(o->out);
}

static enum rc pack_run(struct verb_call *call)
{
    const struct pack_opts *o = call->opts;
    struct dataset *d = NULL;
    enum rc rc;

    TRY(check_wanted(o));
    TRY(dataset_open_path(&d, o->data));
    struct part part[2] = { part_of(o, "train", 0, d->n_train), part_of(o, "test", d->n_train, d->n_test) };
    for (int i = 0; i < 2; i++)
        if (part[i].n_shards > MAX_SHARDS)
            FAIL(RC_INVAL, "--shard-images %llu: makes more than %d shards of the %zu %s images",
                 (unsigned long long)o->shard_images, MAX_SHARDS, part[i].n_images, i == 0 ? "training" : "test");
    TRY(write_parts(part, o, d, &call->stage));
    if (fflush(stdout) != 0)
        FAIL(RC_IO, "standard output: %s", strerror(errno));
out:
    dataset_close(&d);
    return rc;
}

const struct verb verb_pack = {
    .name = "pack",
    .summary = "write a data set of images as shards that open at once",
    .introduction =
        "Writes train-00000.gmimg, ... and, of the test images, test-00000.gmimg, ...; train --data DIR reads them.\n"
        "A shard holds a byte a pixel, which networks see as (byte - 127.5) / 63.75. Digits straight from their CSV\n"
        "are scaled otherwise (value / 16 - 0.3): packed, they are the same images but train to other figures.\n"
        "DIR appears when all is written; an interrupted run leaves DIR.partial-XXXXXX, which can be removed.\n\n",
    .opts_bytes = sizeof(struct pack_opts),
    .group = groups,
    .run = pack_run,
};
