/* SPDX-License-Identifier: Apache-2.0 */
/* gang_test.c - gangs out of lists of hosts, TF_CONFIG and the environment, and keys out of files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/launch.h"
#include "harness/world/world.h"

#define HOSTS_OPTIONS                                                      \
    {                                                                      \
        "--worker-hosts", "--ps-hosts", "--chief-hosts", "--job", "--task" \
    }
#define MARK "\xef\xbb\xbf" /* as editors put it before a text */
#define PUBLIC "0123456789012345678901234567890123456789"
#define SECRET "abcdefghijabcdefghijabcdefghijabcdefghij"

static struct gang_hosts two_and_one(const char *job, int64_t task)
{
    return (struct gang_hosts){ .worker_hosts = "a:1,b:2",
                                .ps_hosts = "a:3",
                                .chief_hosts = "",
                                .job = job,
                                .task = task,
                                .names = HOSTS_OPTIONS };
}

static void assert_member(const struct gang *g, int rank, const char *text)
{
    char own[300];

    gang_member_text(g, rank, own, sizeof own);
    assert_string_equal(own, text);
}

static void assert_refused(enum rc rc, const char *words)
{
    assert_int_equal(rc, RC_INVAL);
    if (!strstr(rc_message(), words))
        fail_msg("'%s' does not say '%s'", rc_message(), words);
}

UNIT_TEST(workers_come_before_servers)
{
    const struct gang_hosts server = two_and_one("ps", 0), worker = two_and_one("worker", 1);
    struct gang g;

    assert_int_equal(gang_of_hosts(&g, &server), RC_OK);
    assert_int_equal(g.n_ranks, 3);
    assert_int_equal(g.rank, 2);
    assert_member(&g, 0, "worker 0 at a:1");
    assert_member(&g, 1, "worker 1 at b:2");
    assert_member(&g, 2, "ps 0 at a:3");
    assert_string_equal(g.root, "a:1");
    assert_int_equal(g.n_host_ranks, 2); /* it, and worker 0 */
    assert_int_equal(g.host_rank, 1);
    gang_free(&g);
    assert_int_equal(gang_of_hosts(&g, &worker), RC_OK);
    assert_int_equal(g.rank, 1);
    assert_int_equal(g.n_host_ranks, 1);
    gang_free(&g);
}

UNIT_TEST(wrong_hosts_are_named)
{
    struct gang_hosts h = two_and_one("ps", 1);
    struct gang g;

    assert_refused(gang_of_hosts(&g, &h), "--task 1: job ps has 1 process; use 0");
    h = two_and_one("chief", 0);
    assert_refused(gang_of_hosts(&g, &h), "--job chief: the run has no such job; use worker or ps");
    h = two_and_one("worker", 0);
    h.ps_hosts = "a:3,b";
    assert_refused(gang_of_hosts(&g, &h), "--ps-hosts: b is no HOST:PORT");
    h.ps_hosts = "b:2";
    assert_refused(gang_of_hosts(&g, &h), "--ps-hosts: b:2 is named twice");
    h.ps_hosts = "c:65536";
    assert_refused(gang_of_hosts(&g, &h), "--ps-hosts: c:65536 is no HOST:PORT");
    h.worker_hosts = "";
    assert_refused(gang_of_hosts(&g, &h), "--worker-hosts: is empty");
}

UNIT_TEST(tf_config_is_read)
{
    struct gang g;

    assert_int_equal(gang_of_tf_config(&g,
                                       "{\"cluster\": {\"ps\": [\"p:1\"], \"worker\": [\"w:1\", \"w:2\"], \"chief\": "
                                       "[\"c:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}"),
                     RC_OK);
    assert_int_equal(g.n_ranks, 4);
    assert_int_equal(g.rank, 2);
    assert_member(&g, 0, "chief 0 at c:1"); /* it is rank 0, before the workers */
    assert_member(&g, 1, "worker 0 at w:1");
    assert_member(&g, 3, "ps 0 at p:1");
    assert_string_equal(g.root, "c:1");
    gang_free(&g);
    /* master is another name of the chief; an evaluator is no member */
    assert_int_equal(gang_of_tf_config(&g,
                                       "{\"cluster\": {\"worker\": [\"w:1\"], \"evaluator\": [\"e:1\"], \"master\": "
                                       "[\"m:1\"]}, \"task\": {\"type\": \"master\", \"index\": 0}}"),
                     RC_OK);
    assert_int_equal(g.n_ranks, 2);
    assert_int_equal(g.rank, 0);
    assert_member(&g, 0, "chief 0 at m:1");
    gang_free(&g);
}

