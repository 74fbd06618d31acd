/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files written whole or not at all: a temporary name beside the path, fsync, rename. And files to read, which
 * must be regular files: for a pipe or a device there is an error, and no wait.
 *
 * A new file has the rights that the umask leaves; a replaced file keeps its mode. Programs that this process starts do
 * not inherit files or folders opened here (close-on-exec); scripts/lint/close_on_exec checks that everywhere.
 */
#ifndef HARNESS_BASE_FILE_H
#define HARNESS_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"

struct atomic_file {
    FILE *stream; /* write here; NULL: not open */
    char *path, *temporary_path;
    bool is_nameless; /* until the commit the file has no name, so a killed process leaves none behind */
};

/* Starts to write the future `path`. RC_INVAL names path and the reason (no such folder, a folder itself, no
 * permission). */
enum rc atomic_file_open(struct atomic_file *out, const char *path) MUST_CHECK;
/* Flushes, calls fsync, renames into place. RC_IO: nothing new is at path. Ends f either way. */
enum rc atomic_file_commit(struct atomic_file *f) MUST_CHECK;
/* Behind the reason why a write failed: what helps, with a semicolon before it; "" if errno does not tell. */
const char *file_write_remedy(int error);
/* Drops what was written; does nothing if not open or already committed. */
void atomic_file_discard(struct atomic_file *f);
/* The end of a function that writes f, and returns rc: commits f if rc is RC_OK, and discards it otherwise. */
enum rc atomic_file_finish(struct atomic_file *f, enum rc rc) MUST_CHECK;

/* Can a file be written at `path`? Call before hours of work, so that it does not fail after them. Leaves no file. "":
 * there is no file to write, RC_OK. Errors: those of atomic_file_open(). */
enum rc file_check_writable(const char *path) MUST_CHECK;

/* The final path of a file written to `path`: follows links, also one to a file that does not exist yet. The caller
 * frees it. NULL, with errno: nothing can be written there (no such folder), or no memory. */
char *file_target(const char *path);
/* Are a and b one file, however they are spelt? Files that do not exist yet are compared, too. */
bool file_is_same(const char *a, const char *b);
/* Is a file written to `path` directly in the folder `folder`? */
bool file_is_in_folder(const char *path, const char *folder);

/* For a file that users edit, before it is written. RC_INVAL: something is at `path`, and replaces (--force) is
 * false. */
enum rc file_check_new(const char *path, bool replaces) MUST_CHECK;

/* Opens the regular file at `path` for reading. Never waits. wanted: what is expected there, such as "a file that
 * --save wrote". RC_INVAL "PATH: cannot be read: ..." says what is there instead and what is wanted; RC_NOMEM. */
enum rc file_open_regular(FILE **out, const char *path, const char *wanted) MUST_CHECK;

/* Likewise for a text that users write. Skips a byte order mark of UTF-8, which editors may add. RC_INVAL also for
 * UTF-16. */
enum rc file_open_text(FILE **out, const char *path, const char *wanted) MUST_CHECK;

/* rc is the result of a function that names a file. If it is an error, puts the option that gave the file before the
 * message: "--resume PATH: ...". Returns rc. */
enum rc file_of_option(enum rc rc, const char *option) MUST_CHECK;

/* Makes the system write the names in the folder that holds `path`, as far as it can: a new or changed name then
 * survives a crash. */
void file_sync_folder_of(const char *path);

/* Makes folder `path` and its parents, whose names survive a crash. RC_INVAL names what is in the way. */
enum rc file_make_folder(const char *path) MUST_CHECK;

/* out[n_bytes] := the first line of ROOT + PATH, without its end; "": there is none. */
void file_first_line(char *out, size_t n_bytes, const char *root, const char *path);

/* Bytes for standard output that do not go through the stream stdout, which --json silences. */

/* Silence a stream of this process, such as &stdout: what is printed to it from now on is dropped. Its descriptor stays
 * open for output_write(), and for programs that this process starts. *before := the stream, for
 * output_restore(). RC_IO. */
enum rc output_silence(FILE **stream, FILE **before) MUST_CHECK;
/* Undo output_silence(). before NULL: does nothing. */
void output_restore(FILE **stream, FILE *before);

/* Flush a stream to which text was printed: stdout, or that of a file. RC_IO "standard output cannot be written:
 * REASON", also of what failed before; its reason may be lost then. */
enum rc output_flush(FILE *to) MUST_CHECK;
/* Write to standard output, after all that stdout holds. RC_IO. */
enum rc output_write(const char *text, size_t n_bytes) MUST_CHECK;
/* Write the file at path to standard output. RC_IO. */
enum rc output_copy(const char *path) MUST_CHECK;

#endif
