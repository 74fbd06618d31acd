/* SPDX-License-Identifier: Apache-2.0 */
/* opt_test.c - the option parser: every type, every complaint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/opt.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"

struct sample {
    uint64_t workers, unset, no_rank;
    double lr, no_rate;
    bool charts;
    const char *out, *mode, *models, *counts, *fruit, *fruits, *best;
    uint64_t weight, room, ripe;
    const char *from, *cut;
    struct opt_joined set;
};

enum { SWEET = 1u << 0, ROUND = 1u << 1 };
static const struct module apple = { .name = "apple", .caps = SWEET | ROUND };
static const struct module pear = { .name = "pear", .caps = SWEET };
static const struct module *const fruits[] = { &apple, &pear, NULL };

static const struct module *fruit_at(int i)
{
    return fruits[i];
}
static const struct module_absent no_fruits[] = { { "melon", "it was not built in", SWEET | ROUND },
                                                  { NULL, NULL, 0 } };
static const struct module_kind fruit_kind = { "fruit", fruit_at, no_fruits, "pear", "apple,pear" };

static const struct opt table[] = {
    OPT_U64_(struct sample, workers, "workers", "2", 1, 64, "ranks", "how many"),
    OPT_U64_(struct sample, unset, "unset", "", 1, 9, "", "no default"),
    OPT_U64_(struct sample, no_rank, "no-rank", "", 0, 9, "", "no default, and 0 is a value"),
    OPT_F64_(struct sample, lr, "lr", "0.5", 1e-6, 10, "", "rate"),
    OPT_F64_(struct sample, no_rate, "no-rate", "", 0, 1, "", "no default"),
    OPT_BOOL_(struct sample, charts, "charts", "true", "draw"),
    OPT_TEXT_(struct sample, out, "out", "", "FILE", "path"),
    OPT_CHOICE_(struct sample, mode, "mode", "single", "none|single|ps", "way"),
    OPT_LIST_(struct sample, models, "model", "linear", "linear|lenet", 0, 0, "networks"),
    OPT_LIST_(struct sample, counts, "counts", "", NULL, 1, 8, "numbers"),
    OPT_MODULE_(struct sample, fruit, "fruit", fruit_kind, "a module of a kind"),
    OPT_MODULES_(struct sample, fruits, "fruits", fruit_kind, "modules of a kind"),
    OPT_AUTO_MODULE_(struct sample, best, "best", fruit_kind, "a module, or none"),
    OPT_U64_(struct sample, weight, "weight", "1", 1, 9, "g", "of a round fruit"),
    OPT_U64_(struct sample, room, "room", "64Ki", 4, 1 << 20, "bytes", "for fruit. Best with little fruit"),
    OPT_U64_(struct sample, ripe, "ripe", "", 1, 99, "days", "when it is ripe (default: its kind's). Not of a melon"),
    OPT_TEXT_(struct sample, from, "from", "", "NAME|PLACE", "where it grew"),
    OPT_TEXT_(struct sample, cut, "cut", "whole", "whole|halves|pieces:N", "how it is cut"),
    OPT_JOINED_(struct sample, set, "set", "KEY=VALUE", "change something"),
    OPT_END_,
};
static const struct opt_rule rules[] = { { "workers", "mode", "ps", 0 },
                                         { "out", "model", "lenet", 0 },
                                         { "weight", "fruit", NULL, ROUND },
                                         { NULL, NULL, NULL, 0 } };

static enum rc parse(struct sample *s, int argc, const char *const *argv)
{
    struct opt_group group[] = { { "sample", table, s, { 0 }, NULL } };

    return opt_parse(group, 1, rules, argc, (char *const *)argv);
}

UNIT_TEST(defaults_are_parsed)
{
    struct sample s;

    assert_int_equal(parse(&s, 0, NULL), RC_OK);
    assert_true(s.workers == 2 && s.room == 65536 && s.lr == 0.5 && s.charts && s.unset == 0 && isnan(s.no_rate));
    assert_true(s.no_rank == UINT64_MAX);
    assert_string_equal(s.mode, "single");
    assert_string_equal(s.out, "");
    assert_string_equal(s.fruit, "pear");
    assert_string_equal(s.fruits, "apple,pear");
    assert_string_equal(s.best, "auto");
}

UNIT_TEST(every_type_takes_its_value)
{
    static const char *const argv[] = { "--workers=3", "--lr",   "1e-2", "--no-charts",          "--out",
                                        "-",           "--mode", "ps",   "--model=lenet,linear", "--counts",
                                        "1,2,8" };
    struct sample s;

    assert_int_equal(parse(&s, sizeof argv / sizeof *argv, argv), RC_OK);
    assert_true(s.workers == 3 && s.lr == 0.01 && !s.charts);
    assert_string_equal(s.out, "-");
    assert_string_equal(s.models, "lenet,linear");
    assert_string_equal(s.counts, "1,2,8");
}

UNIT_TEST(a_joined_option_is_given_as_often_as_one_likes)
{
    static const char *const argv[] = { "--set=a=1", "--workers=3", "--mode=ps", "--set", "b=2,c=3" };
    static const char *const empty[] = { "--set", "" };
    char longest[1040], text[1100];
    const char *const too_long[] = { longest }, *const one_too_many[] = { longest, "--set=a" };
    struct opt_group group[] = { { "sample", table, NULL, { 0 }, NULL } };
    struct sample s;

    assert_int_equal(parse(&s, 5, argv), RC_OK);
    assert_string_equal(s.set.text, "a=1,b=2,c=3");
    const struct opt *o = table;
    while (strcmp(o->name, "set") != 0)
        o++;
    assert_string_equal(opt_text(o, &s), "a=1,b=2,c=3");
    opt_format(o, &s, text, sizeof text);
    assert_string_equal(text, "a=1,b=2,c=3");
    assert_int_equal(parse(&s, 0, NULL), RC_OK);
    assert_string_equal(s.set.text, "");
    group[0].into = &s;
    assert_false(opt_given(group, 1, "set"));
    assert_int_equal(parse(&s, 2, empty), RC_INVAL);
    assert_string_equal(rc_message(), "--set: is empty; use KEY=VALUE");
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "--set=", 6);
    longest[6 + 1022] = '\0'; /* one more fits, but not behind a comma */
    assert_int_equal(parse(&s, 1, too_long), RC_OK);
    assert_int_equal(strlen(s.set.text), 1022);
    assert_int_equal(parse(&s, 2, one_too_many), RC_INVAL);
    assert_names(rc_message(), "--set a: ... 1023 letters");
}