UNIT_TEST(some_tf_config_has_no_cluster)
{
    static const char *const none[] = { "", " \n", "{}", "{\"environment\": \"cloud\"}",
                                        "{\"cluster\": {}, \"task\": {\"type\": \"worker\", \"index\": 0}}" };
    static const char *const some[] = { "[]", "{\"task\": {\"type\": \"worker\"}}", "{\"cluster\": []}",
                                        "{\"cluster\": {\"worker\": []}}" };
    bool has_cluster = true;

    assert_int_equal(gang_has_tf_config(&has_cluster, NULL), RC_OK);
    assert_false(has_cluster);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        has_cluster = true;
        assert_int_equal(gang_has_tf_config(&has_cluster, none[i]), RC_OK);
        assert_false(has_cluster);
    }
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) { /* gang_of_tf_config() judges it */
        assert_int_equal(gang_has_tf_config(&has_cluster, some[i]), RC_OK);
        assert_true(has_cluster);
    }
    assert_refused(gang_has_tf_config(&has_cluster, "{"), "TF_CONFIG: line 1: ");
}

UNIT_TEST(wrong_tf_config_is_named)
{
    static const struct {
        const char *text, *words;
    } wrong[] = {
        { "{\"cluster\": ", "TF_CONFIG: line 1: " },
        { "[]", "TF_CONFIG: has no cluster" },
        { "{\"cluster\": {\"worker\": \"a:1\"}, \"task\": {\"type\": \"worker\"}}", "cluster.worker is no list" },
        { "{\"cluster\": {\"worker\": [1]}, \"task\": {\"type\": \"worker\"}}", "has an entry that is no" },
        { "{\"cluster\": {\"worker\": [\"a\"]}, \"task\": {\"type\": \"worker\"}}",
          "TF_CONFIG: cluster.worker: a is no" },
        { "{\"cluster\": {\"worker\": [\"a:1\"]}}", "TF_CONFIG: task is no" },
        { "{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", \"index\": \"0\"}}", "task is no" },
        { "{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"evaluator\", \"index\": 0}}", "evaluator" },
        { "{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}",
          "TF_CONFIG: task.index 1: job worker has 1 process; use 0" },
        { "{\"cluster\": {\"chief\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"chief\"}}", "there can be one chief" },
        { "{\"cluster\": {\"worker\": [\"a:1\"], \"wroker\": [\"b:1\"]}, \"task\": {\"type\": \"worker\"}}",
          "TF_CONFIG: cluster.wroker is no job that gradmark knows; use chief (or master), worker, ps" },
        { "{\"cluster\": {\"chief\": [\"a:1\"], \"master\": [\"b:1\"]}, \"task\": {\"type\": \"chief\"}}",
          "TF_CONFIG: cluster has both chief and master" },
        { "{\"cluster\": {\"worker\": [\"a:1\"], \"worker\": [\"b:1\"]}, \"task\": {\"type\": \"worker\"}}",
          "TF_CONFIG: line 1: duplicate object key" },
    };
    struct gang g;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(gang_of_tf_config(&g, wrong[i].text), wrong[i].words);
}

