/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idx.c - IDX files as MNIST is published (LeCun, Cortes, Burges): big-endian header, then bytes.
 *
 *   images  0x00000803, count, rows, columns, then count x rows x columns bytes
 *   labels  0x00000801, count, then count bytes
 *
 * The format does not say how many classes there are. Labels must go from the lowest to the highest without a gap
 * (EMNIST's letters begin at 1): or one damaged byte would make 256 classes of MNIST's 10.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/pixels.h"

enum {
    MAGIC_IMAGES = 0x803,
    MAGIC_LABELS = 0x801,
    IMAGES_OFFSET = 16,
    LABELS_OFFSET = 8,
    MAX_SIDE = 8192,
    N_LABELS = 256
};

static const char *const image_names[2][2] = { { "train-images-idx3-ubyte", "train-images.idx3-ubyte" },
                                               { "t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte" } };
static const char *const label_names[2][2] = { { "train-labels-idx1-ubyte", "train-labels.idx1-ubyte" },
                                               { "t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte" } };

static uint32_t header_word(const struct pixels_file *f, size_t offset_bytes)
{
    const uint8_t *b = f->begin + offset_bytes;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static enum rc open_named(struct pixels_file *out, const char *folder, const char *const names[2])
{
    char *path =
        pixels_path(folder, pixels_exists(folder, names[0]) || !pixels_exists(folder, names[1]) ? names[0] : names[1]);
    enum rc rc;

    if (path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a path", folder);
    TRY(pixels_file_open(out, path));
out:
    free(path);
    return rc;
}

static enum rc check_header(const struct pixels_file *f, uint32_t magic, size_t header_bytes, const char *what)
{
    if (f->n_bytes < header_bytes)
        return rc_raise(RC_INVAL, "%s: offset %zu: ends in the header, which is %zu bytes", f->path, f->n_bytes,
                        header_bytes);
    if (header_word(f, 0) != magic)
        return rc_raise(RC_INVAL, "%s: offset 0: magic number %u; IDX %s begin with %u", f->path, header_word(f, 0),
                        what, magic);
    return RC_OK;
}

/* Bytes after the header must be n_images records of record_bytes. */
static enum rc check_length(const struct pixels_file *f, size_t header_bytes, size_t n_images, size_t record_bytes)
{
    const size_t n_after = f->n_bytes - header_bytes;

    /* Divided, not multiplied: a product of claims may overflow. */
    if (n_after / record_bytes < n_images)
        return rc_raise(RC_INVAL, "%s: offset %zu: the file ends, but offset 4 promises %zu records of %zu bytes",
                        f->path, f->n_bytes, n_images, record_bytes);
    if (n_after != n_images * record_bytes)
        return rc_raise(RC_INVAL, "%s: offset %zu: %zu bytes too many", f->path, header_bytes + n_images * record_bytes,
                        n_after - n_images * record_bytes);
    return RC_OK;
}

static enum rc check_images(const struct pixels_file *f, struct pixels_shard *s, struct dataset *shape)
{
    const uint32_t n = header_word(f, 4), rows = header_word(f, 8), columns = header_word(f, 12);

    if (rows < 1 || rows > MAX_SIDE || columns < 1 || columns > MAX_SIDE)
        return rc_raise(RC_INVAL, "%s: offset 8: images of %u x %u pixels; 1 to %d a side", f->path, rows, columns,
                        MAX_SIDE);
    if (shape->H != 0 && (shape->H != (int)rows || shape->W != (int)columns))
        return rc_raise(RC_INVAL, "%s: offset 8: images of %u x %u pixels, those for training are %d x %d", f->path,
                        rows, columns, shape->H, shape->W);
    shape->C = 1;
    shape->H = (int)rows;
    shape->W = (int)columns;
    s->n_images = n;
    s->offset_bytes = IMAGES_OFFSET;
    s->record_bytes = (size_t)rows * columns;
    return check_length(f, IMAGES_OFFSET, n, s->record_bytes);
}

static enum rc check_labels(const struct pixels_file *f, const struct pixels_shard *s)
{
    enum rc rc;

    TRY(check_header(f, MAGIC_LABELS, LABELS_OFFSET, "labels"));
    if (header_word(f, 4) != s->n_images)
        FAIL(RC_INVAL, "%s: offset 4: %u labels, but %s has %zu images", f->path, header_word(f, 4), s->file.path,
             s->n_images);
    TRY(check_length(f, LABELS_OFFSET, s->n_images, 1));
out:
    return rc;
}

static enum rc read_labels(uint32_t *out, const struct pixels_file *f, size_t n_labels)
{
    uint8_t byte[4096];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_labels; i += sizeof byte) {
        const size_t n = n_labels - i < sizeof byte ? n_labels - i : sizeof byte;
        TRY(pixels_read(f, LABELS_OFFSET + i, n, byte));
        for (size_t k = 0; k < n; k++)
            out[i + k] = byte[k];
    }
out:
    return rc;
}

static enum rc open_pair(struct pixels_shard *s, struct pixels_file *labels, const char *folder, int which,
                         struct dataset *shape)
{
    enum rc rc;

    s->test = which == 1;
    TRY(open_named(&s->file, folder, image_names[which]));
    TRY(check_header(&s->file, MAGIC_IMAGES, IMAGES_OFFSET, "images"));
    TRY(check_images(&s->file, s, shape));
    TRY(open_named(labels, folder, label_names[which]));
    TRY(check_labels(labels, s));
out:
    return rc;
}

/* label[0] to label[n_labels - 1] are those of file 0, then those of file 1, which holds n_test of them. */
static enum rc count_classes(size_t *n_classes, const uint32_t *label, size_t n_labels, size_t n_test,
                             const struct pixels_file labels[2])
{
    size_t first[N_LABELS] = { 0 }; /* image with this label, counted from 1; 0: none */
    uint32_t last = N_LABELS, gap = N_LABELS;

    for (size_t i = n_labels; i-- > 0;)
        first[label[i]] = i + 1;
    for (uint32_t v = 0; v < N_LABELS; v++) {
        if (first[v] == 0) {
            gap = last == v - 1 ? v : gap;
            continue;
        }
        const size_t i = first[v] - 1, n_train = n_labels - n_test;
        if (gap < v)
            return rc_raise(RC_INVAL, "%s: offset %zu: label %u, but no image has a label of %u to %u",
                            labels[i >= n_train].path, LABELS_OFFSET + (i < n_train ? i : i - n_train), v, gap, v - 1);
        last = v;
        *n_classes = v + 1;
    }
    return RC_OK;
}

enum rc pixels_open_idx(struct dataset **out, const char *folder)
{
    struct pixels_shard *shard = calloc(2, sizeof *shard);
    struct pixels_file labels[2] = { { .path = NULL }, { .path = NULL } };
    struct dataset shape = { .ops = NULL };
    uint32_t *label = NULL;
    enum rc rc = RC_OK;

    if (shard == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a data set", folder);
    for (int i = 0; i < 2; i++)
        TRY(open_pair(&shard[i], &labels[i], folder, i, &shape));
    label = malloc((shard[0].n_images + shard[1].n_images + 1) * sizeof *label);
    if (label == NULL)
        FAIL(RC_NOMEM, "%s: no memory for %zu labels", folder, shard[0].n_images + shard[1].n_images);
    TRY(read_labels(label, &labels[0], shard[0].n_images));
    TRY(read_labels(label + shard[0].n_images, &labels[1], shard[1].n_images));
    TRY(count_classes(&shape.n_classes, label, shard[0].n_images + shard[1].n_images, shard[1].n_images, labels));
    rc = pixels_open(out, "idx", shard, 2, label, &shape);
    shard = NULL;
    label = NULL;
out:
    pixels_file_close(&labels[0]);
    pixels_file_close(&labels[1]);
    pixels_close_shards(shard, 2);
    free(label);
    return rc;
}