UNIT_TEST(bad_input_names_option_value_and_remedy)
{
    static const struct {
        const char *argv[3];
        int argc;
        const char *says[3];
    } bad[] = {
        { { "--wrokers", "2" }, 2, { "--wrokers", "--workers", "nearest" } },
        { { "--xyzzyxyzzy", "2" }, 2, { "--xyzzyxyzzy", "--help", "" } },
        { { "--workers", "0" }, 2, { "--workers 0", "from 1 to 64", "" } },
        { { "--workers", "65" }, 2, { "--workers 65", "from 1 to 64", "" } },
        { { "--workers", "two" }, 2, { "--workers two", "whole number", "" } },
        { { "--workers", "-1" }, 2, { "--workers -1", "whole number", "" } },
        { { "--workers" }, 1, { "--workers", "needs a value", "" } },
        { { "--workers=1", "--workers=2" }, 2, { "--workers", "twice", "" } },
        { { "--lr", "nan" }, 2, { "--lr nan", "finite", "" } },
        { { "--lr", "0" }, 2, { "--lr 0", "out of range", "" } },
        { { "--mode", "pss" }, 2, { "--mode pss", "nearest is ps", "" } },
        { { "--mode", "" }, 2, { "--mode", "none|single|ps", "" } },
        { { "--model", "lenet,lennet" }, 2, { "--model lennet", "lenet", "" } },
        { { "--fruit", "appel" }, 2, { "--fruit appel", "nearest is apple", "apple|pear|melon" } },
        { { "--fruits", "pear,plums" }, 2, { "--fruits plums", "apple|pear|melon", "" } },
        { { "--best", "autp" }, 2, { "--best autp", "nearest is auto", "auto|apple|pear|melon" } },
        { { "--weight", "2" }, 2, { "--weight 2", "needs --fruit apple or melon", "but that is pear" } },
        { { "--counts", "1,9" }, 2, { "--counts 9", "from 1 to 8", "" } },
        { { "--counts", "1,,8" }, 2, { "--counts 1,,8: an element of the list is empty", "", "" } },
        { { "--fruits", "pear," }, 2, { "--fruits pear,: an element of the list is empty", "", "" } },
        { { "--room", "64KB" },
          2,
          { "--room 64KB: must be a whole number from 4 to 1048576, with a suffix K, M, G (1000), Ki, Mi, Gi (1024) or "
            "none",
            "", "" } },
        { { "--charts=maybe" }, 1, { "--charts maybe", "true or false", "" } },
        { { "--no-charts=true" }, 1, { "--no-charts", "takes no value", "" } },
        { { "--no-workers" }, 1, { "--no-workers", "", "" } },
        { { "--no-chart" }, 1, { "--no-chart: no such option; the nearest is --no-charts", "", "" } },
        { { "--no-worker" }, 1, { "--no-worker: no such option; --help lists them", "", "" } }, /* no switch */
        { { "stray" }, 1, { "stray", "not an option", "" } },
        { { "--" }, 1, { "--", "not an option", "" } },
        { { "--workers=2", "--lr=1" }, 2, { "--workers 2", "--mode ps", "single" } },
        { { "--out", "x" }, 2, { "--out x", "--model lenet", "linear" } },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sample s;
        assert_int_equal(parse(&s, bad[i].argc, bad[i].argv), RC_INVAL);
        for (int k = 0; k < 3; k++)
            if (!strstr(rc_message(), bad[i].says[k]))
                fail_msg("\"%s\" does not say \"%s\"", rc_message(), bad[i].says[k]);
        assert_null(strchr(rc_message(), '\n'));
    }
}

