/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak_rss.h - the peak resident set size of this process since a reset. (The peak that getrusage() returns is that of
 * the whole life of the process and cannot be reset.)
 */
#ifndef HARNESS_BASE_PEAK_RSS_H
#define HARNESS_BASE_PEAK_RSS_H

#include <stdbool.h>

/* Sets the peak to the current resident set size. False: this system cannot. */
bool peak_rss_reset(void);
/* Bytes; NaN: the system does not report it. Cannot fail otherwise. */
double peak_rss_bytes(void);

#endif
