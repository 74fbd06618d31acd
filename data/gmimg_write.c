/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gmimg_write.c - shards, written in one pass over the images.
 *
 * Labels and sums stand before the pixels, whose sums are not known before: room for them is left, and they are
 * written last. Where fewer images came than there is room for, the pixels move down.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/gmimg.h"
#include "data/gmimg_format.h"
#include "harness/base/bytes.h"
#include "harness/base/file.h"

enum { BLOCK_BYTES = 1 << 20 }; /* pixels a block, about */

struct gmimg_writer {
    struct atomic_file file;
    struct dataset shape;
    size_t image_bytes, block_images, max_images;
    size_t n_images, n_blocks;    /* added; whose sums are known */
    crypto_generichash_state sum; /* of the block that is being added to */
    unsigned char *index;         /* labels of max_images, then sums */
};

static size_t blocks_of(const struct gmimg_writer *w, size_t n_images)
{
    return (n_images + w->block_images - 1) / w->block_images;
}

static size_t index_bytes_of(const struct gmimg_writer *w, size_t n_images)
{
    return n_images * GMIMG_LABEL_BYTES + blocks_of(w, n_images) * GMIMG_SUM_BYTES;
}

enum rc gmimg_writer_open(struct gmimg_writer **out, const char *path, const struct dataset *shape, size_t max_images)
{
    struct gmimg_writer *w = calloc(1, sizeof *w);
    enum rc rc = RC_OK;

    if (w == NULL)
        FAIL(RC_NOMEM, "%s: %zu bytes", path, sizeof *w);
    w->shape = *shape;
    w->max_images = max_images;
    w->image_bytes = (size_t)shape->C * (size_t)shape->H * (size_t)shape->W;
    w->block_images = BLOCK_BYTES / w->image_bytes > 0 ? BLOCK_BYTES / w->image_bytes : 1;
    w->index = malloc(index_bytes_of(w, max_images) + 1);
    if (w->index == NULL)
        FAIL(RC_NOMEM, "%s: no memory for the index of %zu images", path, max_images);
    TRY(atomic_file_open(&w->file, path));
    if (fseeko(w->file.stream, (off_t)(GMIMG_HEADER_BYTES + index_bytes_of(w, max_images)), SEEK_SET) != 0)
        FAIL(RC_IO, "%s: %s", path, strerror(errno));
    *out = w;
    w = NULL;
out:
    gmimg_writer_close(&w);
    return rc;
}

/* The sum of the block that ended, or of a last one that is not full. */
static void end_block(struct gmimg_writer *w)
{
    (void)crypto_generichash_final(
        &w->sum, w->index + w->max_images * GMIMG_LABEL_BYTES + w->n_blocks++ * GMIMG_SUM_BYTES, GMIMG_SUM_BYTES);
}

void gmimg_writer_add(struct gmimg_writer *w, uint32_t label, const uint8_t *pixels)
{
    assert(w->n_images < w->max_images && label < w->shape.n_classes);
    if (w->n_images % w->block_images == 0)
        (void)crypto_generichash_init(&w->sum, NULL, 0, GMIMG_SUM_BYTES); /* can't fail: sizes are in range */
    (void)crypto_generichash_update(&w->sum, pixels, w->image_bytes);
    bytes_put(w->index + w->n_images * GMIMG_LABEL_BYTES, label, GMIMG_LABEL_BYTES);
    fwrite(pixels, 1, w->image_bytes, w->file.stream); /* short writes are found by commit */
    if (++w->n_images % w->block_images == 0)
        end_block(w);
}

/* Pixels, and sums in the index, to where they are had n_images been known from the beginning. */
static enum rc move_down(struct gmimg_writer *w)
{
    const size_t to = GMIMG_HEADER_BYTES + index_bytes_of(w, w->n_images);
    const size_t from = GMIMG_HEADER_BYTES + index_bytes_of(w, w->max_images), n_bytes = w->n_images * w->image_bytes;
    const int fd = fileno(w->file.stream);
    unsigned char part[16384];

