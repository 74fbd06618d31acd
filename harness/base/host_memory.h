/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.h - how much memory this process can still get, before it tries. */
#ifndef HARNESS_BASE_HOST_MEMORY_H
#define HARNESS_BASE_HOST_MEMORY_H

#include <stddef.h>

/* Bytes that can be allocated without swapping, and without passing a limit of the control groups that this process is
 * in (containers, batch systems); SIZE_MAX where unknown. root: "", or a folder that holds copies of
 * /proc and /sys. Reads files. Cannot fail. */
size_t host_memory_available(const char *root);

#endif
