/* SPDX-License-Identifier: Apache-2.0 */
/* share_block.h - one block of memory: mapped, aligned, reserved, touched. Private to harness/world. */
#ifndef HARNESS_WORLD_SHARE_BLOCK_H
#define HARNESS_WORLD_SHARE_BLOCK_H

#include <stddef.h>

#include "harness/base/host_memory.h"
#include "harness/base/rc.h"
#include "harness/world/share.h"

struct share_block {
    void *memory;   /* NULL: not mapped */
    size_t n_bytes; /* mapped, whole pages */
    void *reserved; /* reserved addresses around it; NULL: none */
    size_t n_reserved_bytes;
};

/* n_bytes rounded up to a multiple of `step`, a power of two; 0: it would exceed SIZE_MAX. */
size_t share_round_up(size_t n_bytes, size_t step);
size_t share_page_bytes(void);

/* Maps n_bytes (whole pages) of fd, shared; fd < 0: private memory. 2 MiB or more are aligned to 2 MiB, with a request
 * for huge pages. RC_NOMEM. */
enum rc share_block_map(struct share_block *out, int fd, size_t n_bytes) MUST_CHECK;
/* Gives each page memory, mapped in this process; contents stay. fd: as mapped. RC_NOMEM: no room; there is no
 * signal. */
enum rc share_block_touch(struct share_block *b, int fd) MUST_CHECK;
/* NULL-safe in the memory; clears. Cannot fail. */
void share_block_unmap(struct share_block *b);

#endif
