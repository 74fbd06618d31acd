/* SPDX-License-Identifier: Apache-2.0 */
/* key_write.h - lines of a file that key_yaml.h reads: values that nothing in YAML takes for syntax, and comments. */
#ifndef HARNESS_BASE_KEY_WRITE_H
#define HARNESS_BASE_KEY_WRITE_H

#include <stdio.h>

#include "harness/base/key_table.h"

/* Each line of text as a comment of its own; NULL: none. */
void key_write_head(FILE *to, const char *text);
/* "key: value    # comment", which is wrapped: what does not fit goes on in indented lines of its own. */
void key_write_value(FILE *to, const struct key *k, const void *object, const char *comment);
/* text as a comment that begins in the first column, wrapped likewise. */
void key_write_text(FILE *to, const char *text);

#endif
