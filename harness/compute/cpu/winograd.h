/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.h - shared by winograd.c and winograd_grad.c. Private to the cpu backend.
 *
 * Winograd's F(2 x 2, 3 x 3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). For 2 x 2
 * outputs, computed from a tile d of 4 x 4 inputs, the convolution with g is A^T ((G g G^T) o (B^T d B)) A; o is
 * element by element. For all channels and tiles together that is one GEMM for each of the 16 positions ("frequencies")
 * of the tile. It needs 16 products where the definition needs 36:
 *
 *   m_f(C_out, tiles) = u_f(C_out, C) v_f(C, tiles),   u = G g G^T,  v = B^T d B,  y = A^T m A.
 *
 * The gradient of the input is the same with u reversed and transposed. That of the weights follows from the chain
 * rule: du_f = dm_f v_f^T with dm = A dy A^T, then dg = G^T du G. All factors are 0, 1, -1 and 1/2, so small integers
 * stay exact. Each output depends only on the inputs in its window.
 *
 * A task takes a block of whole images. Its v and m stay in the second-level cache of the core that multiplies them.
 */
#ifndef HARNESS_COMPUTE_CPU_WINOGRAD_H
#define HARNESS_COMPUTE_CPU_WINOGRAD_H

#include "harness/compute/cpu/conv.h"

enum {
    WINOGRAD_FREQUENCIES = WINOGRAD_SIDE * WINOGRAD_SIDE,
    WINOGRAD_MAX_TILES = 256, /* of a block */
};

struct winograd {
    struct cpu *c;
    size_t B, H, W, out_w; /* out_w: tiles in a row of an image */
    size_t image_tiles;
    size_t block_images, n_blocks;
    size_t ld; /* from a channel of v or m to the next */
};

/* For images of an input with window g; n_channels: of v and m together. */
struct winograd winograd_of(struct cpu *c, const struct window *g, size_t n_channels);

struct winograd_block {
    size_t first_image, n_images, n_tiles;
};
struct winograd_block winograd_block_of(const struct winograd *w, size_t block);

/* Elements from one frequency of v or m to the next; and of all frequencies. The distance is one cache line longer than
 * the channels need, so that the 16 lines written together are in different sets of the cache. */
size_t winograd_frequency_elems(const struct winograd *w, size_t n_channels);
size_t winograd_elems(const struct winograd *w, size_t n_channels);

/* v(16, n_channels, ld) of the block, from x(n_channels, B, H, W). */
void winograd_input(const struct winograd *w, float *v, const float *x, size_t n_channels,
                    const struct winograd_block *block);
/* dm likewise, from dy(n_channels, B, H, W). */
void winograd_output_grad(const struct winograd *w, float *dm, const float *dy, size_t n_channels,
                          const struct winograd_block *block);

#endif
