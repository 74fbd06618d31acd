/* SPDX-License-Identifier: Apache-2.0 */
/*
 * im2col_phases.c - im2col and its reverse where the stride is 2.
 *
 * A tap then sees only every other row and column of an image whose sides are even. Those are one of its four phases,
 * an image of half the sides, and in it the tap is a shifted copy again, as with stride 1.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/compute/cpu/im2col.h"

enum {
    N_PHASES = 4,
    MAX_DRAIN_TAPS = 9,
    PHASE_ELEMS = 1280, /* of a phase of the images that a block touches */
    DRAIN_ELEMS = 640,  /* the same in the reverse, which keeps masks on the stack, too */
};

struct halves {
    struct window g;  /* of the phases of these images, stride 1 */
    struct cols part; /* of them; its g is set by who uses it */
    size_t first_image;
};

static struct halves halves_of(const struct cols *s)
{
    const size_t out_h = (size_t)s->g->H / 2;
    struct halves h = { .g = *s->g, .part = *s, .first_image = s->from / out_h };

    h.g.B = (int)((s->from + s->n + out_h - 1) / out_h - h.first_image);
    h.g.H /= 2;
    h.g.W /= 2;
    h.g.stride_h = h.g.stride_w = 1;
    h.part.from -= h.first_image * out_h;
    return h;
}

static size_t phase_elems(const struct window *g)
{
    return (size_t)g->B * (size_t)g->H * (size_t)g->W;
}

static bool halves(const struct cpu *c, const struct cols *s, size_t max_elems)
{
    const struct window *g = s->g;

    if (c->bf16 || g->stride_h != 2 || g->stride_w != 2 || g->H % 2 != 0 || g->W % 2 != 0 ||
        g->kernel_h * g->kernel_w == 1 || window_out_h(g) != g->H / 2 || window_out_w(g) != g->W / 2)
        return false;
    const struct halves h = halves_of(s);
    return g->W / 2 <= CPU_NARROW_WIDTH && phase_elems(&h.g) <= max_elems;
}

bool cpu_fill_halves(const struct cpu *c, const struct cols *s)
{
    return halves(c, s, PHASE_ELEMS);
}

bool cpu_drain_halves(const struct cpu *c, const struct cols *s)
{
    return halves(c, s, DRAIN_ELEMS) && cpu_has_whole_images(s) && s->g->kernel_h * s->g->kernel_w <= MAX_DRAIN_TAPS;
}

/* Of a tap shifted by (top, left), in the phase that it sees. */
struct phase_tap {
    int phase, top, left;
};

static struct phase_tap phase_tap_of(const struct window *g, size_t tap)
{
    const int top = (int)tap / g->kernel_w - g->pad_h, left = (int)tap % g->kernel_w - g->pad_w;
    const int odd_h = abs(top) % 2, odd_w = abs(left) % 2;

    return (struct phase_tap){ 2 * odd_h + odd_w, (top - odd_h) / 2, (left - odd_w) / 2 };
}

void cpu_fill_halved(const struct cpu *cpu, float *col, const float *channel, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    struct halves h = halves_of(s);
    float phase[N_PHASES][PHASE_ELEMS];

    h.part.g = &h.g;
    for (size_t c = 0; c < s->n_channels; c++) {
        cpu->kernels->copies->split_phases(phase[0], PHASE_ELEMS, channel + (c * (size_t)g->B + h.first_image) * plane,
                                           (size_t)h.g.B * (size_t)g->H, (size_t)g->W);
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct col_row row = { .c = cpu, .row = (char *)(col + (c * n_taps + tap) * s->ld) };
            const struct phase_tap t = phase_tap_of(g, tap);
            cpu_fill_shifted(&row, phase[t.phase], &h.part, t.top, t.left);
        }
    }
}

void cpu_drain_halved(const struct cpu *cpu, float *channel, const float *col, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    struct halves h = halves_of(s);
    const size_t n_bytes = phase_elems(&h.g) * sizeof(float);
    float phase[N_PHASES][DRAIN_ELEMS], mask[MAX_DRAIN_TAPS][DRAIN_ELEMS];

    h.part.g = &h.g;
    for (size_t tap = 0; tap < n_taps; tap++) {
        const struct phase_tap t = phase_tap_of(g, tap);
        cpu_make_mask(mask[tap], &h.part, t.top, t.left);
    }
    for (size_t c = 0; c < s->n_channels; c++) {
        for (int k = 0; k < N_PHASES; k++)
            memset(phase[k], 0, n_bytes);
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct phase_tap t = phase_tap_of(g, tap);
            cpu_drain_shifted(cpu, phase[t.phase], col + (c * n_taps + tap) * s->ld, mask[tap], &h.part, t.top, t.left);
        }
        cpu->kernels->copies->add_phases(channel + (c * (size_t)g->B + h.first_image) * plane, phase[0], DRAIN_ELEMS,
                                         (size_t)h.g.B * (size_t)g->H, (size_t)g->W);
    }
}
