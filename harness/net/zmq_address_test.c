/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_address_test.c - where a rank of a made-up world listens, and what is left of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/net/zmq_address.h"
#include "harness/world/world.h"

static const struct world_ops threads = { .module.caps = WORLD_SHARED_MEMORY };
static const struct world_ops processes = { .module.caps = WORLD_LAUNCHED };

static struct world made(const struct world_ops *ops, int n_host_ranks, const char *interface)
{
    return (struct world){ .ops = ops, .rank = 2, .n_ranks = 4, .n_host_ranks = n_host_ranks, .interface = interface };
}

static void expect_refused(const struct world *w, enum rc why, const char *text)
{
    struct zmq_address a;

    assert_int_equal(zmq_address_open(&a, w, ZMQ_WANT_ANY), why);
    if (!strstr(rc_message(), text))
        fail_msg("\"%s\" is not in \"%s\"", text, rc_message());
    assert_string_equal(a.folder, "");
    zmq_address_remove(&a);
}

UNIT_TEST(threads_are_in_one_process)
{
    const struct world w = made(&threads, 4, NULL);
    struct zmq_address a;

    assert_int_equal(zmq_address_open(&a, &w, ZMQ_WANT_ANY), RC_OK);
    assert_int_equal(a.reach, ZMQ_REACH_PROCESS);
    assert_string_equal(a.text, "inproc://rank-2");
    zmq_address_remove(&a);
}

/* ipc and tcp, also where ranks are threads; and only where they can be reached so. */
UNIT_TEST(what_is_wanted_is_taken)
{
    const struct world one = made(&threads, 4, NULL), several = made(&processes, 2, NULL),
                       given = made(&processes, 2, "127.0.0.1");
    struct zmq_address a;

    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(zmq_address_open(&a, &one, ZMQ_WANT_HOST), RC_OK);
    assert_int_equal(a.reach, ZMQ_REACH_HOST);
    assert_memory_equal(a.text, "ipc:///tmp/gradmark-", 20);
    zmq_address_remove(&a);
    assert_int_equal(zmq_address_open(&a, &one, ZMQ_WANT_TCP), RC_OK);
    assert_int_equal(a.reach, ZMQ_REACH_HOSTS);
    assert_string_equal(a.text, "tcp://127.0.0.1:*");
    assert_int_equal(zmq_address_open(&a, &several, ZMQ_WANT_HOST), RC_INVAL);
    assert_names(rc_message(), "transport ipc: ... tcp");
    assert_int_equal(zmq_address_open(&a, &several, ZMQ_WANT_TCP), RC_INVAL);
    assert_non_null(strstr(rc_message(), "--interface NAME|ADDRESS has to say"));
    assert_int_equal(zmq_address_open(&a, &given, ZMQ_WANT_TCP), RC_INVAL);
    assert_non_null(strstr(rc_message(), "is the loopback, which no other host reaches"));
}

UNIT_TEST(processes_of_a_host_have_a_folder_of_their_own)
{
    const struct world w = made(&processes, 4, "");
    struct zmq_address a, other;
    struct stat is;
    FILE *socket;

    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(zmq_address_open(&a, &w, ZMQ_WANT_ANY), RC_OK);
    assert_int_equal(zmq_address_open(&other, &w, ZMQ_WANT_ANY), RC_OK);
    assert_string_not_equal(a.text, other.text);
    assert_int_equal(a.reach, ZMQ_REACH_HOST);
    assert_int_equal(strncmp(a.text, "ipc:///tmp/gradmark-", 20), 0);
    assert_int_equal(stat(a.folder, &is), 0);
    assert_true(S_ISDIR(is.st_mode));
    assert_int_equal(is.st_mode & 07777, 0700);
    assert_int_equal(is.st_uid, geteuid());
    assert_int_equal(zmq_address_check(a.text), RC_IO); /* there is no socket yet */
    assert_non_null(strstr(rc_message(), "No such file"));
    assert_non_null(socket = fopen(a.text + 6, "w"));
    assert_int_equal(fclose(socket), 0);
    assert_int_equal(zmq_address_check(a.text), RC_OK);
    char folder[sizeof a.folder];
    (void)snprintf(folder, sizeof folder, "%s", a.folder);
    zmq_address_remove(&a);
    assert_int_not_equal(access(folder, F_OK), 0);
    assert_string_equal(a.folder, "");
    zmq_address_remove(&a);
    zmq_address_remove(&other);
    assert_int_equal(zmq_address_check("tcp://10.0.0.1:5"), RC_OK);
}

/* The longest TMPDIR that does, and one that is longer by a byte. */
UNIT_TEST(a_path_of_a_socket_is_short)
{
    const struct world w = made(&processes, 4, NULL);
    char base[] = "/tmp/gradmark-test-XXXXXX", longest[ZMQ_SOCKET_PATH_BYTES];
    struct zmq_address a;

    assert_non_null(mkdtemp(base));
    const size_t n_longest = ZMQ_SOCKET_PATH_BYTES - 1 - strlen("/gradmark-XXXXXX/s");
    memset(longest, 'x', sizeof longest);
    memcpy(longest, base, strlen(base));
    longest[strlen(base)] = '/';
    longest[n_longest] = '\0';
    assert_int_equal(mkdir(longest, 0700), 0);
    assert_int_equal(setenv("TMPDIR", longest, 1), 0);
    assert_int_equal(zmq_address_open(&a, &w, ZMQ_WANT_ANY), RC_OK);
    assert_int_equal(strlen(a.text), strlen("ipc://") + ZMQ_SOCKET_PATH_BYTES - 1);
    zmq_address_remove(&a);
    assert_int_equal(rmdir(longest), 0); /* nothing is left in it */
    longest[n_longest] = 'x';
    longest[n_longest + 1] = '\0';
    assert_int_equal(setenv("TMPDIR", longest, 1), 0);
    expect_refused(&w, RC_INVAL, "the path of a socket in there has 109 bytes with its end, and 108 are possible");
    assert_int_equal(setenv("TMPDIR", "here", 1), 0);
    expect_refused(&w, RC_INVAL, "TMPDIR here: is no absolute path");
    assert_int_equal(setenv("TMPDIR", "/no/such/folder", 1), 0);
    expect_refused(&w, RC_INVAL, "TMPDIR /no/such/folder: no folder can be made there: No such file");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(rmdir(base), 0);
}

UNIT_TEST(hosts_need_an_interface)
{
    const struct world none = made(&processes, 2, NULL), empty = made(&processes, 2, "");
    const struct world loopback = made(&processes, 2, "127.0.0.1"), unknown = made(&processes, 2, "no-such-one");
    const struct world one_host = made(&processes, 4, "127.0.0.1");
    struct zmq_address a;

    expect_refused(&none, RC_INVAL, "ranks are on several hosts, and --interface NAME|ADDRESS has to say");
    expect_refused(&empty, RC_INVAL, "ranks are on several hosts");
    expect_refused(&unknown, RC_INVAL, "--interface no-such-one: host ");
    if (zmq_address_open(&a, &one_host, ZMQ_WANT_ANY) != RC_OK)
        skip(); /* this machine has no loopback */
    assert_int_equal(a.reach, ZMQ_REACH_HOSTS);
    assert_string_equal(a.text, "tcp://127.0.0.1:*");
    expect_refused(&none, RC_INVAL, "lo 127.0.0.1"); /* it lists those that there are */
    expect_refused(&loopback, RC_INVAL, "--interface 127.0.0.1: is the loopback, which no other host reaches");
}

UNIT_MAIN("zmq_address")
