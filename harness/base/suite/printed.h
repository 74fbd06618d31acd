/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printed.h - what is printed to a file, as a text.
 *
 *   struct printed p;
 *   printed_begin(&p);
 *   print(p.to);
 *   char *text = printed_end(&p);    the test frees it
 */
#ifndef HARNESS_BASE_SUITE_PRINTED_H
#define HARNESS_BASE_SUITE_PRINTED_H

#include <stdio.h>
#include <stdlib.h>

#include "harness/base/suite/unit.h"

struct printed {
    FILE *to;
    char *text;
    size_t n_bytes;
};

static inline void printed_begin(struct printed *out)
{
    *out = (struct printed){ 0 };
    out->to = open_memstream(&out->text, &out->n_bytes);
    assert_non_null(out->to);
}

static inline char *printed_end(struct printed *p)
{
    assert_int_equal(fclose(p->to), 0);
    return p->text;
}

#endif
