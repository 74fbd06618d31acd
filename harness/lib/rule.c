/* SPDX-License-Identifier: Apache-2.0 */
/* rule.c - gm_rule: the optimisers of the workers' own steps, and of servers. */
#include "harness/compute/optimizer.h"
#include "harness/lib/job.h"

struct gm_rule gm_rule_of(enum gm_optimizer optimizer)
{
    struct gm_rule rule = { .optimizer = optimizer };

    if (optimizer == GM_ADAGRAD)
        rule.epsilon = 1e-10;
    if (optimizer == GM_ADAM) {
        rule.epsilon = 1e-8;
        rule.beta1 = 0.9;
        rule.beta2 = 0.999;
    }
    return rule;
}

/* 0 <= x < 1; not of NaN. */
static bool is_decay(double x)
{
    return x >= 0 && x < 1;
}

/* What of a rule is out of range; NULL: nothing. */
static const char *find_wrong(const struct gm_rule *in, double *value, const char **right)
{
    const bool divides = in->optimizer == GM_ADAGRAD || in->optimizer == GM_ADAM;
    const struct {
        const char *name, *right;
        double value;
        bool is_wrong;
    } rules[] = {
        { "optimizer", "GM_SGD, GM_ADAGRAD or GM_ADAM", in->optimizer,
          in->optimizer != GM_SGD && in->optimizer != GM_ADAGRAD && in->optimizer != GM_ADAM },
        { "weight_decay", "0 and more", in->weight_decay, !(in->weight_decay >= 0) },
        { "momentum", "from 0 to below 1", in->momentum, in->optimizer == GM_SGD && !is_decay(in->momentum) },
        { "momentum", "0 without GM_SGD", in->momentum, in->optimizer != GM_SGD && in->momentum != 0 },
        { "epsilon", "above 0", in->epsilon, divides && !(in->epsilon > 0) },
        { "initial", "0 and more", in->initial, in->optimizer == GM_ADAGRAD && !(in->initial >= 0) },
        { "beta1", "from 0 to below 1", in->beta1, in->optimizer == GM_ADAM && !is_decay(in->beta1) },
        { "beta2", "from 0 to below 1", in->beta2, in->optimizer == GM_ADAM && !is_decay(in->beta2) },
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_wrong) {
            *value = rules[i].value;
            *right = rules[i].right;
            return rules[i].name;
        }
    return NULL;
}

enum rc job_rule(struct optimizer_rule *out, const struct gm_rule *in, const char *function)
{
    const char *right = NULL, *wrong;
    double value = 0;

    if (!in)
        return rc_raise(RC_INVAL, "%s: rule is NULL; gm_rule_of() makes one", function);
    wrong = find_wrong(in, &value, &right);
    if (wrong)
        return rc_raise(RC_INVAL, "%s: %s is %g; %s is right", function, wrong, value, right);
    *out = optimizer_sgd(in->momentum, in->weight_decay);
    if (in->optimizer == GM_SGD)
        return RC_OK;
    out->kind = in->optimizer == GM_ADAM ? OPTIMIZER_ADAM : OPTIMIZER_ADAGRAD;
    out->epsilon = in->epsilon;
    out->initial = in->optimizer == GM_ADAGRAD ? in->initial : 0;
    out->beta1 = in->optimizer == GM_ADAM ? in->beta1 : 0;
    out->beta2 = in->optimizer == GM_ADAM ? in->beta2 : 0;
    return RC_OK;
}
