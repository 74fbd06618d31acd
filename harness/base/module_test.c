/* SPDX-License-Identifier: Apache-2.0 */
/* module_test.c - modules of two made-up kinds: found, refused, laid out, asked (base.U2 to U4). */
#include <string.h>

#include "harness/base/opt.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

enum { CAP_A = 1u << 0, CAP_B = 1u << 1 };

struct red_opts {
    uint64_t weight;
};
struct tall_opts {
    uint64_t height, width;
    const char *name;
};
struct flat_opts {
    uint64_t depth;
};
static const struct opt red_table[] = { OPT_U64_(struct red_opts, weight, "weight", "3", 1, 99, "g", "of one"),
                                        OPT_END_ };
static const struct opt tall_table[] = { OPT_U64_(struct tall_opts, height, "height", "7", 1, 99, "m", "of one"),
                                         OPT_U64_(struct tall_opts, width, "width", "8", 1, 99, "m", "of one"),
                                         OPT_TEXT_(struct tall_opts, name, "name", "oak", "NAME", "of one"), OPT_END_ };
static const struct opt flat_table[] = { OPT_U64_(struct flat_opts, depth, "depth", "2", 1, 99, "m", "of one"),
                                         OPT_END_ };

static enum rc red_check(const void *opts, const struct job_facts *facts)
{
    const struct red_opts *o = opts;

    return o->weight > (uint64_t)facts->n_workers ? rc_raise(RC_INVAL, "--red.weight: too heavy") : RC_OK;
}
static struct memory_need red_memory(const void *opts, const struct job_facts *facts)
{
    const struct red_opts *o = opts;

    return (struct memory_need){ o->weight * facts->n_params, 10, 100 };
}
static struct memory_need tall_memory(const void *opts, const struct job_facts *facts)
{
    const struct tall_opts *o = opts;

    (void)facts;
    return (struct memory_need){ o->height, o->width, 0 };
}

static const struct module red = { .name = "red",
                                   .caps = CAP_A,
                                   .options = red_table,
                                   .opts_bytes = sizeof(struct red_opts),
                                   .check = red_check,
                                   .memory = red_memory };
static const struct module green = { .name = "green", .caps = CAP_A | CAP_B };
static const struct module tall = { .name = "tall",
                                    .needs_world = CAP_B,
                                    .options = tall_table,
                                    .opts_bytes = sizeof(struct tall_opts),
                                    .memory = tall_memory };
static const struct module flat = {
    .name = "flat", .refuses_world = CAP_B, .options = flat_table, .opts_bytes = sizeof(struct flat_opts)
};
static const struct module *const colours[] = { &red, &green, NULL }, *const trees[] = { &tall, &flat, NULL };

static const struct module *colour_at(int i)
{
    return colours[i];
}
static const struct module *tree_at(int i)
{
    return trees[i];
}
static const struct module_absent absent[] = { { "blue", "no blue was there", 0 }, { NULL, NULL, 0 } };
static const struct module_kind colour_kind = { "colour", colour_at, absent, "red", "red,green" };
static const struct module_kind tree_kind = { "tree", tree_at, NULL, "tall", NULL };
static const struct module_kind *const kinds[] = { &colour_kind, &tree_kind, NULL };

static void says(const char *text)
{
    if (!strstr(rc_message(), text))
        fail_msg("\"%s\" does not say \"%s\"", rc_message(), text);
}

UNIT_TEST(names_are_found_and_wrong_ones_explained)
{
    const struct module *m = NULL;

    assert_int_equal(module_find(&m, &colour_kind, "green"), RC_OK);
    assert_ptr_equal(m, &green);
    assert_int_equal(module_find(&m, &colour_kind, "blue"), RC_UNSUPPORTED); /* base.U4 */
    assert_string_equal(rc_message(), "colour blue: no blue was there");
    assert_int_equal(module_find(&m, &colour_kind, "gren"), RC_INVAL);
    assert_names(rc_message(), "colour gren: ... green ... red, green, blue");
    assert_int_equal(module_find(&m, &colour_kind, "xyzzyx"), RC_INVAL);
    says("there are red, green, blue");
    assert_ptr_equal(m, &green);
    assert_string_equal(module_name(&colour_kind, 1), "green");
    assert_string_equal(module_name(&colour_kind, 2), "blue");
    assert_null(module_name(&colour_kind, 3));
    assert_null(module_name(&tree_kind, 2));
}

UNIT_TEST(names_go_by_caps)
{
    char names[64];

    module_names_with(names, sizeof names, &colour_kind, CAP_A);
    assert_string_equal(names, "red or green");
    module_names_with(names, sizeof names, &colour_kind, CAP_A | CAP_B);
    assert_string_equal(names, "green");
    module_names_with(names, sizeof names, &tree_kind, CAP_A);
    assert_string_equal(names, "");
}

