/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - the kind of pages in which the system has put memory: huge ones are not always granted. */
#ifndef HARNESS_BASE_PAGES_H
#define HARNESS_BASE_PAGES_H

#include <stddef.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

enum pages { PAGES_SMALL, PAGES_TRANSPARENT, PAGES_HUGETLB };

/* The kind of most of the mapping with `memory`, of n_bytes. Reads /proc/self/smaps, which is slow, unless n_bytes are
 * less than a huge page. Cannot fail: PAGES_SMALL if that cannot be read. */
enum pages pages_of(const void *memory, size_t n_bytes);
/* For records: "small", "transparent huge", "hugetlb". */
const char *pages_text(enum pages pages);

#endif