UNIT_TEST(a_rule_asks_for_caps)
{
    static const char *const argv[] = { "--weight=2", "--fruit=apple" };
    struct sample s;

    assert_int_equal(parse(&s, 2, argv), RC_OK);
    assert_int_equal(s.weight, 2);
    /* a module that is not built in satisfies rules by its caps; module_find() refuses it later */
    assert_int_equal(parse(&s, 2, (const char *const[]){ "--weight=3", "--fruit=melon" }), RC_OK);
    assert_int_equal(s.weight, 3);
}

UNIT_TEST(given_is_told_from_default)
{
    static char *const argv[] = { "--lr=0.5" };
    struct sample s;
    struct opt_group group[] = { { "sample", table, &s, { 0 }, NULL } };

    assert_int_equal(opt_parse(group, 1, NULL, 1, argv), RC_OK);
    assert_true(opt_given(group, 1, "lr"));
    assert_false(opt_given(group, 1, "workers"));
}

/* What nobody gave can be set, and stays not given; what was given cannot. */
UNIT_TEST(set_takes_the_place_of_defaults)
{
    static const char *const argv[] = { "--workers", "3" };
    struct sample s;
    struct opt_group group[] = { { "sample", table, &s, { 0 }, NULL } };

    assert_int_equal(opt_parse(group, 1, NULL, 2, (char *const *)argv), RC_OK);
    assert_int_equal(opt_set(group, 1, "room", "8Ki"), RC_OK);
    assert_int_equal(opt_set(group, 1, "fruit", "apple"), RC_OK);
    assert_true(s.room == 8192 && s.workers == 3);
    assert_string_equal(s.fruit, "apple");
    assert_false(opt_given(group, 1, "room"));
    assert_int_equal(opt_set(group, 1, "room", "16Ki"), RC_OK); /* again */
    assert_int_equal(s.room, 16384);
    assert_int_equal(opt_set(group, 1, "workers", "4"), RC_INVAL);
    assert_names(rc_message(), "--workers: ... workers ... 4");
    assert_int_equal(s.workers, 3);
    assert_int_equal(opt_set(group, 1, "room", "2"), RC_INVAL);
    assert_names(rc_message(), "--room 2: ... 4 ... 1048576");
    assert_int_equal(opt_set(group, 1, "rom", "8"), RC_INVAL);
    assert_names(rc_message(), "--rom: ... --room");
}

UNIT_TEST(values_round_trip_as_text)
{
    struct sample a, b;
    char value[64], argument[128];

    static const char *const argv[] = { "--workers=7", "--lr=0.1", "--mode=ps" };
    assert_int_equal(parse(&a, 3, argv), RC_OK);
    for (const struct opt *o = table; o->type != OPT_END; o++) {
        opt_format(o, &a, value, sizeof value);
        if (opt_default(o)[0] == '\0')
            continue;
        snprintf(argument, sizeof argument, "--%s=%s", o->name, value);
        char *const one[] = { argument };
        struct opt_group group[] = { { "sample", table, &b, { 0 }, NULL } };
        assert_int_equal(opt_parse(group, 1, NULL, 1, one), RC_OK);
        assert_memory_equal((char *)&a + o->offset_bytes, (char *)&b + o->offset_bytes,
                            o->type == OPT_U64 || o->type == OPT_F64 ? 8 : 0);
    }
}

