/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files written whole or not at all: a temporary name beside the path, fsync, rename.
 */
#ifndef HARNESS_BASE_FILE_H
#define HARNESS_BASE_FILE_H

#include <stdio.h>

#include "harness/base/rc.h"

struct atomic_file {
    FILE *stream; /* write here; NULL: not open */
    char *path, *temporary_path;
};

/* Start writing what shall become `path`. RC_INVAL names path and the reason (no such folder, a
 * folder itself, no permission). */
enum rc atomic_file_open(struct atomic_file *out, const char *path) MUST_CHECK;
/* Flush, fsync, rename into place. RC_IO: nothing new is at path. Ends f either way. */
enum rc atomic_file_commit(struct atomic_file *f) MUST_CHECK;
/* Drop what was written; no-op when not open or already committed. */
void atomic_file_discard(struct atomic_file *f);

/* Can a file be written at `path`? Asked before hours of work, so that it does not fail after them. Leaves nothing
 * behind. "": nothing is to be written, RC_OK. Errors: those of atomic_file_open(). */
enum rc file_check_writable(const char *path) MUST_CHECK;

/* Make folder `path` and those above it. RC_INVAL names what is in the way. */
enum rc file_make_folder(const char *path) MUST_CHECK;

#endif
