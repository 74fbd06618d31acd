/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.h - what the convolutions of the cpu backend share: how one is cut. Private to this room.
 *
 * A convolution is the product weight (M, K) col (K, N) with M = C_out, K = (C, kernel_h, kernel_w), N = (B, out_h,
 * out_w). col is made some rows (of whole channels) and some columns (of whole output rows) at a time, so
 * that it stays in the cache of the core that multiplies with it.
 */
#ifndef HARNESS_COMPUTE_CPU_CONV_H
#define HARNESS_COMPUTE_CPU_CONV_H

#include "harness/compute/cpu/cpu.h"

struct conv_cut {
    const struct conv_shape *s;
    size_t M, K, N;
    size_t n_taps;        /* kernel_h kernel_w */
    size_t out_w, n_rows; /* columns of an output row; output rows of all images */
    bool as_it_lies;      /* 1 x 1, stride 1, fp32: x is col */
    size_t tile_columns, n_tiles;
    size_t chunk_channels, n_chunks;
};

struct conv_cut conv_cut_of(const struct cpu *c, const struct conv_shape *s);
/* Of a thread's part of col. */
size_t conv_col_elems(const struct conv_cut *cut);

/* GEMMs are faster on rows that begin where cache lines do: n elements, and what is left of the last line. */
enum { LINE_ELEMS = 16 };
static inline size_t conv_whole_lines(size_t n)
{
    return (n + LINE_ELEMS - 1) / LINE_ELEMS * LINE_ELEMS;
}

struct conv_tile {
    size_t column, n_columns; /* of col */
    size_t row, n_rows;       /* the same in output rows; as it lies: rounded down */
};
struct conv_tile conv_tile_of(const struct conv_cut *cut, size_t tile);
/* Channels [from, from + n) of chunk. */
struct stretch conv_chunk_of(const struct conv_cut *cut, size_t chunk);

/* The gradient of the input as a convolution of dy with turned weights; where it pays. */
bool cpu_turns(const struct conv_cut *cut);
void cpu_turned_conv(struct cpu *c, const struct conv_input_grad *op);

/* Few columns (a dense layer and a small batch): reading the weights is all the work there is. */
bool cpu_is_thin(const struct conv_cut *cut);
void cpu_thin_conv(struct cpu *c, const struct conv_forward *op, const struct conv_cut *cut);
void cpu_thin_input_grad(struct cpu *c, const struct conv_input_grad *op, const struct conv_cut *cut);
void cpu_thin_weight_grad(struct cpu *c, const struct conv_weight_grad *op, const struct conv_cut *cut);

/* Rows [from, from + n_rows) of y, columns of tile: what becomes of them. */
void cpu_epilogue(const struct cpu *c, float *y, const struct epilogue *e, size_t N, struct stretch rows,
                  const struct conv_tile *tile);

#endif
