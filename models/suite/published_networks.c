/* SPDX-License-Identifier: Apache-2.0 */
/* published_networks.c - outlines, parameters and multiply-adds of the published networks. */
#include "models/suite/published_networks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

void outline_append(struct outline *o, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    o->n_bytes += (size_t)vsnprintf(o->text + o->n_bytes, sizeof o->text - o->n_bytes, fmt, args);
    va_end(args);
    assert_true(o->n_bytes < sizeof o->text);
}

#define THREE "3x3br "
static const char lenet_outline[] = THREE "max2x2/2 " THREE "max2x2/2 2x2br 1x1b loss1 ";
static const char alexnet_outline[] =
    "11x11/4br max3x3/2 5x5br max3x3/2 " THREE THREE THREE "max3x3/2 to6x6 drop0.5 6x6br drop0.5 1x1br 1x1b loss1 ";
static const char vgg16_outline[] =
    THREE THREE "max2x2/2 " THREE THREE "max2x2/2 " THREE THREE THREE "max2x2/2 " THREE THREE THREE
                "max2x2/2 " THREE THREE THREE "max2x2/2 to7x7 7x7br drop0.5 1x1br drop0.5 1x1b loss1 ";
static const char resnet8_outline[] =
    "3x3nr 3x3nr 3x3n+2r 1x1/2n 3x3/2nr<2 3x3n+2r 1x1/2n 3x3/2nr<2 3x3n+2r to1x1 1x1b "
    "loss1 ";

static void append_resnet(struct outline *o, const int n_blocks[4])
{
    outline_append(o, "7x7/2nr max3x3/2 ");
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < n_blocks[stage]; block++) {
            const char *stride = block == 0 && stage > 0 ? "/2" : "";
            if (block == 0)
                outline_append(o, "1x1%sn ", stride);
            outline_append(o, "1x1nr%s 3x3%snr 1x1n+3r ", block == 0 ? "<2" : "", stride);
        }
    outline_append(o, "to1x1 1x1b loss1 ");
}

static void append_resnet50(struct outline *o, bool aux)
{
    static const int n_blocks[] = { 3, 4, 6, 3 };

    (void)aux;
    append_resnet(o, n_blocks);
}

static void append_resnet101(struct outline *o, bool aux)
{
    static const int n_blocks[] = { 3, 4, 23, 3 };

    (void)aux;
    append_resnet(o, n_blocks);
}

static void append_resnet152(struct outline *o, bool aux)
{
    static const int n_blocks[] = { 3, 8, 36, 3 };

    (void)aux;
    append_resnet(o, n_blocks);
}

static const char block_35[] = "1x1nr 1x1nr<2 5x5nr 1x1nr<4 3x3nr 3x3nr avg3x3<7 1x1nr cat8,6,3,1 ";
static const char block_17[] = "1x1nr 1x1nr<2 1x7nr 7x1nr 1x1nr<5 7x1nr 1x7nr 7x1nr 1x7nr avg3x3<10 1x1nr cat11,8,3,1 ";
static const char block_8[] = "1x1nr 1x1nr<2 1x3nr 3x1nr<2 1x1nr<5 3x3nr 1x3nr 3x1nr<2 avg3x3<9 1x1nr cat10,8,7,4,3,1 ";

static void append_inception3(struct outline *o, bool aux)
{
    const int n_aux = aux ? 5 : 0;

    outline_append(o, "3x3/2nr 3x3nr 3x3nr max3x3/2 1x1nr 3x3nr max3x3/2 %s%s%s", block_35, block_35, block_35);
    outline_append(o, "3x3/2nr 1x1nr<2 3x3nr 3x3/2nr max3x3/2<5 cat5,2,1 %s%s%s%s", block_17, block_17, block_17,
                   block_17);
    if (aux)
        outline_append(o, "avg5x5/3 1x1nr 5x5nr to1x1 1x1b 1x1nr<6 ");
    else
        outline_append(o, "1x1nr ");
    outline_append(o, "3x3/2nr 1x1nr<%d 1x7nr 7x1nr 3x3/2nr max3x3/2<%d cat6,2,1 ", n_aux + 3, n_aux + 7);
    outline_append(o, "%s%sto1x1 drop0.5 1x1b loss1 ", block_8, block_8);
    if (aux) /* after the reduction, two blocks, three nodes and the loss */
        outline_append(o, "loss0.4<%d ", 8 + 2 * 11 + 4 + 1);
}

static const struct published_network published[] = {
    { .workload = &workload_lenet,
      .outline = lenet_outline,
      .n_params = 160 + 4640 + 8256 + 650,
      .multiply_adds = 9216 + 73728 + 8192 + 640 },
    { .workload = &workload_alexnet,
      .outline = alexnet_outline,
      .n_params = 61100840,
      .multiply_adds = 0.7142e9,
      .has_tensors = true },
    { .workload = &workload_vgg16,
      .outline = vgg16_outline,
      .n_params = 138357544,
      .multiply_adds = 15.4703e9,
      .has_tensors = true },
    { .workload = &workload_resnet8, /* by hand: 6n+2 layers of He et al. */
      .outline = resnet8_outline,
      .epsilon = 1e-5f,
      .n_params = 78042,
      .multiply_adds = 12501632 },
    { .workload = &workload_resnet50,
      .append_outline = append_resnet50,
      .epsilon = 1e-5f,
      .n_params = 25557032,
      .multiply_adds = 4.0892e9,
      .has_tensors = true },
    { .workload = &workload_resnet101,
      .append_outline = append_resnet101,
      .epsilon = 1e-5f,
      .n_params = 44549160,
      .multiply_adds = 7.8014e9,
      .has_tensors = true },
    { .workload = &workload_resnet152,
      .append_outline = append_resnet152,
      .epsilon = 1e-5f,
      .n_params = 60192808,
      .multiply_adds = 11.5136e9,
      .has_tensors = true },
    { .workload = &workload_inception3,
      .append_outline = append_inception3,
      .epsilon = 1e-3f,
      .n_params = 23834568,
      .n_params_aux = 27161264 - 23834568,
      .multiply_adds = 5.7132e9,
      .has_tensors = true },
};

const struct published_network *published_network_find(const struct workload *w)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        if (published[i].workload == w)
            return &published[i];
    fail_msg("network %s has no entry in suite/published_networks.c", w->module.name);
    return NULL;
}
