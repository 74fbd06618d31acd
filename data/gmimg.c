/* SPDX-License-Identifier: Apache-2.0 */
/* gmimg.c - shards of raw images, opened and checked. */
#include "data/gmimg.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/file.h"

enum { SUM_PART_BYTES = 16384 }; /* on the stack of the thread that reads an image */

struct pixels_checks {
    size_t block_images, n_images;
    uint8_t *index;      /* labels, then sums of blocks; owned */
    atomic_uchar good[]; /* one per block: its checksum was verified */
};

static size_t block_bytes(const struct pixels_shard *s, size_t block)
{
    const size_t from = block * s->checks->block_images, left = s->checks->n_images - from;

    return (left < s->checks->block_images ? left : s->checks->block_images) * s->record_bytes;
}

/* As gmimg_sum(), of bytes [offset_bytes, offset_bytes + n_bytes) of the file. */
static enum rc sum_of(unsigned char sum[GMIMG_SUM_BYTES], const struct pixels_file *f, size_t offset_bytes,
                      size_t n_bytes)
{
    uint8_t byte[SUM_PART_BYTES];
    crypto_generichash_state state;
    enum rc rc = RC_OK;

    (void)crypto_generichash_init(&state, NULL, 0, GMIMG_SUM_BYTES); /* can't fail: sizes are in range */
    for (size_t from = 0; from < n_bytes; from += sizeof byte) {
        const size_t n = n_bytes - from < sizeof byte ? n_bytes - from : sizeof byte;
        TRY(pixels_read(f, offset_bytes + from, n, byte));
        (void)crypto_generichash_update(&state, byte, n);
    }
    (void)crypto_generichash_final(&state, sum, GMIMG_SUM_BYTES);
out:
    return rc;
}

enum rc gmimg_check(const struct pixels_shard *s, size_t i)
{
    const size_t block = i / s->checks->block_images;
    const size_t offset_bytes = s->offset_bytes + block * s->checks->block_images * s->record_bytes;
    const uint8_t *right = s->checks->index + s->n_images * GMIMG_LABEL_BYTES + block * GMIMG_SUM_BYTES;
    unsigned char sum[GMIMG_SUM_BYTES];
    enum rc rc = RC_OK;

    if (atomic_load_explicit(&s->checks->good[block], memory_order_relaxed))
        return RC_OK;
    TRY(sum_of(sum, &s->file, offset_bytes, block_bytes(s, block)));
    if (memcmp(sum, right, sizeof sum) != 0)
        FAIL(RC_INVAL, "%s: offset %zu: the pixels of block %zu (%zu bytes) are not those that were written",
             s->file.path, offset_bytes, block, block_bytes(s, block));
    atomic_store_explicit(&s->checks->good[block], 1, memory_order_relaxed); /* a second check is harmless */
out:
    return rc;
}

void gmimg_close_checks(struct pixels_checks **c)
{
    if (*c != NULL)
        free((*c)->index);
    free(*c);
    *c = NULL;
}

struct header {
    uint32_t C, H, W, n_classes, block_images;
    uint64_t n_images;
};

static enum rc read_header(struct header *h, const struct pixels_file *f)
{
    unsigned char sum[GMIMG_SUM_BYTES];