/* What opt_help_print() makes of the option of this name in lines of 60 columns. */
static void assert_help(const char *name, const struct module *module, enum opt_detail detail, const char *expected)
{
    struct printed p;
    const struct opt *o = table;

    printed_begin(&p);
    while (o->type != OPT_END && strcmp(o->name, name) != 0)
        o++;
    assert_int_not_equal(o->type, OPT_END);
    opt_help_print(p.to, module, o, detail, "", 60);
    char *got = printed_end(&p);
    assert_string_equal(got, expected);
    free(got);
}

UNIT_TEST(help_has_value_choices_unit_and_default)
{
    assert_help("workers", NULL, OPT_BRIEF, "  --workers N       how many (ranks; default 2)\n");
    assert_help("unset", NULL, OPT_BRIEF, "  --unset N         no default\n");
    assert_help("lr", &apple, OPT_BRIEF, "  --apple.lr X      rate (default 0.5)\n");
    assert_help("charts", NULL, OPT_BRIEF, "  --[no-]charts     draw\n");
    assert_help("out", NULL, OPT_BRIEF, "  --out FILE        path\n");
    assert_help("mode", NULL, OPT_BRIEF, "  --mode NAME       way: none, single or ps (default single)\n");
    assert_help("counts", NULL, OPT_BRIEF, "  --counts N,N,...  numbers\n");
    assert_help("fruits", NULL, OPT_BRIEF,
                "  --fruits NAME,...\n"
                "                    modules of a kind: apple, pear or melon\n"
                "                    (default apple,pear)\n");
    assert_help("weight", NULL, OPT_BRIEF, "  --weight N        of a round fruit (g; default 1)\n");
    assert_help("ripe", NULL, OPT_BRIEF,
                "  --ripe N          when it is ripe (days; default: its\n                    kind's)\n");
    assert_help("from", NULL, OPT_BRIEF, "  --from NAME|PLACE\n                    where it grew\n");
    assert_help("cut", NULL, OPT_BRIEF,
                "  --cut NAME        how it is cut: whole, halves or pieces:N\n                    (default whole)\n");
}

UNIT_TEST(whole_help_has_all_sentences)
{
    assert_help("weight", NULL, OPT_WHOLE, "  --weight N        of a round fruit (g; default 1)\n");
    assert_help("set", NULL, OPT_BRIEF, "  --set KEY=VALUE   change something\n");
    assert_help("set", NULL, OPT_WHOLE,
                "  --set KEY=VALUE   change something. May be given several\n"
                "                    times\n");
    assert_help("room", NULL, OPT_BRIEF, "  --room N          for fruit (bytes; default 64Ki)\n");
    assert_help("room", NULL, OPT_WHOLE,
                "  --room N          for fruit (bytes; default 64Ki). Best\n"
                "                    with little fruit\n");
}

/* An option of a table that fills more than one word of group.given is that one, and no other.
 * Regression: the 65th option counted as the first one. */
UNIT_TEST(many_options_are_told_apart)
{
    enum { N = OPT_MOST };
    static char names[N][8];
    static struct opt many[N + 1];
    uint64_t value[N];
    struct opt_group group = { "many", many, value, { 0 }, NULL };
    char *argv[] = { "--o70", "7", "--o6", "8", "--o191", "9" };

    for (int i = 0; i < N; i++) {
        const struct opt one = OPT_U64_(struct sample, workers, "", "1", 0, 100, "", "h");
        (void)snprintf(names[i], sizeof names[i], "o%d", i);
        many[i] = one;
        many[i].name = names[i];
        many[i].offset_bytes = (size_t)i * sizeof *value;
    }
    const struct opt end = OPT_END_;
    many[N] = end;
    assert_int_equal(opt_parse(&group, 1, NULL, 6, argv), RC_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(opt_is_given(&group, i), i == 6 || i == 70 || i == 191);
        assert_int_equal(value[i], i == 70 ? 7 : i == 6 ? 8 : i == 191 ? 9 : 1);
    }
    assert_int_equal(opt_first_given(&group), 6);
    opt_set_given(&group, 70, false);
    assert_false(opt_given(&group, 1, "o70"));
    assert_true(opt_given(&group, 1, "o6"));
}

UNIT_MAIN("opt")
