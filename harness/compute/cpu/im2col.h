/* SPDX-License-Identifier: Apache-2.0 */
/* im2col.h - shared by im2col.c and im2col_phases.c: rows of col that are shifted copies of a channel, and back. */
#ifndef GRADMARK_COMPUTE_CPU_IM2COL_H
#define GRADMARK_COMPUTE_CPU_IM2COL_H

#include "harness/compute/cpu/cpu.h"

/* The largest width of images for which copying under a mask is faster than zeroing each row's ends. */
enum { CPU_NARROW_WIDTH = 16 };

/* A row of col: float, or bf16. */
struct col_row {
    const struct cpu *c;
    char *row;
};

/* to(n W) = channel(B, H, W) shifted by (top, left): one copy, then zeros where the tap is outside its image. */
void cpu_fill_shifted(const struct col_row *to, const float *channel, const struct cols *s, int top, int left);
/* mask(n W) = 1 where a tap shifted by (top, left) lies inside its image, else 0. The mask of every image is the same,
 * so one is made and copied: first one image, then two, then four. */
void cpu_make_mask(float *mask, const struct cols *s, int top, int left);
/* image(n W) += row(n W) of a tap shifted by (top, left), where mask is 1. Nothing outside of image is touched: other
 * images may be another thread's. */
void cpu_drain_shifted(const struct cpu *cpu, float *image, const float *row, const float *mask, const struct cols *s,
                       int top, int left);

/* Does the block begin and end with an image? */
bool cpu_has_whole_images(const struct cols *s);

/* True for stride 2, from small fp32 images with even sides to half of them; drain: also only whole images and few
 * taps. */
bool cpu_fill_halves(const struct cpu *c, const struct cols *s);
bool cpu_drain_halves(const struct cpu *c, const struct cols *s);
/* cpu_im2col() and cpu_col2im() of such a block; channel: of x or dx, the block's first. */
void cpu_fill_halved(const struct cpu *cpu, float *col, const float *channel, const struct cols *s);
void cpu_drain_halved(const struct cpu *cpu, float *channel, const float *col, const struct cols *s);

#endif
