/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_suite.h - what every transport must do, whatever carries the bytes: net.T1 to T10.
 *
 * Test-only (library gm_net_testing). Call it from a rank body, on all ranks; it opens and closes its own
 * transports. Pairs are needed: with one rank only opening, closing and refusals are tested. Failed
 * expectations are printed to standard error. It stops after the first case that failed anywhere.
 */
#ifndef HARNESS_NET_SUITE_TRANSPORT_SUITE_H
#define HARNESS_NET_SUITE_TRANSPORT_SUITE_H

#include "harness/base/rc.h"

struct world;
struct transport_ops;

/* Failures on this rank, plus one where another rank failed; 0: conforms. Collective over w. */
int transport_suite(struct world *w, const struct transport_ops *ops);

/* The same; cases whose names begin with `limited`, such as "T4", give up on a message after timeout_ms: for a mutant
 * that must fail there. *failed_case := name of the case that failed, such as "T4 order"; NULL: none. */
int transport_suite_limited(struct world *w, const struct transport_ops *ops, const char *limited, int timeout_ms,
                            const char **failed_case);

#endif
