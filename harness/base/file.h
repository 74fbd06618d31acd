/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files written whole or not at all: a temporary name beside the path, fsync, rename; and files that are read,
 * which are regular ones: whoever names a pipe or a device is told, and nobody waits for it.
 *
 * A new file has the rights that the umask leaves; one that is replaced keeps its mode. No file or folder opened here
 * is open in a program that this one starts (close-on-exec), and scripts/lint/close_on_exec holds all rooms to that.
 */
#ifndef HARNESS_BASE_FILE_H
#define HARNESS_BASE_FILE_H

#include <stdbool.h>
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

/* Can files be written into the folder `path`? RC_INVAL names it, the reason and the remedy. */
enum rc file_check_folder(const char *path) MUST_CHECK;

/* The path at which a file written to `path` is found: links are followed, also one to a file that does not exist yet.
 * The caller frees it. NULL, with errno: nothing can be written there (no such folder), or no memory. */
char *file_target(const char *path);
/* Are a and b one file, however they are spelt? Files that do not exist yet count, too. */
bool file_is_same(const char *a, const char *b);
/* Is what is written to `path` found directly in the folder `folder`? */
bool file_is_in_folder(const char *path, const char *folder);

/* Of a file that users edit, before it is written: unless replaces (--force), RC_INVAL where something is at `path`. */
enum rc file_check_new(const char *path, bool replaces) MUST_CHECK;

/* Open the regular file at `path` for reading. Never waits. wanted: what is right there, such as "a file that --save
 * wrote". RC_INVAL "PATH: cannot be read: ..." says what is there instead and what is wanted; RC_NOMEM. */
enum rc file_open_regular(FILE **out, const char *path, const char *wanted) MUST_CHECK;

/* Likewise a text that users write. A byte order mark of UTF-8 is passed over, as editors put it there unasked.
 * RC_INVAL of UTF-16, too. */
enum rc file_open_text(FILE **out, const char *path, const char *wanted) MUST_CHECK;

/* rc of a function that names a file; where it is an error, the option that gave the file comes before the message:
 * "--resume PATH: ...". Returns rc. */
enum rc file_of_option(enum rc rc, const char *option) MUST_CHECK;

/* Have the system write the names in the folder that holds `path`, as far as it does that: a new name, or another one,
 * is there after a crash. */
void file_sync_folder_of(const char *path);

/* Make folder `path` and those above it, whose names survive a crash. RC_INVAL names what is in the way. */
enum rc file_make_folder(const char *path) MUST_CHECK;

#endif
