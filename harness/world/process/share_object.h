/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_object.h - memory of the kernel that other processes can map: a memfd, or a file in /dev/shm. Private to
 * share_process.c.
 *
 * State       meaning                                function
 *   created   memory, for this process               share_object_create()
 *   open      ... and for peers, through /proc or,   share_object_publish()
 *             for a file only, under a name
 *   closed    only for processes that have it        share_object_close(), and the end of this process; if it is
 *             mapped                                 killed, a name stays until the next one is made
 *
 * Errors of all functions: RC_NOMEM: a limit, or no room. RC_UNSUPPORTED: the system refuses this kind; the other may
 * work.
 */
#ifndef HARNESS_WORLD_PROCESS_SHARE_OBJECT_H
#define HARNESS_WORLD_PROCESS_SHARE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/share.h"

enum { SHARE_PATH_BYTES = 64 };

struct share_object {
    enum share_kind kind;
    int fd;                      /* -1: none */
    size_t n_bytes;              /* whole pages */
    char path[SHARE_PATH_BYTES]; /* of a file that has a name; else "" */
};

struct share_address { /* for peers to find it */
    char path[SHARE_PATH_BYTES];
    uint64_t device, inode, n_bytes;
};

/* Makes at least n_bytes, all zero. The pages of a memfd of 2 MiB or more are from the hugetlb pool, if that has
 * enough. */
enum rc share_object_create(struct share_object *out, enum share_kind kind, size_t n_bytes) MUST_CHECK;
/* named: under a name in /dev/shm. Names that killed processes left are removed (world.H8). */
enum rc share_object_publish(struct share_object *o, bool named, struct share_address *out) MUST_CHECK;
/* For another process of the same host group. The caller closes *fd. */
enum rc share_object_open_peer(int *fd, const struct share_address *a) MUST_CHECK;
/* Memory stays mapped. Clears. Cannot fail. */
void share_object_close(struct share_object *o);

#endif
