/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_list.c - see optimizer_list.h. */
#include "harness/compute/optimizer_list.h"

#include "harness/base/opt.h"

struct adagrad_opts {
    double epsilon, initial_accumulator;
};

struct adam_opts {
    double beta1, beta2, epsilon;
};

/* Those of Duchi, Hazan and Singer (2011), of whose delta any value above 0 will do. */
static const struct opt adagrad_table[] = {
    OPT_F64_(struct adagrad_opts, epsilon, "epsilon", "1e-10", 1e-20, 1, "",
             "value added to the root of the sum of squares. It is added outside the root"),
    OPT_F64_(struct adagrad_opts, initial_accumulator, "initial-accumulator", "0", 0, 1e6, "",
             "first value of the sum of squared gradients"),
    OPT_END_,
};

/* Those of Kingma and Ba (2015). */
static const struct opt adam_table[] = {
    OPT_F64_(struct adam_opts, beta1, "beta1", "0.9", 0, 0.999999, "", "decay of the mean of gradients"),
    OPT_F64_(struct adam_opts, beta2, "beta2", "0.999", 0, 0.999999, "", "decay of the mean of squared gradients"),
    OPT_F64_(struct adam_opts, epsilon, "epsilon", "1e-8", 1e-12, 1, "",
             "value added to the root of the mean of squares. It is added outside the root"),
    OPT_END_,
};

static const struct module modules[OPTIMIZER_N_KINDS] = {
    [OPTIMIZER_SGD] = { .name = "sgd", .caps = OPTIMIZER_OF_MOMENTUM_0 },
    [OPTIMIZER_MOMENTUM] = { .name = "momentum", .caps = OPTIMIZER_HAS_MOMENTUM },
    [OPTIMIZER_ADAGRAD] = { .name = "adagrad", .options = adagrad_table, .opts_bytes = sizeof(struct adagrad_opts) },
    [OPTIMIZER_ADAM] = { .name = "adam", .options = adam_table, .opts_bytes = sizeof(struct adam_opts) },
};

static const struct module *optimizer_at(int i)
{
    return i < OPTIMIZER_N_KINDS ? &modules[i] : NULL;
}

const struct module_kind optimizer_modules = { "optimizer", optimizer_at, NULL, NULL, NULL };

const struct module *optimizer_of_momentum(double momentum)
{
    return &modules[momentum != 0 ? OPTIMIZER_MOMENTUM : OPTIMIZER_SGD];
}

struct optimizer_rule optimizer_rule_of(const struct module *optimizer, const void *opts, double momentum,
                                        bool rate_in_velocity)
{
    struct optimizer_rule rule = { .kind = (enum optimizer_kind)(optimizer - modules) };
    const struct adagrad_opts *adagrad = opts;
    const struct adam_opts *adam = opts;

    switch (rule.kind) {
    case OPTIMIZER_MOMENTUM:
        rule.momentum = momentum;
        rule.rate_in_velocity = rate_in_velocity;
        break;
    case OPTIMIZER_ADAGRAD:
        rule.epsilon = adagrad->epsilon;
        rule.initial = adagrad->initial_accumulator;
        break;
    case OPTIMIZER_ADAM:
        rule.beta1 = adam->beta1;
        rule.beta2 = adam->beta2;
        rule.epsilon = adam->epsilon;
        break;
    case OPTIMIZER_SGD:
    case OPTIMIZER_N_KINDS:
        break;
    }
    return rule;
}

const char *optimizer_name(enum optimizer_kind kind)
{
    return modules[kind].name;
}
