/* SPDX-License-Identifier: Apache-2.0 */
/* gmimg_write.c - images of any data set with bytes, as a shard. */
#include <stdlib.h>
#include <string.h>

#include "data/gmimg.h"
#include "data/gmimg_format.h"
#include "harness/base/bytes.h"
#include "harness/base/file.h"

enum { BLOCK_BYTES = 1 << 20 }; /* pixels a block, about */

struct writer {
    const struct dataset *d;
    size_t first, n_images, block_images, n_blocks, index_bytes;
    unsigned char header[GMIMG_HEADER_BYTES];
    unsigned char *index; /* labels, then sums */
    unsigned char *block; /* pixels of one */
};

static enum rc fill_block(struct writer *w, size_t b, size_t *n_bytes)
{
    const size_t from = b * w->block_images, left = w->n_images - from;
    const size_t n = left < w->block_images ? left : w->block_images;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++)
        TRY(w->d->ops->bytes(w->d, w->first + from + i, w->block + i * w->d->n_features));
    *n_bytes = n * w->d->n_features;
out:
    return rc;
}

static enum rc fill_index(struct writer *w)
{
    size_t n_bytes = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < w->n_images; i++)
        bytes_put(w->index + i * GMIMG_LABEL_BYTES, w->d->ops->label(w->d, w->first + i), GMIMG_LABEL_BYTES);
    for (size_t b = 0; b < w->n_blocks; b++) {
        TRY(fill_block(w, b, &n_bytes));
        gmimg_sum(w->index + w->n_images * GMIMG_LABEL_BYTES + b * GMIMG_SUM_BYTES, w->block, n_bytes);
    }
out:
    return rc;
}

static void fill_header(struct writer *w)
{
    const uint32_t shape[] = { (uint32_t)w->d->C, (uint32_t)w->d->H, (uint32_t)w->d->W, (uint32_t)w->d->n_classes };

    memcpy(w->header, GMIMG_MAGIC, sizeof GMIMG_MAGIC);
    for (size_t i = 0; i < 4; i++)
        bytes_put(w->header + GMIMG_OFFSET_SHAPE + 4 * i, shape[i], 4);
    bytes_put(w->header + GMIMG_OFFSET_N_IMAGES, w->n_images, 8);
    bytes_put(w->header + GMIMG_OFFSET_BLOCK_IMAGES, w->block_images, 4);
    gmimg_sum(w->header + GMIMG_OFFSET_INDEX_SUM, w->index, w->index_bytes);
    gmimg_sum(w->header + GMIMG_OFFSET_HEADER_SUM, w->header, GMIMG_OFFSET_HEADER_SUM);
}

static enum rc write_all(struct writer *w, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    size_t n_bytes = 0;
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fwrite(w->header, 1, sizeof w->header, file.stream); /* short writes are found by commit */
    fwrite(w->index, 1, w->index_bytes, file.stream);
    for (size_t b = 0; b < w->n_blocks; b++) {
        TRY(fill_block(w, b, &n_bytes));
        fwrite(w->block, 1, n_bytes, file.stream);
    }
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc gmimg_write(const char *path, const struct dataset *d, size_t first, size_t n_images)
{
    struct writer w = { .d = d, .first = first, .n_images = n_images };
    enum rc rc;

    if (d->ops == NULL || d->ops->bytes == NULL)
        FAIL(RC_INVAL, "data set %s has no images of bytes to write", d->name);
    if (n_images == 0)
        FAIL(RC_INVAL, "%s: a shard has at least one image", path);
    w.block_images = BLOCK_BYTES / d->n_features > 0 ? BLOCK_BYTES / d->n_features : 1;
    w.n_blocks = (n_images + w.block_images - 1) / w.block_images;
    w.index_bytes = n_images * GMIMG_LABEL_BYTES + w.n_blocks * GMIMG_SUM_BYTES;
    w.index = malloc(w.index_bytes);
    w.block = malloc(w.block_images * d->n_features);
    if (w.index == NULL || w.block == NULL)
        FAIL(RC_NOMEM, "%s: no memory for the index of %zu images", path, n_images);
    TRY(fill_index(&w));
    fill_header(&w);
    TRY(write_all(&w, path));
out:
    free(w.index);
    free(w.block);
    return rc;
}
