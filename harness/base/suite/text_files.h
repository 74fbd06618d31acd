/* SPDX-License-Identifier: Apache-2.0 */
/* text_files.h - files of short texts, for tests: a test fails where one cannot be written or read. */
#ifndef HARNESS_BASE_SUITE_TEXT_FILES_H
#define HARNESS_BASE_SUITE_TEXT_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"

static inline void write_text(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

/* A new file, by a template of mkstemp(). */
static inline void make_text(char *path, const char *text)
{
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)close(fd);
    write_text(path, text);
}

#endif
