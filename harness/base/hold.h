/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.h - named points at which a test can hold a process, or have it receive a signal; and where it finds /proc.
 *
 * In the released program hold_at() is an empty function (hold.c). Tests start a second program of the same objects,
 * build/<preset>/with_holds/gradmark, whose hold_at() (suite/hold_by_environment.c) reads GRADMARK_TEST_HOLD. So a test
 * waits for a fact ("worker 1 begins step 50") instead of a moment.
 */
#ifndef HARNESS_BASE_HOLD_H
#define HARNESS_BASE_HOLD_H

#include <stdint.h>

/* This rank (0 if the process has none) is at the n-th point of this name. Can block in a test. Cannot fail. */
void hold_at(const char *point, int rank, uint64_t n);
/* The root of host_load_watch(): "", or in a test GRADMARK_TEST_ROOT, a folder with its own proc/stat. Cannot fail. */
const char *hold_root(void);

#endif
