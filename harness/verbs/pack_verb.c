/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_verb.c - gradmark pack: a data set of images as *.gmimg shards, which open at once however large they are.
 *
 * Of folders of JPEG and PNG files, each file is decoded once. One that is broken ends the run, or, with --skip-broken,
 * is named and left out: the next one takes its place in the shard.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/gmimg.h"
#include "data/image_folders.h"
#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/hold.h"
#include "harness/base/opt.h"
#include "harness/base/terminal.h"
#include "harness/report/record.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"

enum { USUAL_IMAGE_SIZE = 224 }; /* of networks for ImageNet, Inception v3 excepted */
enum { MAX_SHARDS = 100000 };    /* of a kind: five digits, so that names sort as numbers do */

struct pack_opts {
    const char *data, *out;
    uint64_t shard_images, image_size, channels;
    bool skip_broken;
};

static const struct opt table[] = {
    OPT_FILE_(struct pack_opts, data, "data", OPT_READ, "", "PATH",
              "images to pack: a folder of picture files, MNIST, CIFAR-10 or shards, or a digits CSV. A folder of "
              "picture files has one folder of JPEG or PNG files for each class. A single shard is read, too"),
    OPT_FILE_(struct pack_opts, out, "out", OPT_MADE_FOLDER, "", "DIR", "folder for the shards: new, or empty"),
    OPT_U64_(struct pack_opts, shard_images, "shard-images", "10000", 1, 9007199254740992.0, "images",
             "most images in one shard"),
    OPT_U64_(struct pack_opts, image_size, "image-size", "", 1, GMIMG_MAX_SIDE, "",
             "height and width in pixels (default: 224). Inception v3 needs 299. Only for folders of picture files"),
    OPT_U64_(struct pack_opts, channels, "channels", "", 1, 3, "",
             "colours: 3 (RGB) or 1 (grey, for lenet) (default: 3). Only for folders of picture files"),
    OPT_BOOL_(struct pack_opts, skip_broken, "skip-broken", "false",
              "name broken picture files and continue, instead of stopping. Only for folders of picture files"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "pack", table, 0, NULL }, { NULL, NULL, 0, NULL } };

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
    size_t next, end; /* images of the data set that are not yet read */
    size_t n_images, n_shards;
    uint64_t n_bytes;
};

struct packing {
    const struct pack_opts *opts;
    const struct dataset *dataset;
    const char *folder; /* where the shards are written */
    bool folders;       /* the images are files of their own */
    uint8_t *pixels;    /* of one image */
    struct part part[2];
    size_t n_broken;
    size_t *n_of_class; /* images for training that are written, of each class */
};

static char *shard_path(const char *folder, const struct part *p)
{
    char name[32];

    snprintf(name, sizeof name, "%s-%05zu.gmimg", p->kind, p->n_shards % MAX_SHARDS);
    return pixels_path(folder, name);
}

/* The next image of the part that can be read -> p->pixels; *label. *found: there is one. */
static enum rc next_image(struct packing *p, struct part *part, bool *found, uint32_t *label)
{
    const struct dataset *d = p->dataset;
    char why[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

    *found = false;
    while (!*found && part->next < part->end) {
        if (stop_wanted())
            return rc_raise(RC_PEER, "stopped by %s after %zu shards; %s is not written",
                            stop_signal_name(stop_signal()), p->part[0].n_shards + p->part[1].n_shards, p->opts->out);
        rc = d->ops->bytes(d, part->next, p->pixels);
        if (rc == RC_INVAL && p->opts->skip_broken) {
            terminal_note(stderr, "gradmark pack: left out: %s", rc_message());
            rc_clear();
            rc = RC_OK;
            p->n_broken++;
        } else if (rc == RC_INVAL && p->folders) {
            snprintf(why, sizeof why, "%s", rc_message());
            return rc_raise(rc, "%.440s; --skip-broken leaves such files out and continues", why);
        } else if (rc != RC_OK) {
            return rc;
        } else {
            *label = d->ops->label(d, part->next);
            *found = true;
        }
        part->next++;
    }
    return rc;
}

/* Images until the shard is full or the part at its end; *n_images of them. */
static enum rc fill_shard(struct packing *p, struct part *part, struct gmimg_writer *w, size_t n_most, size_t *n_images)
{
    uint32_t label = 0;
    bool found = true;
    enum rc rc = RC_OK;

    *n_images = 0;
    while (*n_images < n_most) {
        TRY(next_image(p, part, &found, &label));
        if (!found)
            break;
        gmimg_writer_add(w, label, p->pixels);
        if (part == &p->part[0])
            p->n_of_class[label]++;
        ++*n_images;
    }
out:
    return rc;
}

static enum rc write_shard(struct packing *p, struct part *part)
{
    const size_t left = part->end - part->next;
    const size_t n_most = left < p->opts->shard_images ? left : (size_t)p->opts->shard_images;
    char *path = shard_path(p->folder, part);
    struct gmimg_writer *w = NULL;
    struct stat info = { .st_size = 0 };
    size_t n_images = 0;
    enum rc rc;

