/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - folders of files written whole or not at all: a temporary folder beside the path, then rename. Whatever
 * ends the process, what is at the path is what was there before, or all of the new.
 */
#ifndef HARNESS_BASE_FOLDER_H
#define HARNESS_BASE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

/* Make the folder PARENT/date-NAME, or the first of date-NAME-2, ... that is not there; PARENT exists. out[n_bytes] :=
 * its path. The date is of the day here. RC_INVAL names it and the reason. */
enum rc folder_make_dated(char *out, size_t n_bytes, const char *parent, const char *name) MUST_CHECK;

/* Make folder `path`, and those above it, or find it empty. RC_INVAL names it and the reason. */
enum rc folder_make_empty(const char *path) MUST_CHECK;

/* Keep other processes from the work in folder `path` until *fd, which the caller closes, is closed. RC_INVAL: another
 * process has it, or there is no such folder. Where the file system has no locks, nobody is kept away. */
enum rc folder_lock(int *fd, const char *path) MUST_CHECK;

struct atomic_folder {
    char *path, *temporary_path; /* write files, no folders, into temporary_path: "PATH.partial-XXXXXX" */
    char *made_path;             /* the first of the folders above path that were made; NULL: all were there */
    bool stays;                  /* set by the caller: unless it is committed, temporary_path stays as it is */
};

/* Start writing what shall become folder `path`, which is not there yet or empty; folders above it are made.
 * RC_INVAL names path and the reason (not empty, a mount point, a link to nothing, the folder this process runs in, no
 * permission). */
enum rc atomic_folder_open(struct atomic_folder *out, const char *path) MUST_CHECK;
/* As atomic_folder_open(), for work that another process can continue: temporary_path is "PATH.partial", without more
 * letters. RC_INVAL, too: there is one already. */
enum rc atomic_folder_open_partial(struct atomic_folder *out, const char *path) MUST_CHECK;
/* Continue with "PATH.partial" as it is. RC_INVAL: it is not there, or files are at path, too. */
enum rc atomic_folder_reopen_partial(struct atomic_folder *out, const char *path) MUST_CHECK;
/* TMPDIR, or else /tmp: where folders for a run alone are made. */
const char *folder_for_temporary(void);
/* None can be made there. RC_INVAL, with TMPDIR and the text of error, an errno. */
enum rc folder_refuse_temporary(int error) MUST_CHECK;
/* A folder for this run alone: in TMPDIR, or else /tmp, under a name that nobody can know before, and with rights for
 * its owner alone. It goes with atomic_folder_discard(), and is not put in place. RC_INVAL names the place and the
 * reason. */
enum rc atomic_folder_open_temporary(struct atomic_folder *out, const char *name) MUST_CHECK;
/* Rename into place. RC_IO: nothing new is at path. Ends f either way. */
enum rc atomic_folder_commit(struct atomic_folder *f) MUST_CHECK;
/* Unless it stays: remove what was written, and the folders above it that were made, where nobody else has put anything
 * into them. No-op when not open or already committed. */
void atomic_folder_discard(struct atomic_folder *f);

#endif
