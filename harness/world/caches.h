/* SPDX-License-Identifier: Apache-2.0 */
/* caches.h - how much the caches of this host hold. */
#ifndef HARNESS_WORLD_CACHES_H
#define HARNESS_WORLD_CACHES_H

#include <stddef.h>

/* Of all last-level caches of this host together (several dies or sockets have one each); 0 where the system does not
 * tell. Reads the topology: some ms. Cannot fail. */
size_t caches_last_level_bytes(void);

#endif
