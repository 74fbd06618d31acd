/* SPDX-License-Identifier: Apache-2.0 */
/* inject_test.c - faults are read as they are spelled, and errors say how. What they do: stages_sim_test.c. */
#include "harness/accept/inject.h"
#include "harness/base/suite/unit.h"

#include <string.h>

UNIT_TEST(faults_are_read)
{
    struct inject i;

    assert_int_equal(inject_parse(&i, "rank:5=0.7,node:3=0.6,link:1-4=0.5,link:4>1=.25,stall:2,kill:0,flip:2@30,"
                                      "stall:1@soak,loss:6=0.05"),
                     RC_OK);
    assert_int_equal(i.n_faults, 9);
    assert_true(i.fault[0].kind == FAULT_SLOW_RANK && i.fault[0].a == 5 && i.fault[0].ratio == 0.7);
    assert_true(i.fault[1].kind == FAULT_SLOW_NODE && i.fault[1].a == 3 && i.fault[1].ratio == 0.6);
    assert_true(i.fault[2].kind == FAULT_SLOW_LINK && i.fault[2].a == 1 && i.fault[2].b == 4 && i.fault[2].both_ways);
    assert_true(i.fault[3].a == 4 && i.fault[3].b == 1 && !i.fault[3].both_ways && i.fault[3].ratio == 0.25);
    assert_true(i.fault[4].kind == FAULT_STALL && i.fault[4].a == 2 && i.fault[4].stage == ACCEPT_PAIRWISE);
    assert_true(i.fault[5].kind == FAULT_KILL && i.fault[5].a == 0 && i.fault[5].stage == ACCEPT_PAIRWISE);
    assert_true(i.fault[6].kind == FAULT_FLIP && i.fault[6].a == 2 && i.fault[6].step == 30);
    assert_true(i.fault[7].kind == FAULT_STALL && i.fault[7].a == 1 && i.fault[7].stage == ACCEPT_SOAK);
    assert_true(i.fault[8].kind == FAULT_LOSS && i.fault[8].a == 6 && i.fault[8].ratio == 0.05 &&
                inject_has_losses(&i));
    assert_true(inject_loss(&i, 1, ACCEPT_SOAK) == &i.fault[7] && inject_loss(&i, 2, ACCEPT_PAIRWISE) == &i.fault[4]);
    assert_true(!inject_loss(&i, 1, ACCEPT_PAIRWISE) && !inject_loss(&i, 2, ACCEPT_INTEGRITY) &&
                !inject_loss(NULL, 0, ACCEPT_PAIRWISE));
    assert_int_equal(inject_parse(&i, ""), RC_OK);
    assert_int_equal(i.n_faults, 0);
    assert_false(inject_has_losses(&i));
}

UNIT_TEST(texts_are_read_back)
{
    static const char *const text[] = {
        "rank:5=0.7", "node:3=0.123456789", "link:1-4=0.6",    "link:4>1=0.6", "stall:2",
        "kill:12",    "flip:2@30",          "kill:3@training", "loss:7=0.015"
    };
    char out[64];
    struct inject i;

    for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
        assert_int_equal(inject_parse(&i, text[k]), RC_OK);
        inject_text(out, sizeof out, &i.fault[0]);
        assert_string_equal(out, text[k]);
    }
}

