/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - start a program, keep the end of its standard error, wait for it with a time limit. */
#include "harness/world/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/stop.h"
#include "harness/world/wait.h"

/* Keep the last n_bytes - 1 bytes of a stream in text. */
static void keep_tail(char *text, size_t n_bytes, const char *bytes, size_t n_added)
{
    const size_t n_room = n_bytes - 1;
    size_t n_kept = strlen(text);

    if (n_added >= n_room) {
        memcpy(text, bytes + n_added - n_room, n_room);
        text[n_room] = '\0';
        return;
    }
    if (n_kept + n_added > n_room) {
        const size_t n_drop = n_kept + n_added - n_room;
        memmove(text, text + n_drop, n_kept - n_drop);
        n_kept -= n_drop;
    }
    memcpy(text + n_kept, bytes, n_added);
    text[n_kept + n_added] = '\0';
}

enum { STOP_POLL_MS = 100, GRACE_MS = 5000 };

struct child_wait { /* state of waiting for a program */
    pid_t pid;
    uint64_t started_ns;
    int limit_ms;            /* 0: none */
    bool (*must_stop)(void); /* NULL: there is none, or SIGTERM has been sent */
    void (*tick)(void *arg); /* NULL: none */
    void *arg;
};

/* *left_ms: how long to poll for its output, -1: without limit; false: the limit has passed. */
static bool wait_ms_left(struct child_wait *p, int *left_ms)
{
    if (p->must_stop && p->must_stop()) {
        kill(p->pid, SIGTERM);
        *p = (struct child_wait){ .pid = p->pid, .started_ns = wait_clock_ns(), .limit_ms = GRACE_MS };
    }
    if (p->tick)
        p->tick(p->arg);
    *left_ms = -1;
    if (p->limit_ms > 0) {
        const uint64_t spent_ms = (wait_clock_ns() - p->started_ns) / 1000000u;
        if (spent_ms >= (uint64_t)p->limit_ms)
            return false;
        *left_ms = p->limit_ms - (int)spent_ms;
    }
    if (p->must_stop && (*left_ms < 0 || *left_ms > STOP_POLL_MS))
        *left_ms = STOP_POLL_MS;
    return true;
}

/* Read fd to its end; false when the limit passed first. */
static bool drain(int fd, struct child_wait *wait, char *text, size_t n_bytes)
{
    char chunk[4096];
    int left_ms;

    while (wait_ms_left(wait, &left_ms)) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, left_ms) <= 0)
            continue; /* interrupted, or the limit has passed: checked in the loop condition */
        const ssize_t n_read = read(fd, chunk, sizeof chunk);
        if (n_read < 0 && errno == EINTR)
            continue;
        if (n_read <= 0)
            return true;
        if (text)
            keep_tail(text, n_bytes, chunk, (size_t)n_read);
    }
    return false;
}

/* Let the program have fd, as this one of its standard streams. */
static bool hand_over(int fd, int stream)
{
    return (fd == stream || dup3(fd, stream, O_CLOEXEC) == stream) && fcntl(stream, F_SETFD, 0) == 0;
}

/* Behind fork(): the standard streams, and the end with its parent. False: errno says why not. */
static bool settle(int error_fd, pid_t parent)
{
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC), out = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (in < 0 || out < 0 || !hand_over(in, 0) || !hand_over(out, 1) || !hand_over(error_fd, 2))
        return false;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return false;
    if (getppid() != parent) /* which ended before it was asked for */
        _exit(EXIT_FAILURE);
    return true;
}

enum { EXIT_NOT_STARTED = 127 };

