/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - folders of files written whole or not at all: a temporary folder beside the path, then rename. However the
 * process ends, the path has its old content, or all of the new.
 */
#ifndef HARNESS_BASE_FOLDER_H
#define HARNESS_BASE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

/* Makes the folder PARENT/date-NAME, or the first of date-NAME-2, ... that does not exist; PARENT exists. out[n_bytes]
 * := its path. The date is the local one. RC_INVAL names it and the reason. */
enum rc folder_make_dated(char *out, size_t n_bytes, const char *parent, const char *name) MUST_CHECK;

/* Would that succeed, if PARENT is made where it does not exist? The same errors. Leaves nothing. */
enum rc folder_check_dated(char *out, size_t n_bytes, const char *parent, const char *name) MUST_CHECK;

/* Makes folder `path` and its parents, or finds it empty. RC_INVAL names it and the reason. */
enum rc folder_make_empty(const char *path) MUST_CHECK;

/* Locks folder `path` against other processes until *fd, which the caller closes, is closed. RC_INVAL: another process
 * has the lock, or there is no such folder. If the file system has no locks, there is no protection. */
enum rc folder_lock(int *fd, const char *path) MUST_CHECK;

struct atomic_folder {
    char *path, *temporary_path; /* write files, no folders, into temporary_path: "PATH.partial-XXXXXX" */
    char *made_path;             /* the first parent of path that was made; NULL: all existed */
    bool stays;                  /* set by the caller: unless it is committed, temporary_path is kept */
};

/* Starts to write the future folder `path`, which does not exist yet or is empty; its parents are made. RC_INVAL names
 * path and the reason (not empty, a mount point, a link to nothing, the folder this process runs in, no permission). */
enum rc atomic_folder_open(struct atomic_folder *out, const char *path) MUST_CHECK;
/* As atomic_folder_open(), for work that another process can continue: temporary_path is "PATH.partial", without more
 * letters. In it the caller makes the file `first`, which it locks (flock) until it ends, and later the file `plan`. If
 * PATH.partial exists already: RC_INVAL, unless its process ended before it had a plan. It is replaced then: it is
 * empty, or has an empty `first` that nobody locks, and no `plan`. */
enum rc atomic_folder_open_partial(struct atomic_folder *out, const char *path, const char *first,
                                   const char *plan) MUST_CHECK;
/* Would atomic_folder_open(), with `first` atomic_folder_open_partial(), succeed now? The same errors. Leaves things as
 * they are. */
enum rc atomic_folder_check(const char *path, const char *first, const char *plan) MUST_CHECK;
/* Continues with "PATH.partial" as it is. RC_INVAL: it does not exist, or there are also files at path. */
enum rc atomic_folder_reopen_partial(struct atomic_folder *out, const char *path) MUST_CHECK;
/* TMPDIR, or else /tmp: for folders of a single run. */
const char *folder_for_temporary(void);
/* No folder can be made there. RC_INVAL, with TMPDIR and the text of error, an errno. */
enum rc folder_refuse_temporary(int error) MUST_CHECK;
/* Opens a folder for this run only: in TMPDIR, or else /tmp, with an unpredictable name, and with rights only for its
 * owner. atomic_folder_discard() removes it; it is never committed. RC_INVAL names the place and the reason. */
enum rc atomic_folder_open_temporary(struct atomic_folder *out, const char *name) MUST_CHECK;
/* Renames it into place. RC_IO: nothing new is at path. Ends f either way. */
enum rc atomic_folder_commit(struct atomic_folder *f) MUST_CHECK;
/* Unless it stays: removes what was written, and the parents that were made, if they are empty. Does nothing if not
 * open or already committed. */
void atomic_folder_discard(struct atomic_folder *f);

#endif
