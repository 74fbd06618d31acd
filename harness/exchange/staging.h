/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.h - opens a sync mode for a rank, whose parameters may live where the host cannot reach.
 *
 * Modes that exchange (ps, allreduce) work on the host's arrays. Where the compute has memory of its own, they get
 * host copies and a cpu compute: gradients come over before they are sent, parameters go back after the step. Modes
 * that exchange nothing update where the parameters are, on every compute.
 *
 * Invariants
 *   Z1  Staged or not, a mode ends with the same bits, and no host code follows a pointer into memory of the compute.
 */
#ifndef HARNESS_EXCHANGE_STAGING_H
#define HARNESS_EXCHANGE_STAGING_H

#include "harness/exchange/sync_mode.h"

/* Will there be host copies: two more float[n_params] on each worker? */
bool staging_needed(const struct sync_mode *mode, const struct compute_backend *compute);

/* Collective over env->world. env->param_init: in memory of env->compute; velocity_init: the host's. What the calls
 * of *out take and give stays as sync_mode.h says. Errors: those of mode->open; RC_NOMEM. */
enum rc staging_open(struct sync **out, const struct sync_mode *mode, const struct sync_env *env) MUST_CHECK;

#endif
