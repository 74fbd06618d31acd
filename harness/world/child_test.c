/* SPDX-License-Identifier: Apache-2.0 */
/* child_test.c - programs that are run: how they end, what they say, and that none outlives who waits for it. */
#include "harness/base/suite/unit.h"
#include "harness/world/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static enum rc run_script(const char *script, int limit_ms, int *exit_code, char *text, size_t n_bytes)
{
    char sh[] = "sh", c[] = "-c", copy[256];
    char *const argv[] = { sh, c, copy, NULL };

    snprintf(copy, sizeof copy, "%s", script);
    return child_run(argv, limit_ms, NULL, exit_code, text, n_bytes);
}

UNIT_TEST(how_it_ended)
{
    static const struct {
        const char *script;
        int exit_code;
        const char *text, *ending;
    } cases[] = {
        { "exit 0", 0, "", "ended with exit code 0" },
        { "printf no >&2; exit 3", 3, "no", "ended with exit code 3: no" },
        { "kill -KILL $$", 128 + SIGKILL, "", "was ended by signal 9 (Killed)" },
        { "exit 255", 255, "", "ended with exit code 255" }, /* as of ssh */
        { "printf no >&2; kill -TERM $$", 128 + SIGTERM, "no", "was ended by signal 15 (Terminated): no" },
        /* no standard input; its output is nowhere */
        { "read -r line && exit 9; echo out; printf $? >&2", 0, "0", "ended with exit code 0: 0" },
        { "printf 0123456789abcdefghij >&2", 0, "56789abcdefghij", "ended with exit code 0: 56789abcdefghij" },
    };
    char text[16], ending[64];
    int exit_code;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        exit_code = -1;
        assert_int_equal(run_script(cases[i].script, 0, &exit_code, text, sizeof text), RC_OK);
        assert_int_equal(exit_code, cases[i].exit_code);
        assert_string_equal(text, cases[i].text);
        child_ending(ending, sizeof ending, exit_code, text);
        assert_string_equal(ending, cases[i].ending);
    }
    assert_int_equal(run_script("sleep 60", 50, &exit_code, NULL, 0), RC_TIMEOUT);
}

UNIT_TEST(what_cannot_be_started)
{
    char none[] = "/no/such/program", folder[] = "/";
    char *const argv[] = { none, NULL }, *const other[] = { folder, NULL };
    int exit_code;

    assert_int_equal(child_run(argv, 0, NULL, &exit_code, NULL, 0), RC_IO);
    assert_string_equal(rc_message(), "/no/such/program: cannot be started: No such file or directory");
    assert_int_equal(child_run(other, 0, NULL, &exit_code, NULL, 0), RC_IO);
    assert_string_equal(rc_message(), "/: cannot be started: Permission denied");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to wait for */
    assert_int_equal(errno, ECHILD);
}

/* Who waits is killed: so is the program. It holds the writing end of a pipe as long as it lives. */
UNIT_TEST(none_outlives_who_waits)
{
    int held[2], exit_code, status;
    char byte;

    assert_int_equal(pipe(held), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char script[64];
        snprintf(script, sizeof script, "echo >&%d; exec sleep 60", held[1]);
        (void)!run_script(script, 0, &exit_code, NULL, 0);
        _exit(1);
    }
    close(held[1]);
    assert_int_equal(read(held[0], &byte, 1), 1); /* it runs */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct pollfd ended = { .fd = held[0], .events = POLLIN };
    assert_int_equal(poll(&ended, 1, 20000), 1);
    assert_int_equal(read(held[0], &byte, 1), 0);
    close(held[0]);
}

UNIT_MAIN("child")