    memmove(w->index + w->n_images * GMIMG_LABEL_BYTES, w->index + w->max_images * GMIMG_LABEL_BYTES,
            w->n_blocks * GMIMG_SUM_BYTES);
    if (fflush(w->file.stream) != 0)
        return rc_raise(RC_IO, "%s: %s", w->file.path, strerror(errno));
    for (size_t done = 0; done < n_bytes;) {
        const size_t n = n_bytes - done < sizeof part ? n_bytes - done : sizeof part;
        const ssize_t n_read = pread(fd, part, n, (off_t)(from + done));
        if (n_read <= 0 || pwrite(fd, part, (size_t)n_read, (off_t)(to + done)) != n_read)
            return rc_raise(RC_IO, "%s: cannot be written: %s", w->file.path,
                            n_read == 0 ? "it became shorter" : strerror(errno));
        done += (size_t)n_read;
    }
    if (ftruncate(fd, (off_t)(to + n_bytes)) != 0)
        return rc_raise(RC_IO, "%s: %s", w->file.path, strerror(errno));
    return RC_OK;
}

static void fill_header(const struct gmimg_writer *w, unsigned char header[GMIMG_HEADER_BYTES])
{
    const struct dataset *s = &w->shape;
    const uint32_t shape[] = { (uint32_t)s->C, (uint32_t)s->H, (uint32_t)s->W, (uint32_t)s->n_classes };

    memset(header, 0, GMIMG_HEADER_BYTES);
    memcpy(header, GMIMG_MAGIC, sizeof GMIMG_MAGIC);
    for (size_t i = 0; i < 4; i++)
        bytes_put(header + GMIMG_OFFSET_SHAPE + 4 * i, shape[i], 4);
    bytes_put(header + GMIMG_OFFSET_N_IMAGES, w->n_images, 8);
    bytes_put(header + GMIMG_OFFSET_BLOCK_IMAGES, w->block_images, 4);
    gmimg_sum(header + GMIMG_OFFSET_INDEX_SUM, w->index, index_bytes_of(w, w->n_images));
    gmimg_sum(header + GMIMG_OFFSET_HEADER_SUM, header, GMIMG_OFFSET_HEADER_SUM);
}

enum rc gmimg_writer_commit(struct gmimg_writer *w)
{
    unsigned char header[GMIMG_HEADER_BYTES];
    enum rc rc = RC_OK;

    if (w->n_images == 0)
        FAIL(RC_INVAL, "%s: a shard has at least one image", w->file.path);
    if (w->n_images % w->block_images != 0)
        end_block(w);
    if (w->n_images < w->max_images)
        TRY(move_down(w));
    fill_header(w, header);
    if (fseeko(w->file.stream, 0, SEEK_SET) != 0)
        FAIL(RC_IO, "%s: %s", w->file.path, strerror(errno));
    fwrite(header, 1, sizeof header, w->file.stream);
    fwrite(w->index, 1, index_bytes_of(w, w->n_images), w->file.stream);
    TRY(atomic_file_commit(&w->file));
out:
    return rc;
}

void gmimg_writer_close(struct gmimg_writer **w)
{
    if (*w == NULL)
        return;
    atomic_file_discard(&(*w)->file);
    free((*w)->index);
    free(*w);
    *w = NULL;
}

enum rc gmimg_write(const char *path, const struct dataset *d, size_t first, size_t n_images)
{
    struct gmimg_writer *w = NULL;
    uint8_t *pixels = NULL;
    enum rc rc = RC_OK;

    if (d->ops == NULL || d->ops->bytes == NULL)
        FAIL(RC_INVAL, "data set %s has no images of bytes to write", d->name);
    if (n_images == 0)
        FAIL(RC_INVAL, "%s: a shard has at least one image", path);
    pixels = malloc(d->n_features);
    if (pixels == NULL)
        FAIL(RC_NOMEM, "%s: no memory for an image", path);
    TRY(gmimg_writer_open(&w, path, d, n_images));
    for (size_t i = first; i < first + n_images; i++) {
        TRY(d->ops->bytes(d, i, pixels));
        gmimg_writer_add(w, d->ops->label(d, i), pixels);
    }
    TRY(gmimg_writer_commit(w));
out:
    gmimg_writer_close(&w);
    free(pixels);
    return rc;
}
