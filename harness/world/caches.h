/* SPDX-License-Identifier: Apache-2.0 */
/* caches.h - the size of this host's caches. */
#ifndef HARNESS_WORLD_CACHES_H
#define HARNESS_WORLD_CACHES_H

#include <stddef.h>

/* All last-level caches of this host together (several dies or sockets have one each); 0 if unknown. Reads the
 * topology: some ms. Cannot fail. */
size_t caches_last_level_bytes(void);

#endif
