/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_pictures.c - files for tests of the command line.
 *
 * usage: make_pictures png|jpeg H W SHADE PATH   a picture of test_pictures.h
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/suite/test_pictures.h"

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: make_pictures png|jpeg H W SHADE PATH\n");
        return 2;
    }
    const int H = atoi(argv[2]), W = atoi(argv[3]), shade = atoi(argv[4]);
    struct test_bytes b = strcmp(argv[1], "png") == 0 ? test_smooth_png(H, W, shade) : test_smooth_jpeg(H, W, shade);
    FILE *to = fopen(argv[5], "wb");
    const bool written = to != NULL && fwrite(b.bytes, 1, b.n_bytes, to) == b.n_bytes && fclose(to) == 0;
    free(b.bytes);
    return written ? 0 : 1;
}