    if (f->n_bytes < sizeof GMIMG_MAGIC || memcmp(f->begin, GMIMG_MAGIC, sizeof GMIMG_MAGIC) != 0)
        return rc_raise(RC_INVAL, "%s: offset 0: no gmimg file of version 01: they begin with \"" GMIMG_MAGIC "\"",
                        f->path);
    if (f->n_bytes < GMIMG_HEADER_BYTES)
        return rc_raise(RC_INVAL, "%s: offset %zu: ends in the header, which is %d bytes", f->path, f->n_bytes,
                        GMIMG_HEADER_BYTES);
    gmimg_sum(sum, f->begin, GMIMG_OFFSET_HEADER_SUM);
    if (memcmp(sum, f->begin + GMIMG_OFFSET_HEADER_SUM, sizeof sum) != 0)
        return rc_raise(RC_INVAL, "%s: offset %d: the header is not what was written: its sum differs", f->path,
                        GMIMG_OFFSET_HEADER_SUM);
    h->C = (uint32_t)bytes_get(f->begin + GMIMG_OFFSET_SHAPE, 4);
    h->H = (uint32_t)bytes_get(f->begin + GMIMG_OFFSET_SHAPE + 4, 4);
    h->W = (uint32_t)bytes_get(f->begin + GMIMG_OFFSET_SHAPE + 8, 4);
    h->n_classes = (uint32_t)bytes_get(f->begin + GMIMG_OFFSET_SHAPE + 12, 4);
    h->n_images = bytes_get(f->begin + GMIMG_OFFSET_N_IMAGES, 8);
    h->block_images = (uint32_t)bytes_get(f->begin + GMIMG_OFFSET_BLOCK_IMAGES, 4);
    return RC_OK;
}

/* Bytes reserved for later versions, whose files this version must refuse. */
static enum rc check_zeros(const struct pixels_file *f)
{
    static const int at[] = { GMIMG_OFFSET_ZERO_4, GMIMG_OFFSET_ZERO_8, GMIMG_OFFSET_ZERO_8 + 4 };

    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
        if (bytes_get(f->begin + at[i], 4) != 0)
            return rc_raise(RC_INVAL, "%s: offset %d: is %llu; 0 in this version", f->path, at[i],
                            (unsigned long long)bytes_get(f->begin + at[i], 4));
    return RC_OK;
}

/* A file with a right checksum may still have impossible values. */
static enum rc check_header(const struct header *h, const struct pixels_file *f)
{
    if (h->C < 1 || h->C > GMIMG_MAX_CHANNELS || h->H < 1 || h->H > GMIMG_MAX_SIDE || h->W < 1 || h->W > GMIMG_MAX_SIDE)
        return rc_raise(RC_INVAL, "%s: offset %d: images of %u x %u x %u; 1 to %d channels of 1 to %d pixels a side",
                        f->path, GMIMG_OFFSET_SHAPE, h->C, h->H, h->W, GMIMG_MAX_CHANNELS, GMIMG_MAX_SIDE);
    if (h->n_classes < 1 || h->n_classes > GMIMG_MAX_CLASSES)
        return rc_raise(RC_INVAL, "%s: offset %d: %u classes; 1 to %d", f->path, GMIMG_OFFSET_SHAPE + 12, h->n_classes,
                        GMIMG_MAX_CLASSES);
    if (h->block_images < 1)
        return rc_raise(RC_INVAL, "%s: offset %d: blocks of 0 images; at least 1", f->path, GMIMG_OFFSET_BLOCK_IMAGES);
    if (h->n_images < 1)
        return rc_raise(RC_INVAL, "%s: offset %d: no image; at least 1", f->path, GMIMG_OFFSET_N_IMAGES);
    return RC_OK;
}

/* The parts must fill the file exactly. n_images is checked by division first: a product could overflow. */
static enum rc check_length(const struct header *h, const struct pixels_file *f, size_t *pixels_offset)
{
    const size_t image_bytes = (size_t)h->C * h->H * h->W, n = (size_t)h->n_images;

    if (h->n_images > f->n_bytes / image_bytes)
        return rc_raise(RC_INVAL, "%s: offset %zu: the file ends, but offset %d promises %llu images of %zu bytes",
                        f->path, f->n_bytes, GMIMG_OFFSET_N_IMAGES, (unsigned long long)h->n_images, image_bytes);
    const size_t n_blocks = (n - 1) / h->block_images + 1;
    *pixels_offset = GMIMG_HEADER_BYTES + n * GMIMG_LABEL_BYTES + n_blocks * GMIMG_SUM_BYTES;
    if (f->n_bytes != *pixels_offset + n * image_bytes)
        return rc_raise(RC_INVAL, "%s: offset %zu: the file ends; its header asks for %zu bytes", f->path, f->n_bytes,
                        *pixels_offset + n * image_bytes);
    return RC_OK;
}

