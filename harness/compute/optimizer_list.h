/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_list.h - the optimisers by their names: option --optimizer, and the options of each. */
#ifndef HARNESS_COMPUTE_OPTIMIZER_LIST_H
#define HARNESS_COMPUTE_OPTIMIZER_LIST_H

#include "harness/base/module.h"
#include "harness/compute/optimizer.h"

enum optimizer_caps {
    OPTIMIZER_HAS_MOMENTUM = 1u << 0, /* option --momentum applies to it */
    OPTIMIZER_OF_MOMENTUM_0 = 1u << 1 /* the optimiser for momentum 0 */
};

extern const struct module_kind optimizer_modules;
/* The optimiser for a given momentum, without further options. */
const struct module *optimizer_of_momentum(double momentum);
/* opts: the module's, NULL: none. momentum, rate_in_velocity: for one with OPTIMIZER_HAS_MOMENTUM. */
struct optimizer_rule optimizer_rule_of(const struct module *optimizer, const void *opts, double momentum,
                                        bool rate_in_velocity);
/* "sgd". */
const char *optimizer_name(enum optimizer_kind kind);

#endif
