/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.h - how much memory this process can still get, before it tries. */
#ifndef HARNESS_BASE_HOST_MEMORY_H
#define HARNESS_BASE_HOST_MEMORY_H

#include <stddef.h>

#include "harness/base/rc.h"

/* Bytes that can be allocated without swapping, and without passing a limit of the control groups that this process is
 * in (containers, batch systems) or of its address space (ulimit -v); SIZE_MAX where unknown. root: "", or a folder
 * that holds copies of /proc and /sys. Reads files. Cannot fail. */
size_t host_memory_available(const char *root);

/* Where the address space of this process is limited (ulimit -v): can it have n_bytes more? Libraries that find no
 * address space abort, or try again without end, so this is asked before they do. what: who needs them, such as "the 4
 * ranks of this process". RC_NOMEM names the limit. Cheap; touches no memory. */
enum rc host_memory_check_limit(size_t n_bytes, const char *what) MUST_CHECK;

#endif