UNIT_TEST(errors_name_the_word)
{
    static const struct {
        const char *text, *message;
    } c[] = {
        { "rank:1=0.5,", "--inject: a fault is empty; faults are written as in rank:5=0.7" },
        { "rank=0.5", "--inject rank=0.5: has no colon" },
        { "rnak:1=0.5", "--inject rnak:1=0.5: no such fault; the nearest is rank (of rank, node," },
        { "rank:=0.5", "--inject rank:=0.5: add the number of a rank" },
        { "node:-1=0.5", "the number of a node" },
        { "rank:99999999999=0.5", "the number of a rank" },
        { "rank:1", "--inject rank:1: add the speed, as in rank:1=0.6 (60 % of the healthy speed)" },
        { "rank:1=", "--inject rank:1=: the speed must be above 0 and below 1, as in rank:1=0.6 (60 %" },
        { "rank:1=0", "rank:1=0: the speed" },
        { "rank:1=1", "rank:1=1: the speed" },
        { "rank:1=nan", "rank:1=nan: the speed" },
        { "rank:1=-0.5", "rank:1=-0.5: the speed" },
        { "rank:1=0.5x", "rank:1=0.5x: the speed" },
        { "link:1=0.5", "a link has two nodes" },
        { "link:1-=0.5", "add the second node, as in link:1-4" },
        { "link:1>x=0.5", "add the second node, as in link:1>4" },
        { "link:3-3=0.5", "node 3 has no link to itself" },
        { "link:1-2", "--inject link:1-2: add the speed, as in link:1-2=0.6" },
        { "kill:2=1", "remove \"=1\"" },
        { "stall:2@3", "no such stage; there are preflight" },
        { "kill:2@traning", "--inject kill:2@traning: no such stage; the nearest is training (of" },
        { "loss:1", "--inject loss:1: add the share of lost messages, as in loss:1=0.05" },
        { "loss:1=1", "must be above 0 and below 1, as in loss:1=0.05" },
        { "loss:=0.1", "the number of a node" },
        { "kill:2@", "no such stage" },
        { "kill:2soak", "remove \"soak\"" },
        { "flip:2", "name the step, as in flip:2@30" },
        { "flip:2@", "name the step" },
        { "flip:2@x", "name the step" },
        { "rank:6=0.5,rank:5=0.5,rank:6=0.7", "--inject rank:6=0.7: such a fault is given already; leave out one" },
        { "link:1-4=0.5,link:4-1=0.6", "--inject link:4-1=0.6: such a fault" },
        { "flip:2@30,flip:2@31", "--inject flip:2@31: such a fault" },
        { "kill:2@soak,kill:2@soak", "--inject kill:2@soak: such a fault" },
    };
    struct inject i = { .n_faults = 77 };

    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        if (inject_parse(&i, c[k].text) != RC_INVAL || !strstr(rc_message(), c[k].message))
            fail_msg("%s: %s", c[k].text, rc_message());
        assert_int_equal(i.n_faults, 77); /* as it was */
    }
}

UNIT_TEST(there_is_room_for_so_many)
{
    char text[INJECT_MAX_FAULTS * 8 + 16] = "kill:0";
    struct inject i;

    for (int k = 1; k < INJECT_MAX_FAULTS; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",kill:%d", k);
    assert_int_equal(inject_parse(&i, text), RC_OK);
    assert_int_equal(i.n_faults, INJECT_MAX_FAULTS);
    strcat(text, ",kill:99");
    assert_int_equal(inject_parse(&i, text), RC_INVAL);
    assert_non_null(strstr(rc_message(), "more than 32 faults"));
}

UNIT_TEST(faults_are_of_what_there_is)
{
    static const struct {
        const char *text, *message; /* of 4 nodes and 8 ranks */
    } c[] = {
        { "rank:7=0.5,node:3=0.5,link:0-3=0.5,kill:7,stall:7,flip:7@1", NULL },
        { "rank:8=0.5", "rank:8=0.5: there is no rank 8; they are 0 to 7" },
        { "node:4=0.5", "there is no node 4; they are 0 to 3" },
        { "link:0>4=0.5", "link:0>4=0.5: there is no node 4" },
        { "link:5-0=0.5", "there is no node 5" },
        { "kill:8", "there is no rank 8" },
        { "loss:4=0.1", "there is no node 4" },
    };
    struct inject i;

    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        assert_int_equal(inject_parse(&i, c[k].text), RC_OK);
        assert_int_equal(inject_check(&i, 4, 8), c[k].message ? RC_INVAL : RC_OK);
        assert_true(!c[k].message || strstr(rc_message(), c[k].message));
    }
}

UNIT_TEST(a_flip_is_of_its_rank)
{
    struct inject i;

    assert_int_equal(inject_parse(&i, "rank:2=0.5,flip:2@30,flip:3@4"), RC_OK);
    assert_ptr_equal(inject_flip(&i, 2), &i.fault[1]);
    assert_ptr_equal(inject_flip(&i, 3), &i.fault[2]);
    assert_null(inject_flip(&i, 0));
    assert_null(inject_flip(NULL, 2));
}

UNIT_MAIN("inject")
