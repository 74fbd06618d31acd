/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cifar10.c - the binary version of CIFAR-10 (Krizhevsky, 2009): records of a label and 3 x 32 x 32 pixels.
 */
#include <stdlib.h>

#include "data/pixels.h"

enum { N_FILES = 6, SIDE = 32, PIXELS_BYTES = 3 * SIDE * SIDE, RECORD_BYTES = 1 + PIXELS_BYTES, N_CLASSES = 10 };

static const char *const names[N_FILES] = { "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                            "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin" };

static enum rc open_batch(struct pixels_shard *s, const char *folder, int which)
{
    char *path = pixels_path(folder, names[which]);
    enum rc rc;

    if (path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a path", folder);
    TRY(pixels_file_open(&s->file, path));
    s->n_images = s->file.n_bytes / RECORD_BYTES;
    s->offset_bytes = 1;
    s->record_bytes = RECORD_BYTES;
    s->test = which == N_FILES - 1;
    if (s->file.n_bytes % RECORD_BYTES != 0)
        FAIL(RC_INVAL, "%s: offset %zu: %zu bytes are no whole record of %d", path, s->n_images * RECORD_BYTES,
             s->file.n_bytes % RECORD_BYTES, RECORD_BYTES);
out:
    free(path);
    return rc;
}

static enum rc read_labels(uint32_t *label, const struct pixels_shard *s)
{
    uint8_t byte = 0;
    enum rc rc = RC_OK;

    for (size_t k = 0; k < s->n_images; k++) {
        TRY(pixels_read(&s->file, k * RECORD_BYTES, 1, &byte));
        label[k] = byte;
        if (label[k] >= N_CLASSES)
            FAIL(RC_INVAL, "%s: offset %zu: label %u; must be 0 to %d", s->file.path, k * RECORD_BYTES, label[k],
                 N_CLASSES - 1);
    }
out:
    return rc;
}

enum rc pixels_open_cifar10(struct dataset **out, const char *folder)
{
    const struct dataset shape = { .C = 3, .H = SIDE, .W = SIDE, .n_classes = N_CLASSES };
    struct pixels_shard *shard = calloc(N_FILES, sizeof *shard);
    uint32_t *label = NULL;
    size_t n_images = 0, first = 0;
    enum rc rc = RC_OK;

    if (shard == NULL)
        FAIL(RC_NOMEM, "%s: no memory for a data set", folder);
    for (int i = 0; i < N_FILES; i++) {
        TRY(open_batch(&shard[i], folder, i));
        n_images += shard[i].n_images;
    }
    label = malloc((n_images + 1) * sizeof *label);
    if (label == NULL)
        FAIL(RC_NOMEM, "%s: no memory for %zu labels", folder, n_images);
    for (int i = 0; i < N_FILES; first += shard[i++].n_images)
        TRY(read_labels(label + first, &shard[i]));
    rc = pixels_open(out, "cifar10", shard, N_FILES, label, &shape);
    shard = NULL;
    label = NULL;
out:
    pixels_close_shards(shard, N_FILES);
    free(label);
    return rc;
}