/* What is exported is what is read, and what world_launcher() tells. */
UNIT_TEST(the_environment_tells)
{
    struct gang_hosts h = two_and_one("ps", 0);
    struct gang g, read, peeked;
    char own[300];

    assert_false(gang_is_told());
    assert_false(gang_peek(&peeked));
    assert_int_equal(gang_of_hosts(&g, &h), RC_OK);
    g.start_s = 7.5;
    assert_int_equal(gang_export(&g, "open"), RC_OK);
    assert_true(gang_is_told());
    assert_int_equal(gang_read(&read), RC_OK);
    assert_int_equal(read.n_ranks, 3);
    assert_int_equal(read.rank, 2);
    assert_member(&read, 1, "worker 1 at b:2");
    assert_string_equal(read.root, "a:1");
    assert_true(read.start_s == 7.5);
    assert_false(read.has_key);
    assert_int_equal(read.listening_fd, -1);
    gang_own_text(own, sizeof own);
    assert_string_equal(own, "ps 0 at a:3");
    const struct launcher l = world_launcher();
    assert_string_equal(l.name, "a list of hosts");
    assert_int_equal(l.rank, 2);
    assert_int_equal(l.n_ranks, 3);
    assert_int_equal(l.n_host_ranks, 2);
    assert_int_equal(l.host_rank, 1);
    assert_true(l.is_by_hand);
    gang_free(&read);
    gang_free(&g);
    assert_int_equal(setenv("GRADMARK_GANG_RANK", "3", 1), 0);
    assert_refused(gang_read(&read), "GRADMARK_GANG_RANK=3: is no rank of the run");
    assert_int_equal(setenv("GRADMARK_GANG_RANK", "0", 1), 0);
    assert_int_equal(setenv("GRADMARK_GANG_KEY", "00ff", 1), 0);
    assert_refused(gang_read(&read), "GRADMARK_GANG_KEY: is no key of 64 hexadecimal digits");
    gang_forget_key();
    assert_null(getenv("GRADMARK_GANG_KEY"));
    assert_refused(gang_read(&read), "GRADMARK_GANG_KEY: is not set"); /* no key of zeros without a word */
    assert_int_equal(unsetenv("GRADMARK_GANG_RANK"), 0);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    write_text(path, text);
    assert_int_equal(chmod(path, mode), 0);
}

UNIT_TEST(keys_come_from_files_of_their_owner)
{
    char path[] = "/tmp/gradmark-gang-XXXXXX";
    unsigned char key[GANG_KEY_BYTES] = { 0 }, again[GANG_KEY_BYTES] = { 0 };
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    write_file(path, "gradmark-keys 1\npublic " PUBLIC "\nsecret " SECRET "\n", 0600);
    assert_int_equal(gang_read_key_file(key, path), RC_OK);
    write_file(path, "gradmark-keys 1\npublic " SECRET "\nsecret " SECRET "\n", 0600);
    assert_int_equal(gang_read_key_file(again, path), RC_OK);
    assert_memory_equal(key, again, sizeof key); /* by the secret alone */
    write_file(path, "gradmark-keys 1\npublic " PUBLIC "\nsecret " PUBLIC "\n", 0600);
    assert_int_equal(gang_read_key_file(again, path), RC_OK);
    assert_memory_not_equal(key, again, sizeof key);
    assert_memory_not_equal(again, PUBLIC, sizeof again);
    write_file(path, MARK "gradmark-keys 1\r\npublic " PUBLIC "\r\nsecret " SECRET "\r\n", 0600);
    assert_int_equal(gang_read_key_file(again, path), RC_OK);
    assert_memory_equal(key, again, sizeof key); /* whatever editors add */
    write_file(path, "gradmark-keys 1\npublic " PUBLIC "\nsecret " SECRET "\n", 0640);
    assert_refused(gang_read_key_file(key, path), "others than its owner may use it; use chmod 600");
    write_file(path, "gradmark-keys 2\npublic " PUBLIC "\nsecret " SECRET "\n", 0600);
    assert_refused(gang_read_key_file(key, path), "is no key file as gradmark keys makes it");
    write_file(path, "gradmark-keys 1\npublic " PUBLIC "\nsecret abc\n", 0600);
    assert_refused(gang_read_key_file(key, path), "is no key file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gang_read_key_file(key, path), RC_IO);
    assert_non_null(strstr(rc_message(), "--key-file /tmp/gradmark-gang-"));
}

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

/* A folder of its own, with the path of a file that is not there. */
static void make_place(char path[64])
{
    char folder[] = "/tmp/gradmark-gang-XXXXXX";

    assert_non_null(mkdtemp(folder));
    snprintf(path, 64, "%s/join", folder);
}

static void remove_place(char path[64])
{
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0); /* so nothing else was left there */
}

