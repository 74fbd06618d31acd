/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_mutants.h - transports with one planted bug each, over inproc: transport_suite, or
 * transport_loss_suite, must catch every one. Test-only (library gm_net_testing); world threads, at least 2 ranks.
 */
#ifndef HARNESS_NET_SUITE_TRANSPORT_MUTANTS_H
#define HARNESS_NET_SUITE_TRANSPORT_MUTANTS_H

struct transport_ops;

struct transport_mutant {
    const struct transport_ops *ops;
    const char *invariant; /* the one it breaks, "T4": the failed case's name begins with it; "loss ...": the case of
                              transport_loss_suite that fails, alone of those before it */
};

/* Every mutant; the last entry has ops NULL. The first one has no bug: it must pass. */
const struct transport_mutant *transport_mutants(void);

#endif
