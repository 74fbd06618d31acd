/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_mutants.h - transports with one planted bug each, over inproc: transport_suite, or
 * transport_loss_suite, must catch every one. Test-only (library gm_net_testing); world threads, at least 2 ranks.
 */
#ifndef HARNESS_NET_SUITE_TRANSPORT_MUTANTS_H
#define HARNESS_NET_SUITE_TRANSPORT_MUTANTS_H

#include <stdbool.h>

struct transport_ops;

struct transport_mutant {
    const struct transport_ops *ops;
    const char *invariant; /* the one it breaks, "T4": the failed case's name begins with it; "loss ...": the case of
                              transport_loss_suite that fails, alone of those before it */
};

/* The mutant of that name, until the next call; "none" has no bug: it must pass. false: there is no such mutant. */
bool transport_mutant_find(struct transport_mutant *out, const char *name);

#endif