UNIT_TEST(who_joins_is_told_by_a_file)
{
    unsigned char key[GANG_KEY_BYTES] = { 0 };
    struct stat about;
    char path[64];
    struct gang g;

    make_place(path);
    assert_int_equal(gang_write_join_file(path, "far:7000", KEY, "rank@far,rank@near"), RC_OK);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(gang_of_join_file(&g, path), RC_OK);
    assert_string_equal(g.root, "far:7000");
    assert_int_equal(g.n_ranks, 2);
    assert_member(&g, 1, "rank 1 at near");
    assert_true(g.joins);
    gang_free(&g);
    assert_int_equal(gang_read_key_file(key, path), RC_OK);
    for (int i = 0; i < GANG_KEY_BYTES - 1; i++)
        assert_int_equal(key[i], i);
    assert_int_equal(key[GANG_KEY_BYTES - 1], 0xff);
    assert_refused(gang_write_join_file(path, "other:1", KEY, "rank@other"), "is there already, of another run");
    assert_int_equal(gang_of_join_file(&g, path), RC_OK); /* and stays as it was */
    assert_string_equal(g.root, "far:7000");
    gang_free(&g);
    remove_place(path);
    assert_refused(gang_write_join_file("/none/join", "a:1", KEY, "rank@a"),
                   "--join-file /none/join: cannot be written");
}

UNIT_TEST(a_wrong_join_file_is_named)
{
    static const char *const wrong[] = {
        "",
        "gradmark-keys 1\npublic " PUBLIC "\nsecret " SECRET "\n",
        "gradmark-join 2\nkey " KEY "\nroot a:1\nmembers rank@a\n",
        "gradmark-join 1\nroot a:1\nkey " KEY "\nmembers rank@a\n",
        "gradmark-join 1\nkey " KEY "\nroot a\nmembers rank@a\n",
        "gradmark-join 1\nkey " KEY "\nroot a:1\nmembers rank@a", /* cut off */
    };
    const char right[] = "gradmark-join 1\nkey " KEY "\nroot a:1\nmembers rank@a\n";
    unsigned char key[GANG_KEY_BYTES];
    char path[64];
    struct gang g;

    make_place(path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file(path, wrong[i], 0600);
        assert_refused(gang_of_join_file(&g, path), "is no file that gradmark launch --join-file wrote");
    }
    write_file(path, "gradmark-join 1\nkey 00\nroot a:1\nmembers rank@a\n", 0600);
    assert_refused(gang_read_key_file(key, path), "is no key file");
    write_file(path, right, 0604);
    assert_refused(gang_of_join_file(&g, path), "others than its owner may use it; use chmod 600");
    write_file(path, right, 0600);
    assert_int_equal(gang_of_join_file(&g, path), RC_OK);
    gang_free(&g);
    write_file(path, MARK "gradmark-join 1\r\nkey " KEY "\r\nroot a:1\r\nmembers rank@a\r\n", 0600);
    assert_int_equal(gang_of_join_file(&g, path), RC_OK);
    assert_string_equal(g.root, "a:1");
    assert_member(&g, 0, "rank 0 at a");
    gang_free(&g);
    assert_int_equal(gang_read_key_file(key, path), RC_OK);
    remove_place(path);
    assert_int_equal(gang_of_join_file(&g, "/none/join"), RC_INVAL);
    assert_names(rc_message(), "--join-file /none/join:");
}

UNIT_TEST(hosts_beyond_this_one_need_a_key)
{
    struct gang_hosts h = two_and_one("worker", 0);
    struct gang g;

    assert_int_equal(gang_of_hosts(&g, &h), RC_OK);
    assert_refused(gang_check_key(&g, false, false), "--key-file: worker 0 at a:1 is beyond this host");
    assert_int_equal(gang_check_key(&g, true, false), RC_OK);
    assert_int_equal(gang_check_key(&g, false, true), RC_OK);
    gang_free(&g);
    h.worker_hosts = "localhost:1,127.0.0.2:2";
    h.ps_hosts = "128.0.0.1:3";
    assert_int_equal(gang_of_hosts(&g, &h), RC_OK);
    assert_refused(gang_check_key(&g, false, false), "--key-file: ps 0 at 128.0.0.1:3");
    gang_free(&g);
    h.ps_hosts = "";
    assert_int_equal(gang_of_hosts(&g, &h), RC_OK);
    assert_int_equal(gang_check_key(&g, false, false), RC_OK);
    gang_free(&g);
}

/* --- launches --- */

static struct launch_opts launch_of(uint64_t n_ranks, const char *hosts)
{
    return (struct launch_opts){
        .n_ranks = n_ranks, .hosts = hosts, .agent = "", .interface = "", .join_file = "", .start_s = 5
    };
}

