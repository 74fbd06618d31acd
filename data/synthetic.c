/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic.c - images that are computed on request, and that a network can learn.
 *
 * A class has a pattern of CELLS x CELLS cells in every channel. An image of it is the pattern moved by a few
 * cells (around the edges), with a contrast of its own, under noise: no pixel alone tells the class.
 */
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/rng.h"

extern const struct dataset_source synthetic_source;
const struct dataset_source synthetic_source = { .name = "synthetic", .makes_images = true };

enum {
    CELLS = 8,
    MOVES = 4, /* cells to move by, each way: 0 .. 3 */
};

#define NOISE_AMPLITUDE 1.0f
#define CONTRAST_MIN 0.6f
#define CONTRAST_MAX 1.4f

struct synthetic {
    struct dataset base;
    uint64_t seed;
    float *pattern; /* (n_classes, C, CELLS, CELLS), mean 0 and variance 1 */
};

static uint32_t synthetic_label(const struct dataset *d, size_t i)
{
    return (uint32_t)(rng_u64(((const struct synthetic *)d)->seed, RNG_DATA_X, i) % d->n_classes);
}

/* Uniform in (-1, 1) from 32 bits (the finaliser of MurmurHash3, public domain): cheap, for there is one a pixel. */
static inline float noise_of(uint32_t bits)
{
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    bits ^= bits >> 16;
    return (float)(int32_t)bits * (1.0f / 2147483648.0f);
}

struct look { /* of one image */
    int move_h, move_w;
    float contrast;
    uint32_t noise_key;
};

static struct look look_of(const struct synthetic *s, size_t i)
{
    const uint64_t bits = rng_u64(s->seed, RNG_IMAGE, i);

    return (struct look){ .move_h = (int)(bits % MOVES),
                          .move_w = (int)(bits / MOVES % MOVES),
                          .contrast =
                              CONTRAST_MIN + (CONTRAST_MAX - CONTRAST_MIN) * (float)(bits >> 8 & 0xffff) / 65536.0f,
                          .noise_key = (uint32_t)(bits >> 32) };
}

/* One row x[W]: each of the CELLS cells is a range of pixels. */
static void draw_row(float *restrict x, const float *cells, const struct look *l, int W)
{
    for (int cell = 0, w = 0, end = W + CELLS - 1; cell < CELLS; cell++, end += W) {
        const float value = l->contrast * cells[(cell + l->move_w) % CELLS];
        for (; w < (int)((unsigned)end / CELLS); w++)
            x[w] = value;
    }
}

/* A version for AVX2, which multiplies eight integers at once: the same values. Sanitizers start after the choice. */
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
__attribute__((target_clones("avx2", "default")))
#endif
static void
add_noise(float *x, uint32_t key, uint32_t n_before, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] += NOISE_AMPLITUDE * noise_of(key + (n_before + i) * 0x9e3779b1u);
}

static enum rc synthetic_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const struct synthetic *s = (const struct synthetic *)d;
    const struct look l = look_of(s, i);
    const float *pattern = s->pattern + (size_t)synthetic_label(d, i) * (size_t)d->C * CELLS * CELLS;
    const uint32_t n_pixels = (uint32_t)d->H * (uint32_t)d->W;

    for (int c = 0; c < d->C; c++, x += channel_stride) {
        for (int h = 0; h < d->H; h++) {
            const int row = (h * CELLS / d->H + l.move_h) % CELLS;
            draw_row(x + (size_t)h * (size_t)d->W, pattern + (c * CELLS + row) * CELLS, &l, d->W);
        }
        add_noise(x, l.noise_key, (uint32_t)c * n_pixels, n_pixels);
    }
    return RC_OK;
}

static void synthetic_close(struct dataset *d)
{
    free(((struct synthetic *)d)->pattern);
}

static const struct dataset_ops synthetic_ops = {
    .image = synthetic_image,
    .label = synthetic_label,
    .close = synthetic_close,
};

static enum rc check(const struct synthetic_opts *o)
{
    if (o->C < 1 || o->C > 64 || o->H < 1 || o->W < 1 || o->H > 8192 || o->W > 8192)
        return rc_raise(RC_INVAL, "synthetic images of %d x %d x %d; 1 to 64 channels of 1 to 8192 pixels a side", o->C,
                        o->H, o->W);
    if (o->n_classes < 1 || o->n_classes > 1000000)
        return rc_raise(RC_INVAL, "synthetic images in %d classes; 1 to 1000000", o->n_classes);
    if (o->n_train < 1)
        return rc_raise(RC_INVAL, "no synthetic training image: at least 1");
    return RC_OK;
}

enum rc dataset_open_synthetic(struct dataset **out, const struct synthetic_opts *o, uint64_t seed)
{
    struct synthetic *s = NULL;
    enum rc rc;

    TRY(check(o));
    const size_t n_cells = (size_t)o->n_classes * (size_t)o->C * CELLS * CELLS;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        FAIL(RC_NOMEM, "data set synthetic: %zu bytes", sizeof *s);
    s->base = (struct dataset){ .ops = &synthetic_ops,
                                .name = synthetic_source.name,
                                .n_train = o->n_train,
                                .n_test = o->n_test,
                                .n_features = (size_t)o->C * (size_t)o->H * (size_t)o->W,
                                .n_classes = (size_t)o->n_classes,
                                .C = o->C,
                                .H = o->H,
                                .W = o->W };
    s->seed = seed;
    s->pattern = malloc(n_cells * sizeof *s->pattern);
    if (s->pattern == NULL)
        FAIL(RC_NOMEM, "data set synthetic: %zu bytes for the patterns", n_cells * sizeof *s->pattern);
    for (size_t i = 0; i < n_cells; i++)
        s->pattern[i] = (float)rng_normal(seed, RNG_PATTERN, i);
    *out = &s->base;
    s = NULL;
out:
    if (s != NULL)
        free(s->pattern);
    free(s);
    return rc;
}
