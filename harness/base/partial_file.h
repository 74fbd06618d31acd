/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partial_file.h - a file that grows by whole pieces over hours, and is put in place at the end.
 *
 *   G1  What partial_file_append() returned RC_OK for is in PATH.partial, whatever ends the process, or the machine.
 *   G2  At PATH is nothing, or all of it: partial_file_commit() renames.
 *   G3  One process at a time writes it. A lock says so, which ends with its process, however that ends.
 *   G4  A piece that was being written when the process ended may be there in part: at the end, where
 *       partial_file_cut() cuts it off.
 *   G5  What partial_file_replace() leaves out is in another file, as it was.
 */
#ifndef HARNESS_BASE_PARTIAL_FILE_H
#define HARNESS_BASE_PARTIAL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/file.h"
#include "harness/base/rc.h"

/* Start an empty PATH.partial. RC_INVAL: there is one, or none can be made. */
enum rc partial_file_open(struct atomic_file *out, const char *path) MUST_CHECK;
/* Go on with PATH.partial; where there is none, with PATH, which then becomes it. out->stream is at its beginning, to
 * be read. RC_INVAL: neither is there, or both are, or another process writes it (G3). */
enum rc partial_file_reopen(struct atomic_file *out, const char *path) MUST_CHECK;
/* Keep the first n_bytes of it. RC_IO. */
enum rc partial_file_cut(struct atomic_file *f, uint64_t n_bytes) MUST_CHECK;
/* Have these bytes in the place of what it holds; before, the file as it was gets a second name, PATH.damaged, or -2,
 * -3, ... behind it: aside[n_aside_bytes]. RC_IO, RC_NOMEM: it stays as it is. */
enum rc partial_file_replace(struct atomic_file *f, const char *bytes, size_t n_bytes, char *aside,
                             size_t n_aside_bytes) MUST_CHECK;
/* Add a piece, past stdio. RC_IO: it is not there, nor a part of it (unless that cannot be cut off either). */
enum rc partial_file_append(struct atomic_file *f, const char *bytes, size_t n_bytes) MUST_CHECK;
/* Put it in place as PATH, and close it. RC_IO: PATH.partial stays as it is. */
enum rc partial_file_commit(struct atomic_file *f) MUST_CHECK;
/* Close it; PATH.partial stays. No-op when not open. To end otherwise: partial_file_commit(), atomic_file_discard(). */
void partial_file_leave(struct atomic_file *f);

#endif