    if (path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a path", p->folder);
    TRY(gmimg_writer_open(&w, path, p->dataset, n_most));
    TRY(fill_shard(p, part, w, n_most, &n_images));
    if (n_images == 0) /* all that were left are broken */
        goto out;
    TRY(gmimg_writer_commit(w));
    if (stat(path, &info) != 0)
        FAIL(RC_IO, "%s: %s", path, strerror(errno));
    part->n_shards++;
    part->n_images += n_images;
    part->n_bytes += (uint64_t)info.st_size;
    hold_at("shard", 0, p->part[0].n_shards + p->part[1].n_shards);
    terminal_note(stdout, "%s%s: %zu images, %lld bytes", p->opts->out, strrchr(path, '/'), n_images,
                  (long long)info.st_size);
out:
    gmimg_writer_close(&w);
    free(path);
    return rc;
}

/* Line 1 of classes.txt is the name of label 0. */
static enum rc write_classes(const struct packing *p)
{
    char *path = pixels_path(p->folder, "classes.txt");
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    if (path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a path", p->folder);
    TRY(atomic_file_open(&file, path));
    for (size_t i = 0; i < p->dataset->n_classes; i++)
        fprintf(file.stream, "%s\n", image_folders_class(p->dataset, i)); /* short writes are found by commit */
    TRY(atomic_file_commit(&file));
    terminal_note(stdout, "%s/classes.txt: the names of %zu classes, in the order of their labels", p->opts->out,
                  p->dataset->n_classes);
out:
    atomic_file_discard(&file);
    free(path);
    return rc;
}

static void print_total(const struct packing *p)
{
    const struct dataset *d = p->dataset;
    const struct part *part = p->part;
    const size_t n_shards = part[0].n_shards + part[1].n_shards;
    const size_t n_others = p->folders ? image_folders_left_out_count(d) : 0;

    terminal_note(stdout,
                  "%s: %zu training and %zu test images of %d x %d x %d in %zu classes: %zu shard%s, %" PRIu64 " bytes",
                  d->name, part[0].n_images, part[1].n_images, d->C, d->H, d->W, d->n_classes, n_shards,
                  n_shards == 1 ? "" : "s", part[0].n_bytes + part[1].n_bytes);
    if (n_others > 0 || p->n_broken > 0)
        terminal_note(stdout, "Left out: %zu broken file%s, %zu file%s not named .jpg, .jpeg or .png", p->n_broken,
                      p->n_broken == 1 ? "" : "s", n_others, n_others == 1 ? "" : "s");
    if (part[1].n_images == 0)
        terminal_note(stdout, "No test images: training will not measure the accuracy.%s",
                      p->folders ? " Put some into val/CLASS, and the others into train/CLASS." : "");
}

/* --json */
static enum rc write_total(const struct packing *p)
{
    const struct dataset *d = p->dataset;
    const struct part *part = p->part;
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, "-"));
    struct record *r = report_begin(to, "pack");
    record_text(r, "data", d->name);
    record_text(r, "out", p->opts->out);
    record_u64(r, "train_images_count", part[0].n_images);
    record_u64(r, "test_images_count", part[1].n_images);
    record_i64(r, "channels_count", d->C);
    record_i64(r, "height", d->H);
    record_i64(r, "width", d->W);
    record_u64(r, "classes_count", d->n_classes);
    record_u64(r, "shards_count", part[0].n_shards + part[1].n_shards);
    record_u64(r, "shards_bytes", part[0].n_bytes + part[1].n_bytes);
    record_u64(r, "broken_files_count", p->n_broken);
    record_u64(r, "other_files_count", p->folders ? image_folders_left_out_count(d) : 0);
    TRY(report_end(to));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

/* A class whose images are all broken would be one that nothing is trained on. */
static enum rc check_classes(const struct packing *p)
{
    for (size_t i = 0; i < p->dataset->n_classes; i++)
        if (p->n_of_class[i] == 0)
            return rc_raise(RC_INVAL,
                            "%s: each file of class %s for training is broken; repair one, or remove the folder",
                            p->opts->data, image_folders_class(p->dataset, i));
    return RC_OK;
}

/* Some of the shards would look like all of a smaller data set: they appear together or not at all. */
static enum rc write_parts(struct packing *p, enum verb_stage *stage)
{
    struct atomic_folder folder = { .path = NULL };
    enum rc rc;

