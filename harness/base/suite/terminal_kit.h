/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_kit.h - a pseudo-terminal, and what was printed to it.
 *
 *   int reader;
 *   FILE *to = kit_terminal(&reader, 60);
 *   print(to);
 *   kit_terminal_reads(reader, "a line\r\n");    a terminal ends its lines so
 *   fclose(to);
 *   close(reader);
 */
#ifndef HARNESS_BASE_SUITE_TERMINAL_KIT_H
#define HARNESS_BASE_SUITE_TERMINAL_KIT_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"

/* Skips the test where the system has none. */
static inline FILE *kit_terminal(int *reader, int n_columns)
{
    const struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)n_columns };
    char name[128];

    *reader = posix_openpt(O_RDWR | O_NOCTTY);
    if (*reader < 0 || grantpt(*reader) != 0 || unlockpt(*reader) != 0 || ptsname_r(*reader, name, sizeof name) != 0)
        skip();
    const int writer = open(name, O_RDWR | O_NOCTTY);
    if (writer < 0 || ioctl(writer, TIOCSWINSZ, &size) != 0)
        skip();
    FILE *to = fdopen(writer, "w");
    assert_non_null(to);
    return to;
}

/* What was written may come in parts, and a moment later. Nothing follows. */
static inline void kit_terminal_reads(int reader, const char *expected)
{
    const size_t n_bytes = strlen(expected);
    char text[1024] = "";
    int n_left = -1;

    assert_true(n_bytes < sizeof text);
    for (size_t n_had = 0; n_had < n_bytes;) {
        const ssize_t n = read(reader, text + n_had, n_bytes - n_had);
        assert_true(n > 0);
        n_had += (size_t)n;
    }
    assert_string_equal(text, expected);
    assert_int_equal(ioctl(reader, FIONREAD, &n_left), 0);
    assert_int_equal(n_left, 0);
}

#endif
