/* SPDX-License-Identifier: Apache-2.0 */
/* key_write.h - lines of a file that key_yaml.h reads: values in a form that YAML does not take for syntax, and
 * comments. */
#ifndef HARNESS_BASE_KEY_WRITE_H
#define HARNESS_BASE_KEY_WRITE_H

#include <stdio.h>

#include "harness/base/key_table.h"

/* Writes each line of text as a separate comment; NULL: none. */
void key_write_head(FILE *to, const char *text);
/* Writes "key: value # comment", wrapped: the rest continues in separate indented lines. */
void key_write_value(FILE *to, const struct key *k, const void *object, const char *comment);
/* Writes text as a comment that begins in the first column, wrapped likewise. */
void key_write_text(FILE *to, const char *text);

#endif
