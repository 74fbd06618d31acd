/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.h - how much memory this process can still get, before it allocates; and the most that it had. */
#ifndef HARNESS_BASE_HOST_MEMORY_H
#define HARNESS_BASE_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

/* Bytes that can be allocated without swapping, within the limits of this process's control groups (containers, batch
 * systems) and address space (ulimit -v); SIZE_MAX if unknown. root: "", or a folder with copies of /proc and /sys.
 * Reads files. Cannot fail. */
size_t host_memory_available(const char *root);

/* If the address space of this process is limited (ulimit -v): can it have n_bytes more? Libraries without address
 * space abort, or retry for ever, so call this before they start. what: the user of the bytes, such as "the 4 ranks of
 * this process". RC_NOMEM names the limit. Cheap; touches no memory. */
enum rc host_memory_check_limit(size_t n_bytes, const char *what) MUST_CHECK;

/* The peak resident set size of this process since a reset. (The peak that getrusage() returns is that of the whole
 * life of the process and cannot be reset.) */
/* Sets the peak to the current resident set size. False: this system cannot. */
bool peak_rss_reset(void);
/* Bytes; NaN: the system does not report it. Cannot fail otherwise. */
double peak_rss_bytes(void);

/* The kind of pages in which the system has put memory: huge ones are not always granted. */

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

enum pages { PAGES_SMALL, PAGES_TRANSPARENT, PAGES_HUGETLB };

/* The kind of most of the mapping with `memory`, of n_bytes. Reads /proc/self/smaps, which is slow, unless n_bytes are
 * less than a huge page. Cannot fail: PAGES_SMALL if that cannot be read. */
enum pages pages_of(const void *memory, size_t n_bytes);
/* For records: "small", "transparent huge", "hugetlb". */
const char *pages_text(enum pages pages);

#endif
