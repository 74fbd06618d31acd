/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - one block of memory per tensor family: aligned, in huge pages, touched once, and divided into
 * pieces that are not freed separately. Page faults on a measured path can cost more than an algorithm
 * saves.
 */
#ifndef HARNESS_BASE_ARENA_H
#define HARNESS_BASE_ARENA_H

#include <stddef.h>

#include "harness/base/rc.h"

struct arena {
    char *base;
    size_t n_bytes, n_used_bytes, n_mapped_bytes;
    void *traced; /* NULL but under AddressSanitizer */
};

enum { ARENA_ALIGN_BYTES = 64 };

/* n_elems floats as the arena counts them: rounded up to ARENA_ALIGN_BYTES. */
size_t arena_floats_bytes(size_t n_elems);
/* Maps n_bytes (0 allowed), zeroed, every page touched. Requests huge pages from 2 MiB on. RC_NOMEM names the bytes;
 * out is then empty. */
enum rc arena_open(struct arena *out, size_t n_bytes) MUST_CHECK;
/* The same for large blocks, which may take seconds: calls tick(arg) before each 16 MiB that it touches; NULL: no
 * calls. */
enum rc arena_open_ticking(struct arena *out, size_t n_bytes, void (*tick)(void *arg), void *arg) MUST_CHECK;
/* The next n_elems floats, 64-byte aligned, zero when fresh. Asserts that they fit: sizes are
 * computed before open. */
float *arena_floats(struct arena *a, size_t n_elems);
/* Unmaps; NULL-safe on an empty arena; leaves it empty. */
void arena_close(struct arena *a);

/* n_bytes, not touched yet, aligned to a cache line; from 2 MiB on aligned to a huge page, with a request for huge
 * pages. free() frees it. NULL: no memory. */
void *huge_alloc(size_t n_bytes);

#endif
