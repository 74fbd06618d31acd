/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_files_test.c - limits of open files that suffice, are raised, or do not suffice. (That the figures are those of
 * ZeroMQ: transport_zmq_test.c.) */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/net/zmq_files.h"

enum { SOFT = 100, HARD = 1000, MOST_OPEN = 300 };

static struct rlimit limit_now(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit;
}

/* So many ranks are not too many, and one more is. */
static int most_ranks(enum zmq_reach reach)
{
    int n_ranks = 1;

    while (zmq_files_check(reach, n_ranks + 1) == RC_OK)
        n_ranks++;
    return n_ranks;
}

UNIT_TEST(the_limit_is_raised)
{
    const struct rlimit before = { .rlim_cur = SOFT, .rlim_max = HARD };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(zmq_files_check(ZMQ_REACH_HOST, HARD / 5), RC_UNSUPPORTED);
    zmq_files_raise();
    assert_int_equal(limit_now().rlim_cur, HARD);
    assert_int_equal(limit_now().rlim_max, HARD);
    assert_int_equal(zmq_files_check(ZMQ_REACH_HOST, HARD / 5), RC_OK);
    zmq_files_raise();
    assert_int_equal(limit_now().rlim_cur, HARD);
}

/* What is open already counts: with 30 files more, there may be 30 / 3 or 30 / 5 ranks fewer. */
UNIT_TEST(too_many_ranks_are_refused)
{
    const int n_host = most_ranks(ZMQ_REACH_HOST), n_hosts = most_ranks(ZMQ_REACH_HOSTS);
    const int n_left = HARD - ZMQ_FILES_SPARE;
    char text[64];
    int fd[30];

    assert_in_range(3 * (n_host - 1), n_left - MOST_OPEN, n_left - 2);
    assert_in_range(5 * (n_hosts - 1), n_left - MOST_OPEN, n_left - 2);
    assert_in_range(5 * (n_hosts - 1), 3 * (n_host - 1) - 4, 3 * (n_host - 1) + 2);
    assert_int_equal(zmq_files_check(ZMQ_REACH_HOST, n_host + 1), RC_UNSUPPORTED);
    (void)snprintf(text, sizeof text, "transport zmq: %d ranks need 100", n_host + 1); /* 1001 to 1003 */
    assert_memory_equal(rc_message(), text, strlen(text));
    assert_non_null(strstr(rc_message(), " open files in the process of each, and its limit is 1000 (ulimit -Hn)"));
    for (int i = 0; i < 30; i++)
        assert_true((fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
    assert_int_equal(most_ranks(ZMQ_REACH_HOST), n_host - 10);
    assert_int_equal(most_ranks(ZMQ_REACH_HOSTS), n_hosts - 6);
    for (int i = 0; i < 30; i++)
        assert_int_equal(close(fd[i]), 0);
    assert_int_equal(zmq_files_check(ZMQ_REACH_PROCESS, 100 * HARD), RC_OK);
}

/* Above what is open: a context, and of each rank a socket to receive from and one to send to. */
UNIT_TEST(a_context_needs_files)
{
    const struct rlimit before = limit_now();
    char text[160];

    for (int n_users = 1; n_users <= 3; n_users++) {
        struct rlimit few = before;
        for (few.rlim_cur = 1; setrlimit(RLIMIT_NOFILE, &few) == 0 && zmq_files_check_context(n_users) != RC_OK;) {
            (void)snprintf(text, sizeof text, "and its limit is %d (ulimit -Hn)", (int)few.rlim_cur);
            assert_non_null(strstr(rc_message(), text));
            few.rlim_cur++;
        }
        assert_in_range(few.rlim_cur, 3 + ZMQ_FILES_OF_A_CONTEXT + 2 * n_users, MOST_OPEN);
        few.rlim_cur--;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_int_equal(zmq_files_check_context(n_users), RC_UNSUPPORTED);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

UNIT_MAIN("zmq_files")