/* index: of c; the bytes between header and pixels. */
static enum rc read_index(struct pixels_checks *c, const struct header *h, const struct pixels_file *f,
                          size_t index_bytes)
{
    unsigned char sum[GMIMG_SUM_BYTES];
    enum rc rc = RC_OK;

    c->index = malloc(index_bytes);
    if (c->index == NULL)
        FAIL(RC_NOMEM, "%s: no memory for labels and sums: %zu bytes", f->path, index_bytes);
    TRY(pixels_read(f, GMIMG_HEADER_BYTES, index_bytes, c->index));
    gmimg_sum(sum, c->index, index_bytes);
    if (memcmp(sum, f->begin + GMIMG_OFFSET_INDEX_SUM, sizeof sum) != 0)
        FAIL(RC_INVAL, "%s: offset %d: labels or sums are not those that were written", f->path, GMIMG_HEADER_BYTES);
    for (size_t i = 0; i < h->n_images; i++) {
        const uint64_t label = bytes_get(c->index + i * GMIMG_LABEL_BYTES, GMIMG_LABEL_BYTES);
        if (label >= h->n_classes)
            FAIL(RC_INVAL, "%s: offset %zu: label %llu; must be 0 to %u", f->path,
                 GMIMG_HEADER_BYTES + i * GMIMG_LABEL_BYTES, (unsigned long long)label, h->n_classes - 1);
    }
out:
    return rc;
}

static enum rc check_shape(const struct header *h, const struct pixels_file *f, struct dataset *shape,
                           const char *first_path)
{
    if (shape->C == 0) {
        shape->C = (int)h->C;
        shape->H = (int)h->H;
        shape->W = (int)h->W;
        shape->n_classes = h->n_classes;
    }
    if (shape->C != (int)h->C || shape->H != (int)h->H || shape->W != (int)h->W || shape->n_classes != h->n_classes)
        return rc_raise(RC_INVAL, "%s: offset %d: images of %u x %u x %u in %u classes; %s has %d x %d x %d in %zu",
                        f->path, GMIMG_OFFSET_SHAPE, h->C, h->H, h->W, h->n_classes, first_path, shape->C, shape->H,
                        shape->W, shape->n_classes);
    return RC_OK;
}

static enum rc open_shard(struct pixels_shard *s, const char *path, struct dataset *shape, const char *first_path)
{
    struct header h = { .C = 0 };
    size_t pixels_offset = 0;
    enum rc rc;

    TRY(pixels_file_open(&s->file, path));
    TRY(read_header(&h, &s->file));
    TRY(check_zeros(&s->file));
    TRY(check_header(&h, &s->file));
    TRY(check_length(&h, &s->file, &pixels_offset));
    s->n_images = (size_t)h.n_images;
    s->offset_bytes = pixels_offset;
    s->record_bytes = (size_t)h.C * h.H * h.W;
    const size_t n_blocks = (s->n_images - 1) / h.block_images + 1;
    s->checks = calloc(1, sizeof *s->checks + n_blocks * sizeof *s->checks->good);
    if (s->checks == NULL)
        FAIL(RC_NOMEM, "%s: no memory for the state of %zu blocks", path, n_blocks);
    s->checks->block_images = h.block_images;
    s->checks->n_images = s->n_images;
    TRY(read_index(s->checks, &h, &s->file, pixels_offset - GMIMG_HEADER_BYTES));
    TRY(check_shape(&h, &s->file, shape, first_path));
out:
    return rc;
}

