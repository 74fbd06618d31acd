/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.h - shared by the convolutions of the cpu backend: the tiling. Private to the cpu backend.
 *
 * A convolution is the GEMM y(M, N) = weight(M, K) col(K, N) with M = C_out, K = C kernel_h kernel_w, N = B out_h
 * out_w. col is computed (im2col) in blocks of whole channels and whole output rows, small enough for the cache of the
 * core that multiplies them.
 */
#ifndef HARNESS_COMPUTE_CPU_CONV_H
#define HARNESS_COMPUTE_CPU_CONV_H

#include "harness/compute/cpu/cpu.h"

struct conv_tiling {
    const struct conv_shape *s;
    size_t M, K, N;
    size_t n_taps;        /* kernel_h kernel_w */
    size_t out_w, n_rows; /* columns of an output row; B out_h */
    bool pointwise;       /* 1 x 1, stride 1, fp32: x is col as stored */
    size_t tile_columns, n_tiles;
    size_t range_channels, n_channel_ranges;
};

struct conv_tiling conv_tiling_of(const struct cpu *c, const struct conv_shape *s);
/* Scratch of each thread for its block of col; 0 if pointwise. */
size_t conv_col_elems(const struct conv_tiling *tiling);

/* n rounded up to whole cache lines: GEMMs are faster if rows are aligned to them. */
enum { LINE_ELEMS = 16 };
static inline size_t conv_whole_lines(size_t n)
{
    return (n + LINE_ELEMS - 1) / LINE_ELEMS * LINE_ELEMS;
}

/* Distance between rows of a scratch matrix of n columns. Rows 1 KiB apart share few sets of the caches: with 512
 * columns a GEMM took 1.45 times as long (oneDNN 2.6 on Zen 3). */
static inline size_t conv_row_elems(size_t n)
{
    const size_t whole = conv_whole_lines(n);

    return whole % 256 == 0 ? whole + LINE_ELEMS : whole;
}

struct conv_tile {
    size_t column, n_columns; /* of col */
    size_t row, n_rows;       /* the same in output rows (not used if pointwise) */
};
struct conv_tile conv_tile_of(const struct conv_tiling *tiling, size_t tile);
/* Channels [from, from + n) of channel range i. */
struct index_range conv_channels_of(const struct conv_tiling *tiling, size_t i);

/* The gradient of the input as a convolution of dy with flipped weights: whether it costs no more, and the
 * convolution. */
bool cpu_flip_pays(const struct cpu *c, const struct conv_tiling *tiling);
void cpu_flipped_conv(struct cpu *c, const struct conv_input_grad *op);

/* Skinny GEMMs, of few columns (a dense layer with a small batch): bound by reading the weights (skinny.c). */
bool cpu_is_skinny(const struct conv_tiling *tiling);
void cpu_skinny_conv(struct cpu *c, const struct conv_forward *op, const struct conv_tiling *tiling);
void cpu_skinny_input_grad(struct cpu *c, const struct conv_input_grad *op, const struct conv_tiling *tiling);
void cpu_skinny_weight_grad(struct cpu *c, const struct conv_weight_grad *op, const struct conv_tiling *tiling);

/* Apply e to `rows` of y(M, N), columns of tile. */
void cpu_epilogue(const struct cpu *c, float *y, const struct epilogue *e, size_t N, struct index_range rows,
                  const struct conv_tile *tile);

#endif
