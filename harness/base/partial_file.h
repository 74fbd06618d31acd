/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partial_file.h - a file that grows by whole pieces over hours, and is put in place at the end.
 *
 *   G1  After partial_file_append() returned RC_OK its piece is in PATH.partial, however the process or machine ends.
 *   G2  PATH does not exist, or is complete: partial_file_commit() renames.
 *   G3  One process at a time writes it. It holds a lock, which ends with its process, however that ends.
 *   G4  A piece that was being written when the process ended may be there in part: at the end, where
 *       partial_file_cut() cuts it off.
 *   G5  The content that partial_file_replace() removes is unchanged in another file.
 */
#ifndef HARNESS_BASE_PARTIAL_FILE_H
#define HARNESS_BASE_PARTIAL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/file.h"
#include "harness/base/rc.h"

/* Starts an empty PATH.partial. RC_INVAL: it exists already, or cannot be made. */
enum rc partial_file_open(struct atomic_file *out, const char *path) MUST_CHECK;
/* Continues with PATH.partial; if it does not exist, with PATH, which then becomes it. out->stream is at its beginning,
 * for reading. RC_INVAL: neither exists, or both do, or another process writes it (base.G3). */
enum rc partial_file_reopen(struct atomic_file *out, const char *path) MUST_CHECK;
/* Keeps the first n_bytes of it. RC_IO. */
enum rc partial_file_cut(struct atomic_file *f, uint64_t n_bytes) MUST_CHECK;
/* Replaces its content by these bytes. Before that, the file gets a second name, PATH.damaged, or that with -2, -3,
 * ...: aside[n_aside_bytes]. RC_IO, RC_NOMEM: it is unchanged. */
enum rc partial_file_replace(struct atomic_file *f, const char *bytes, size_t n_bytes, char *aside,
                             size_t n_aside_bytes) MUST_CHECK;
/* Adds a piece, past stdio. RC_IO: neither the piece nor a part of it is there (unless that cannot be cut off
 * either). */
enum rc partial_file_append(struct atomic_file *f, const char *bytes, size_t n_bytes) MUST_CHECK;
/* Puts it in place as PATH, and closes it. RC_IO: PATH.partial is unchanged. */
enum rc partial_file_commit(struct atomic_file *f) MUST_CHECK;
/* Closes it; PATH.partial stays. Does nothing if not open. Other ends: partial_file_commit(), atomic_file_discard(). */
void partial_file_leave(struct atomic_file *f);

#endif
