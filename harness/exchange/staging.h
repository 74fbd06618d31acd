/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.h - opens a sync mode for a rank, whose parameters may be in memory that the host cannot access (a GPU's).
 *
 * Modes that exchange (ps, allreduce) work on host arrays. If the compute backend has memory of its own, such a mode
 * works on host copies with a cpu backend: gradients are copied to the host before they are sent, parameters are copied
 * back to the device after the step. Modes that exchange nothing update the parameters in device memory.
 *
 * Invariants
 *   Z1  Staged or not, a mode ends with the same bits, and no host code dereferences a pointer to device memory.
 */
#ifndef HARNESS_EXCHANGE_STAGING_H
#define HARNESS_EXCHANGE_STAGING_H

#include "harness/exchange/sync_mode.h"

/* Does the mode need host copies, two more float[n_params] on each worker? */
bool staging_needed(const struct sync_mode *mode, const struct compute_backend *compute);

/* Open the mode, staged if it needs host copies. Collective over env->world. env->param_init is in memory of
 * env->compute, velocity_init in host memory; arguments of the calls of *out likewise, staged or not (sync_mode.h).
 * Errors: those of mode->open; RC_NOMEM. */
enum rc staging_open(struct sync **out, const struct sync_mode *mode, const struct sync_env *env) MUST_CHECK;

#endif
