/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - the place of the files that come with the program: PREFIX/share/gradmark of an installed one, else the
 * source tree that it was built from.
 *
 * PREFIX is derived from the place of the program, or of libgradmark.so: PREFIX/bin or PREFIX/lib. So an installed copy
 * may be moved, and never reads the files of another one. A program of the build tree, wherever that is, uses no
 * installed files above it either (PREFIX/build/release if a source tree is also a PREFIX).
 */
#ifndef HARNESS_BASE_SHARE_H
#define HARNESS_BASE_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* PREFIX of an installed copy, cut to out[n_bytes]; false: not installed, and out is "". Cannot fail. */
bool share_prefix(char *out, size_t n_bytes);
/* The same for the program or library `file`; build_folder: of the build tree, a path without links; "": deleted. */
bool share_prefix_of(char *out, size_t n_bytes, const char *file, const char *build_folder);
/* The path of `part` ("gnuplot"): in the installed copy, or source_path. Cut to out[n_bytes]. Cannot fail. */
void share_path(char *out, size_t n_bytes, const char *part, const char *source_path);

#endif
