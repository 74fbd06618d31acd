/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - parts of texts: how often one is there; and what an error names, without its sentence (refused.sh for
 * tests in C).
 *
 * names: what must stand in the text, in this order, parted by " ... ": the option with its value, then other options,
 * values and numbers by which this error differs from others of the same option.
 *
 *   assert_names(rc_message(), "--workers 0 ... 1 ... 65536");
 */
#ifndef HARNESS_BASE_SUITE_NAMES_H
#define HARNESS_BASE_SUITE_NAMES_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* How often text (may be NULL) has part, without overlaps. */
static inline int n_times(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; at && (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

static inline bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind the first place at or after `from` where the n_bytes of part stand as a whole word; NULL: nowhere. */
static inline const char *behind_name(const char *text, const char *from, const char *part, size_t n_bytes)
{
    for (; strlen(from) >= n_bytes; from++)
        if (strncmp(from, part, n_bytes) == 0 && !(from > text && is_in_word(from[-1]) && is_in_word(part[0])) &&
            !(is_in_word(part[n_bytes - 1]) && (is_in_word(from[n_bytes]) || from[n_bytes] == '-')))
            return from + n_bytes;
    return NULL;
}

/* Does text have names? Each part has at least one byte. */
static inline bool has_names(const char *text, const char *names)
{
    static const char BETWEEN[] = " ... ";
    const char *at = text;

    while (at) {
        const char *end = strstr(names, BETWEEN);
        const size_t n_bytes = end ? (size_t)(end - names) : strlen(names);
        at = behind_name(text, at, names, n_bytes);
        if (!end)
            return at != NULL;
        names = end + sizeof BETWEEN - 1;
    }
    return false;
}

#define assert_names(text, names)                                 \
    do {                                                          \
        if (!has_names(text, names))                              \
            fail_msg("\"%s\" does not have \"%s\"", text, names); \
    } while (0)

#endif