    TRY(atomic_folder_open(&folder, p->opts->out));
    *stage = STAGE_RUN;
    stop_catch();
    p->folder = folder.temporary_path;
    for (int i = 0; i < 2; i++)
        while (p->part[i].next < p->part[i].end)
            TRY(write_shard(p, &p->part[i]));
    if (p->part[0].n_images == 0)
        FAIL(RC_INVAL, "%s: each of its %zu files for training is broken", p->opts->data, p->n_broken);
    if (p->folders) {
        TRY(check_classes(p));
        TRY(write_classes(p));
    }
    TRY(atomic_folder_commit(&folder));
    print_total(p);
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

/* What only folders of pictures have. */
static enum rc check_no_crop(const struct verb_call *call, const char *path)
{
    static const char *const names[] = { "image-size", "channels", "skip-broken" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (verb_given(call, names[i]))
            return rc_raise(RC_INVAL,
                            "--%s: works only with folders of JPEG or PNG files; the images of %s stay as they are",
                            names[i], path);
    return RC_OK;
}

static enum rc open_folders(struct dataset **out, const struct pack_opts *o)
{
    struct picture_crop crop = { .image_size = o->image_size > 0 ? (int)o->image_size : USUAL_IMAGE_SIZE,
                                 .channels = o->channels > 0 ? (int)o->channels : 3 };
    enum rc rc;

    crop.resize_side = picture_crop_usual_side(crop.image_size);
    if (crop.channels == 2)
        return rc_raise(RC_INVAL, "--channels 2: there are 1 (grey) and 3 (RGB)");
    TRY(image_folders_open(out, o->data, &crop));
    if (o->image_size == 0)
        terminal_note(
            stderr,
            "gradmark pack: images become %d x %d, as for ImageNet; for resnet8 use --image-size 32, for lenet "
            "--image-size 28 --channels 1",
            crop.image_size, crop.image_size);
out:
    return rc;
}

static enum rc open_images(struct dataset **out, const struct verb_call *call, bool folders)
{
    const struct pack_opts *o = call->opts;
    enum rc rc;

    if (folders)
        return open_folders(out, o);
    TRY(dataset_open_path(out, o->data));
    TRY(check_no_crop(call, o->data));
    if ((*out)->ops == NULL || (*out)->ops->bytes == NULL)
        FAIL(RC_INVAL, "data set %s has no images of bytes to write", (*out)->name);
out:
    return rc;
}

static void print_unused(const struct dataset *d)
{
    for (size_t i = 0; i < image_folders_unused_count(d); i++)
        terminal_note(stderr, "gradmark pack: not used: %s", image_folders_unused(d, i));
}

static enum rc pack_run(struct verb_call *call)
{
    const struct pack_opts *o = call->opts;
    struct packing p = { .opts = o };
    struct dataset *d = NULL;
    enum rc rc;

    TRY(check_wanted(o));
    p.folders = dataset_path_is_folders(o->data);
    TRY(open_images(&d, call, p.folders));
    p.dataset = d;
    p.part[0] = (struct part){ .kind = "train", .end = d->n_train };
    p.part[1] = (struct part){ .kind = "test", .next = d->n_train, .end = d->n_train + d->n_test };
    for (int i = 0; i < 2; i++) {
        const size_t n_images = p.part[i].end - p.part[i].next;
        if (n_images / MAX_SHARDS >= o->shard_images && n_images > MAX_SHARDS * o->shard_images)
            FAIL(RC_INVAL, "--shard-images %llu: makes more than %d shards of the %zu %s images",
                 (unsigned long long)o->shard_images, MAX_SHARDS, n_images, i == 0 ? "training" : "test");
    }
    p.pixels = malloc(d->n_features);
    p.n_of_class = calloc(d->n_classes, sizeof *p.n_of_class);
    if (p.pixels == NULL || p.n_of_class == NULL)
        FAIL(RC_NOMEM, "no memory for an image of %zu bytes", d->n_features);
    if (p.folders)
        print_unused(d);
    TRY(write_parts(&p, &call->stage));
    if (call->output.json)
        TRY(write_total(&p));
    TRY(output_flush(stdout));
out:
    free(p.pixels);
    free(p.n_of_class);
    dataset_close(&d);
    return rc;
}

static const struct verb_example examples[] = {
    { "pack --data digits.csv --out shards", "Pack the digits (data/digits.csv of the sources)" },
    { "pack --data cifar-10-batches-bin --out shards", "Pack CIFAR-10, unpacked into that folder" },
    { "pack --data photos --out shards --image-size 64", "Pack photos/train/CLASS/*.jpg as 64 x 64 pixels" },
    { NULL, NULL },
};

const struct verb verb_pack = {
    .name = "pack",
    .summary = "write a data set of images as shards that open at once",
    .introduction = "Writes images as shards (.gmimg), which gradmark train --data DIR reads. Folders of picture "
                    "files, one for each class, are decoded, resized and cut as torchvision's Resize and CenterCrop "
                    "do.\n\n"
                    "DIR appears when everything is written. A pack that is killed leaves DIR.partial-XXXXXX, which "
                    "you can remove.",
    .example = examples,
    .page = "files",
    .is_one_process = true,
    .has_records = true,
    .opts_bytes = sizeof(struct pack_opts),
    .group = groups,
    .run = pack_run,
};
