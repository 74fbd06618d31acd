/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_by_environment.c - hold_at() of the program that tests start. GRADMARK_TEST_HOLD is a list of
 *
 *   POINT:RANK:N=ACTION      separated by spaces; RANK may be * (any rank)
 *
 * ACTION is the name of a signal (TERM, INT, HUP, KILL, STOP), which the process sends to itself and goes on, or the
 * path of a folder with two FIFOs: the process writes "PID RANK" and a newline to FOLDER/reached, and then waits for
 * one byte from FOLDER/go. Each entry acts once in a process. hold.sh, beside this file, is the other side.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/hold.h"

enum { MAX_HOLDS = 8, MAX_PATH_BYTES = 1024 };

static atomic_bool has_acted[MAX_HOLDS];

/* A hold that cannot act would let the test go on with a wrong idea: end loudly. */
static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "GRADMARK_TEST_HOLD: %s: %s\n", what, why);
    _exit(70);
}

static int open_fifo(const char *folder, const char *name, int flags)
{
    char path[MAX_PATH_BYTES];
    int fd;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        give_up(folder, "the path is too long");
    do
        fd = open(path, flags | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        give_up(path, strerror(errno));
    return fd;
}

/* Wait for one byte. The folder is removed when the test ends, whatever ends it: then nobody else ends this process. */
static void await_go(const char *folder, int fd)
{
    enum { LOOK_MS = 1000 };
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char byte;

    while (poll(&p, 1, LOOK_MS) <= 0)
        if (access(folder, F_OK) != 0)
            give_up(folder, "the test ended without a word");
    if (read(fd, &byte, 1) != 1)
        give_up(folder, strerror(errno));
}

static void hold(const char *folder, int rank)
{
    char line[64];
    const int n_bytes = snprintf(line, sizeof line, "%ld %d\n", (long)getpid(), rank);
    /* Both ends of each: nobody waits for the test to open the other one, and an open FIFO keeps what is in it. */
    const int reached_fd = open_fifo(folder, "reached", O_RDWR);
    const int go_fd = open_fifo(folder, "go", O_RDWR);

    if (write(reached_fd, line, (size_t)n_bytes) != n_bytes) /* shorter than PIPE_BUF: whole, or not at all */
        give_up(folder, strerror(errno));
    await_go(folder, go_fd);
    (void)close(go_fd);
    (void)close(reached_fd);
}

static void act(const char *action, int rank)
{
    static const struct {
        const char *name;
        int number;
    } known[] = { { "TERM", SIGTERM }, { "INT", SIGINT }, { "HUP", SIGHUP }, { "KILL", SIGKILL }, { "STOP", SIGSTOP } };

    if (action[0] == '/') {
        hold(action, rank);
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, action) == 0) {
            (void)raise(known[i].number); /* to this thread: a handler has run before hold_at() returns */
            return;
        }
    give_up(action, "is neither a path nor a signal");
}

/* One entry, POINT:RANK:N=ACTION; it is cut into its parts. */
static void try_entry(char *entry, int i_entry, const char *point, int rank, uint64_t n)
{
    char *const action = strchr(entry, '=');
    char wanted[128];

    if (!action)
        give_up(entry, "is not POINT:RANK:N=ACTION");
    if (i_entry >= MAX_HOLDS)
        give_up(entry, "there are too many entries");
    *action = '\0';
    (void)snprintf(wanted, sizeof wanted, "%s:%d:%llu", point, rank, (unsigned long long)n);
    if (strcmp(entry, wanted) != 0) {
        (void)snprintf(wanted, sizeof wanted, "%s:*:%llu", point, (unsigned long long)n);
        if (strcmp(entry, wanted) != 0)
            return;
    }
    if (!atomic_exchange(&has_acted[i_entry], true))
        act(action + 1, rank);
}

const char *hold_root(void)
{
    const char *const root = getenv("GRADMARK_TEST_ROOT");

    return root ? root : "";
}

void hold_at(const char *point, int rank, uint64_t n)
{
    const char *const list = getenv("GRADMARK_TEST_HOLD");
    char copy[4 * MAX_PATH_BYTES], *rest;
    int i_entry = 0;

    if (!list)
        return;
    if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
        give_up(list, "is too long");
    for (char *entry = strtok_r(copy, " ", &rest); entry; entry = strtok_r(NULL, " ", &rest))
        try_entry(entry, i_entry++, point, rank, n);
}