UNIT_TEST(hosts_are_filled_in_order)
{
    struct launch_opts o = launch_of(4, "far:2,near,far");
    struct launch_plan p;
    char *text;

    assert_int_equal(launch_plan_open(&p, &o), RC_OK);
    assert_int_equal(p.n_ranks, 4); /* far has three slots, of two entries */
    for (int r = 0; r < 3; r++)
        assert_string_equal(p.process[r].host, "far");
    assert_string_equal(p.process[3].host, "near");
    assert_int_equal(p.process[2].host_rank, 2);
    assert_int_equal(p.process[2].n_host_ranks, 3);
    assert_false(p.process[0].is_local);
    assert_int_equal(p.listening_fd, -1);
    assert_int_equal(strncmp(p.root, "far:", 4), 0);
    assert_string_equal(p.members, "rank@far,rank@far,rank@far,rank@near");
    for (int i = 0; i < LAUNCH_N_VARIABLES; i++)
        if (launch_variable(&text, &p, &o, 1, i)) {
            assert_non_null(text);
            assert_null(strstr(text, p.key)); /* world.L2 */
            free(text);
        }
    launch_plan_close(&p);
    o = launch_of(5, "far:2,near,far");
    assert_refused(launch_plan_open(&p, &o), "-np 5: the hosts of -H have 4 slots");
    o = launch_of(0, "far:0");
    assert_refused(launch_plan_open(&p, &o), "-H: far:0: its slots are no whole number");
    o = launch_of(0, "-oProxyCommand=x");
    assert_refused(launch_plan_open(&p, &o), "is no HOST or HOST:SLOTS"); /* no option for ssh */
}

/* Ranks follow the lines: the order of a file is the user's. */
UNIT_TEST(a_file_of_hosts_is_followed)
{
    struct launch_opts o = launch_of(0, "");
    struct launch_plan p;
    char path[64];

    make_place(path);
    write_file(path, MARK "far slots=2 # two\r\nnear\nfar\n127.0.0.2\nlocalhost\n", 0600);
    o.hostfile = path;
    assert_int_equal(launch_plan_open(&p, &o), RC_OK);
    assert_int_equal(p.n_ranks, 6);
    assert_string_equal(p.members, "rank@far,rank@far,rank@near,rank@far,rank@127.0.0.2,rank@localhost");
    assert_int_equal(p.process[3].host_rank, 2);
    for (int r = 0; r < 2; r++)
        assert_int_equal(p.process[r].n_host_ranks, 3);
    assert_int_equal(p.process[2].n_host_ranks, 1);
    assert_true(p.process[4].is_local && p.process[5].is_local);
    assert_int_equal(p.process[5].host_rank, 1); /* by two names, one host */
    assert_int_equal(p.process[4].n_host_ranks, 2);
    launch_plan_close(&p);
    remove_place(path);
}

UNIT_TEST(a_launch_here_listens_on_the_loopback)
{
    struct launch_opts o = launch_of(2, "");
    struct launch_plan p, q;
    char *text = NULL;

    assert_int_equal(launch_plan_open(&p, &o), RC_OK);
    assert_int_equal(launch_plan_open(&q, &o), RC_OK);
    assert_true(p.process[0].is_local && p.process[1].is_local && p.is_one_host);
    assert_int_equal(strncmp(p.root, "127.0.0.1:", 10), 0);
    assert_true(p.listening_fd >= 0);
    assert_int_equal(strlen(p.key), 64);
    assert_string_not_equal(p.key, q.key);   /* of each run its own */
    assert_string_not_equal(p.root, q.root); /* likewise */
    assert_true(launch_variable(&text, &p, &o, 0, 6));
    assert_int_equal(strncmp(text, "GRADMARK_GANG_LISTENS=", 22), 0);
    free(text);
    assert_false(launch_variable(&text, &p, &o, 1, 6));
    assert_false(launch_variable(&text, &p, &o, 1, 7));
    o.restarts = "40,80";
    assert_true(launch_variable(&text, &p, &o, 1, 7));
    assert_string_equal(text, "GRADMARK_GANG_RESTARTS=40,80");
    free(text);
    launch_plan_close(&p);
    launch_plan_close(&q);
}

UNIT_MAIN("gang")