UNIT_TEST(worlds_are_needed_and_refused)
{
    assert_int_equal(module_check_world(&tree_kind, &tall, &colour_kind, &green), RC_OK);
    assert_int_equal(module_check_world(&tree_kind, &tall, &colour_kind, &red), RC_INVAL);
    assert_names(rc_message(), "--tree tall: ... --colour green ... red");
    assert_int_equal(module_check_world(&tree_kind, &flat, &colour_kind, &green), RC_INVAL);
    assert_names(rc_message(), "--tree flat: ... --colour red or blue ... green");
    assert_true(module_runs_in(&flat, &red));
}

static enum rc parse(struct opt_group *group, int *n, union module_values *into, const char *argument)
{
    char text[64];
    char *argv[] = { text };

    snprintf(text, sizeof text, "%s", argument);
    *n = module_opt_groups(group, kinds, into);
    return opt_parse(group, *n, NULL, argument[0] != '\0', argv);
}

UNIT_TEST(options_are_spelled_by_module_and_laid_out)
{
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values into, copy;
    int n;

    assert_int_equal(parse(group, &n, &into, "--tall.width=5"), RC_OK);
    assert_int_equal(n, 3);
    copy = into;
    const struct red_opts *r = module_options(&copy, kinds, &red);
    const struct tall_opts *t = module_options(&copy, kinds, &tall);
    assert_int_equal(r->weight, 3);
    assert_int_equal(t->height, 7);
    assert_int_equal(t->width, 5);
    assert_string_equal(t->name, "oak");
    assert_null(module_options(&copy, kinds, &green));
    assert_int_equal(parse(group, &n, &into, "--width=5"), RC_INVAL);
    says("the nearest is --tall.width");
    assert_int_equal(parse(group, &n, &into, "--tall.width=100"), RC_INVAL);
    assert_names(rc_message(), "--tall.width 100: ... 1 ... 99");
    assert_int_equal(parse(group, &n, &into, "--tall.width"), RC_INVAL);
    assert_string_equal(rc_message(), "--tall.width: needs a value");
}

UNIT_TEST(options_of_unused_modules_are_refused) /* base.U2 */
{
    const struct module *const both[] = { &red, &tall }, *const others[] = { &green, &flat },
                               *const none[] = { NULL, NULL };
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values into;
    int n;

    assert_int_equal(parse(group, &n, &into, "--red.weight=5"), RC_OK);
    assert_int_equal(module_refuse_unused(group, n, kinds, both), RC_OK);
    assert_int_equal(module_refuse_unused(group, n, kinds, others), RC_INVAL);
    assert_names(rc_message(), "--red.weight 5: ... --colour red ... green");
    assert_int_equal(module_refuse_unused(group, n, kinds, none), RC_INVAL);
    assert_names(rc_message(), "--red.weight 5: ... colour red ... colour");
    assert_int_equal(parse(group, &n, &into, "--tall.width=5"), RC_OK);
    assert_int_equal(module_refuse_unused(group, n, kinds, others), RC_INVAL);
    assert_names(rc_message(), "--tall.width 5: ... --tree tall ... flat");
    assert_int_equal(parse(group, &n, &into, "--flat.depth=5"), RC_OK); /* the other way round */
    assert_int_equal(module_refuse_unused(group, n, kinds, both), RC_INVAL);
    assert_names(rc_message(), "--flat.depth 5: ... --tree flat ... tall");
    assert_int_equal(parse(group, &n, &into, ""), RC_OK);
    assert_int_equal(module_refuse_unused(group, n, kinds, others), RC_OK);
}

UNIT_TEST(those_in_use_are_asked)
{
    const struct module *const both[] = { &red, &tall }, *const one[] = { &green, &tall };
    const struct job_facts few = { .n_workers = 2, .n_params = 1000 }, many = { .n_workers = 3, .n_params = 1000 };
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values into;
    int n;

    assert_int_equal(parse(group, &n, &into, ""), RC_OK);
    assert_int_equal(module_check_all(&into, kinds, both, &many), RC_OK);
    assert_int_equal(module_check_all(&into, kinds, both, &few), RC_INVAL);
    assert_int_equal(module_check_all(&into, kinds, one, &few), RC_OK);
    const struct memory_need m = module_memory(&into, kinds, both, &many), o = module_memory(&into, kinds, one, &many);
    assert_true(m.worker_bytes == 3007 && m.server_bytes == 18 && m.rank_0_bytes == 100);
    assert_true(o.worker_bytes == 7 && o.server_bytes == 8 && o.rank_0_bytes == 0);
}

UNIT_MAIN("module")