/* 0, or why it could not be started. */
static int spawn(pid_t *pid, char *const argv[], int error_fd)
{
    const pid_t parent = getpid();
    int failed_fd[2], error = 0;

    if (pipe2(failed_fd, O_CLOEXEC) != 0)
        return errno;
    *pid = fork();
    if (*pid == 0) {
        if (settle(error_fd, parent))
            execvp(argv[0], argv);
        error = errno;
        (void)!write(failed_fd[1], &error, sizeof error);
        _exit(EXIT_NOT_STARTED);
    }
    if (*pid < 0)
        error = errno;
    close(failed_fd[1]);
    while (*pid > 0 && read(failed_fd[0], &error, sizeof error) < 0 && errno == EINTR)
        continue;
    close(failed_fd[0]);
    while (error && *pid > 0 && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return error;
}

enum rc child_run(char *const argv[], int limit_ms, bool (*must_stop)(void), int *exit_code, char *error_text,
                  size_t n_bytes)
{
    const struct child_watch watch = { .must_stop = must_stop, .tick = NULL, .arg = NULL };

    return child_run_watched(argv, limit_ms, &watch, exit_code, error_text, n_bytes);
}

enum rc child_run_watched(char *const argv[], int limit_ms, const struct child_watch *watch, int *exit_code,
                          char *error_text, size_t n_bytes)
{
    int pipe_fd[2] = { -1, -1 };
    enum rc rc = RC_OK;
    pid_t pid = -1;
    int status = 0;

    if (error_text)
        error_text[0] = '\0';
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return rc_raise(RC_IO, "%s: no pipe: %s", argv[0], strerror(errno));
    const int error = spawn(&pid, argv, pipe_fd[1]);
    close(pipe_fd[1]);
    if (error)
        FAIL(RC_IO, "%s: cannot be started: %s", argv[0], strerror(error));
    struct child_wait wait = { pid, wait_clock_ns(), limit_ms, watch->must_stop, watch->tick, watch->arg };
    const bool ended = drain(pipe_fd[0], &wait, error_text, n_bytes);
    if (!ended)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    *exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (!ended)
        rc = rc_raise(RC_TIMEOUT, "%s: killed, not done after %d ms", argv[0], wait.limit_ms);
out:
    close(pipe_fd[0]);
    return rc;
}

void child_ending(char *out, size_t n_bytes, int exit_code, const char *complaint)
{
    const char *colon = complaint[0] ? ": " : "";

    if (exit_code > 128 && exit_code < 128 + NSIG)
        snprintf(out, n_bytes, "was ended by signal %d (%s)%s%s", exit_code - 128, strsignal(exit_code - 128), colon,
                 complaint);
    else
        snprintf(out, n_bytes, "ended with exit code %d%s%s", exit_code, colon, complaint);
}

enum rc child_self_path(char *out, size_t n_bytes)
{
    const ssize_t n_path = readlink("/proc/self/exe", out, n_bytes - 1);

    if (n_path < 0 || (size_t)n_path == n_bytes - 1)
        return rc_raise(RC_IO, "the path of this program cannot be read: %s", strerror(errno));
    out[n_path] = '\0';
    return RC_OK;
}

void child_start_self_anew(char **argv)
{
    char path[PATH_MAX];

    if (child_self_path(path, sizeof path) == RC_OK)
        (void)execv(path, argv);
}

void child_host_name(char *out, size_t n_bytes)
{
    if (gethostname(out, n_bytes) != 0)
        snprintf(out, n_bytes, "unknown");
    out[n_bytes - 1] = '\0';
}

/* --- a copy of this process --- */

enum rc child_copy(int64_t *pid, bool *is_child)
{
    const pid_t parent = getpid();

    (void)fflush(NULL); /* else both would write it */
    const pid_t copy = fork();
    if (copy < 0)
        return rc_raise(RC_IO, "this process cannot be copied: %s", strerror(errno));
    *is_child = copy == 0;
    *pid = copy;
    if (*is_child && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(EXIT_FAILURE);
    return RC_OK;
}

enum rc child_await_copy(int64_t pid, int *exit_code)
{
    const struct timespec pause = { .tv_nsec = 10000000 }; /* a terminal's signal reaches both: STOP_AGAIN_MS */
    bool was_passed_on = false;
    int status = 0;
    pid_t ended;

    while ((ended = waitpid((pid_t)pid, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (stop_wanted() && !was_passed_on) {
            (void)kill((pid_t)pid, stop_signal());
            was_passed_on = true;
        }
        (void)nanosleep(&pause, NULL);
    }
    if (ended < 0)
        return rc_raise(RC_IO, "the copy of this process is gone: %s", strerror(errno));
    *exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return RC_OK;
}
