/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_yaml.h - a YAML file of lines "key: value", read by a table of keys; each error is one line that begins with
 * FILE:LINE.
 *
 *   name: four-nodes            # a comment after a value ...
 *   hosts_count: 4              # may continue
 *                               # in a separate indented line
 */
#ifndef HARNESS_BASE_KEY_YAML_H
#define HARNESS_BASE_KEY_YAML_H

#include "harness/base/key_table.h"

enum { KEY_FILE_BYTES_MAX = 65536 };

struct key_file; /* a file that was read: the text of each key of its table */

/* RC_INVAL "FILE: cannot be read: ..." or "FILE:LINE: KEY: fault and valid value": for an unknown key, a repeated one,
 * all missing required ones, and any text that is not such a file. Values: key_file_set(). RC_NOMEM.
 */
enum rc key_file_load(struct key_file **out, const struct key_table *t, const char *path) MUST_CHECK;
/* The same for text in memory, which may hold any bytes; name: what messages begin with. */
enum rc key_file_parse(struct key_file **out, const struct key_table *t, const char *name, const char *text,
                       size_t n_bytes) MUST_CHECK;
void key_file_close(struct key_file **f); /* accepts NULL, and nulls */
const char *key_file_name(const struct key_file *f);
/* Line of the key in the file; 0: absent. */
int key_file_line(const struct key_file *f, int key);
/* Sets the member of *object to the value, if the file has one. RC_INVAL "FILE:LINE: KEY: ...". */
enum rc key_file_set(const struct key_file *f, int key, void *object) MUST_CHECK;
/* out[n_bytes] := the comment after the value; "": none. */
void key_file_comment(const struct key_file *f, int key, char *out, size_t n_bytes);
/* RC_INVAL: puts "FILE:LINE: KEY: " before this thread's message. */
enum rc key_file_refuse(const struct key_file *f, int key) MUST_CHECK;

#endif
