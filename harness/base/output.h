/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - bytes for standard output that do not go through the stream stdout, which --json silences. */
#ifndef HARNESS_BASE_OUTPUT_H
#define HARNESS_BASE_OUTPUT_H

#include <stdio.h>

#include "harness/base/rc.h"

/* Silence a stream of this process, such as &stdout: what is printed to it from now on is dropped. Its descriptor stays
 * open for output_write(), and for programs that this process starts. *before := the stream, for
 * output_restore(). RC_IO. */
enum rc output_silence(FILE **stream, FILE **before) MUST_CHECK;
/* Undo output_silence(). before NULL: does nothing. */
void output_restore(FILE **stream, FILE *before);

/* Write to standard output, after all that stdout holds. RC_IO. */
enum rc output_write(const char *text, size_t n_bytes) MUST_CHECK;
/* Write the file at path to standard output. RC_IO. */
enum rc output_copy(const char *path) MUST_CHECK;

#endif