/* Shards of path[0 .. n_paths-1], of which the first n_train are for training; the caller keeps the paths. */
static enum rc open_paths(struct dataset **out, char *const *path, size_t n_paths, size_t n_train)
{
    struct pixels_shard *shard = calloc(n_paths, sizeof *shard);
    struct dataset shape = { .ops = NULL };
    uint32_t *label = NULL;
    size_t n_images = 0, n_labels = 0;
    enum rc rc = RC_OK;

    if (shard == NULL)
        FAIL(RC_NOMEM, "%s: no memory for %zu shards", path[0], n_paths);
    for (size_t i = 0; i < n_paths; i++) {
        TRY(open_shard(&shard[i], path[i], &shape, path[0]));
        shard[i].test = i >= n_train;
        n_images += shard[i].n_images;
    }
    label = malloc(n_images * sizeof *label);
    if (label == NULL)
        FAIL(RC_NOMEM, "%s: no memory for %zu labels", path[0], n_images);
    for (size_t i = 0; i < n_paths; i++)
        for (size_t k = 0; k < shard[i].n_images; k++)
            label[n_labels++] = (uint32_t)bytes_get(shard[i].checks->index + k * GMIMG_LABEL_BYTES, GMIMG_LABEL_BYTES);
    rc = pixels_open(out, "gmimg", shard, n_paths, label, &shape);
    shard = NULL;
    label = NULL;
out:
    pixels_close_shards(shard, n_paths);
    free(label);
    return rc;
}

static int begins(const struct dirent *entry, const char *prefix)
{
    const size_t n = strlen(entry->d_name);

    return strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && n > 6 && strcmp(entry->d_name + n - 6, ".gmimg") == 0;
}

static int is_train(const struct dirent *entry)
{
    return begins(entry, "train-");
}

static int is_test(const struct dirent *entry)
{
    return begins(entry, "test-");
}

static enum rc open_folder(struct dataset **out, const char *folder)
{
    struct dirent **entry[2] = { NULL, NULL };
    const int n_train = scandir(folder, &entry[0], is_train, alphasort);
    const int n_test = scandir(folder, &entry[1], is_test, alphasort);
    const int n[2] = { n_train > 0 ? n_train : 0, n_test > 0 ? n_test : 0 };
    char **path = calloc((size_t)(n[0] + n[1]) + 1, sizeof *path);
    size_t n_paths = 0;
    enum rc rc = RC_OK;

    if (path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for the names of its files", folder);
    if (n_train < 0 || n_test < 0)
        FAIL(RC_INVAL, "%s: %s", folder, strerror(errno));
    if (n_train == 0)
        FAIL(RC_INVAL,
             "%s: holds no train-*.gmimg, nor files of MNIST (train-images-idx3-ubyte, ...) or CIFAR-10 "
             "(data_batch_1.bin, ...)",
             folder);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n[k]; i++) {
            path[n_paths] = pixels_path(folder, entry[k][i]->d_name);
            if (path[n_paths++] == NULL)
                FAIL(RC_NOMEM, "%s: no memory for the names of its files", folder);
        }
    TRY(open_paths(out, path, n_paths, (size_t)n[0]));
out:
    for (size_t i = 0; path != NULL && i < n_paths; i++)
        free(path[i]);
    free(path);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n[k]; i++)
            free(entry[k][i]);
        free(entry[k]);
    }
    return rc;
}

enum rc pixels_open_gmimg(struct dataset **out, const char *path)
{
    struct stat info;
    char *one[] = { NULL };
    enum rc rc;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return open_folder(out, path);
    one[0] = strdup(path);
    if (one[0] == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    TRY(open_paths(out, one, 1, 1));
out:
    free(one[0]);
    return rc;
}

/*
 * Shards, written in one pass over the images.
 *
 * Labels and sums stand before the pixels, whose sums are not known before: room for them is left, and they are
 * written last. Where fewer images came than there is room for, the pixels move down.
 */

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
