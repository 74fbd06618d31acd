/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - the processes of a gang: started, listened to, ended, reaped. Where they run: launch_plan.c. */
#include "harness/world/tcp/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/text.h"
#include "harness/world/stop.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/launch_child.h"
#include "harness/world/wait.h"

#define GRACE_NS UINT64_C(6000000000)       /* world.L4 */
#define STOP_GRACE_NS UINT64_C(60000000000) /* of a run that was told to stop: it writes what it has */

enum { POLL_MS = 50, N_STREAMS = 2, N_PIPES = 1 + N_STREAMS, LEAST_SHELL_CODE = 126 };

struct child {
    pid_t pid;                             /* 0: not started; -1: reaped */
    int in_fd;                             /* its standard input; -1: closed */
    int exit_code;                         /* once it is reaped */
    struct launch_lines stream[N_STREAMS]; /* standard output and error */
};

struct run {
    const struct launch_opts *opts;
    struct launch_plan plan;
    struct child *child; /* [plan.n_ranks] */
    struct pollfd *polled;
    int n_running;
    int failed;        /* the first that was ended, else the first that failed; -1: none */
    uint64_t ends_ns;  /* when those that are left are killed; 0: not yet known */
    int passed_signal; /* 0: none */
    bool has_join_file, were_killed;
};

/* --- to start --- */

/* The pipes of a child; *theirs: the ends that it gets. */
static enum rc open_pipes(struct child *c, int theirs[3])
{
    int ends[3][2];
    enum rc rc = RC_OK;

    for (int i = 0; i < 3; i++)
        if (pipe2(ends[i], O_CLOEXEC) != 0) {
            for (int k = 0; k < i; k++) {
                (void)close(ends[k][0]);
                (void)close(ends[k][1]);
            }
            FAIL(RC_IO, "no pipe for a process: %s", strerror(errno));
        }
    theirs[0] = ends[0][0];
    c->in_fd = ends[0][1];
    for (int i = 0; i < N_STREAMS; i++) {
        theirs[1 + i] = ends[1 + i][1];
        c->stream[i].fd = ends[1 + i][0];
        (void)fcntl(c->stream[i].fd, F_SETFL, O_NONBLOCK);
    }
out:
    return rc;
}

static enum rc start(struct run *run, int rank)
{
    struct child *c = &run->child[rank];
    struct launch_command command = { .argv = NULL };
    char line[sizeof run->plan.key + 1];
    int theirs[3], error = 0;
    enum rc rc;

    TRY(launch_command_open(&command, &run->plan, run->opts, rank));
    TRY(open_pipes(c, theirs));
    error = launch_spawn(&c->pid, &command, theirs, rank == 0 ? run->plan.listening_fd : -1);
    for (int i = 0; i < 3; i++)
        (void)close(theirs[i]);
    if (error != 0) {
        c->pid = 0;
        FAIL(RC_IO, "%s: cannot be started for rank %d on %s: %s", command.argv[0], rank, run->plan.process[rank].host,
             strerror(error));
    }
    run->n_running++;
    if (rank == 0 && run->plan.listening_fd >= 0) { /* where that process ends, nobody listens any more */
        (void)close(run->plan.listening_fd);
        run->plan.listening_fd = -1;
    }
    (void)snprintf(line, sizeof line, "%s\n", run->plan.key);
    (void)!write(c->in_fd, line, strlen(line)); /* a pipe takes so much; one that has ended shows soon */
    (void)fcntl(c->in_fd, F_SETFL, O_NONBLOCK); /* a program that reads no more of it holds up nobody */
out:
    launch_command_close(&command);
    return rc;
}

/* --- to listen --- */

static void read_streams(struct run *run, int rank)
{
    for (int i = 0; i < N_STREAMS; i++)
        launch_lines_read(&run->child[rank].stream[i], i == 0 ? STDOUT_FILENO : STDERR_FILENO,
                          run->opts->has_prefix ? rank : -1);
}

/* Until somebody writes, ends, or POLL_MS have passed. */
static void wait_for_any(struct run *run)
{
    nfds_t n = 0;

    for (int r = 0; r < run->plan.n_ranks; r++)
        for (int i = 0; i < N_STREAMS; i++)
            if (run->child[r].stream[i].fd >= 0)
                run->polled[n++] = (struct pollfd){ .fd = run->child[r].stream[i].fd, .events = POLLIN };
    (void)poll(run->polled, n, POLL_MS);
    for (int r = 0; r < run->plan.n_ranks; r++)
        read_streams(run, r);
}

/* --- to end --- */

static void close_input(struct child *c)
{
    if (c->in_fd >= 0)
        (void)close(c->in_fd);
    c->in_fd = -1;
}

/* Have the others to end, since this one has? Where the run goes on without a lost process, which a signal has ended,
 * one that has failed is a failure all the same (world.W8), and after rank 0 nothing is left to do. */
static bool ends_others(const struct run *run, int rank)
{
    const int exit_code = run->child[rank].exit_code;

    if (!run->opts->goes_on)
        return exit_code != 0;
    return rank == 0 || (exit_code != 0 && exit_code < 128);
}

/* world.L1: so nobody waits for one that has ended before it came. */
static void tell_end(struct run *run, int rank)
{
    unsigned char news[1 + LAUNCH_RANK_BYTES] = { 0 };

    bytes_put(news + 1, (uint64_t)rank, LAUNCH_RANK_BYTES);
    for (int r = 0; r < (rank == 0 ? run->plan.n_ranks : 1); r++)
        if (run->child[r].in_fd >= 0)
            (void)!write(run->child[r].in_fd, news, sizeof news);
}

/* Was it ended, rather than ended itself? Of a process on another host shells, ssh and agents have such codes. */
static bool is_sudden(int exit_code)
{
    const int number = exit_code - 128;

    return exit_code >= LEAST_SHELL_CODE && number != SIGHUP && number != SIGINT && number != SIGTERM;
}

static void name_failure(const struct run *run, int rank, int status)
{
    const char *host = run->plan.process[rank].host;
    const int exit_code = run->child[rank].exit_code;

    if (WIFSIGNALED(status))
        fprintf(stderr, "gradmark launch: rank %d on %s was ended by signal %d (%s)\n", rank, host, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (is_sudden(exit_code))
        fprintf(stderr, "gradmark launch: rank %d on %s ended with exit code %d\n", rank, host, exit_code);
}

static void reap(struct run *run, int rank)
{
    struct child *c = &run->child[rank];
    int status = 0;

    if (c->pid <= 0 || waitpid(c->pid, &status, WNOHANG) != c->pid)
        return;
    c->pid = -1;
    c->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    close_input(c);
    run->n_running--;
    if (run->ends_ns == 0 && ends_others(run, rank))
        run->ends_ns = wait_clock_ns() + GRACE_NS;
    tell_end(run, rank);
    /* One that was ended is the cause, whichever is seen first: the others fail because it is gone. */
    if (c->exit_code == 0 || (run->failed >= 0 && (run->were_killed || !is_sudden(c->exit_code) ||
                                                   is_sudden(run->child[run->failed].exit_code))))
        return;
    run->failed = rank;
    name_failure(run, rank, status);
}

/* world.L1: this process has been told to stop, once. */
static void pass_signal(struct run *run)
{
    const int number = stop_signal();
    const unsigned char byte = (unsigned char)number;

    if (number == 0 || run->passed_signal != 0)
        return;
    run->passed_signal = number;
    for (int r = 0; r < run->plan.n_ranks; r++)
        if (run->child[r].in_fd >= 0)
            (void)!write(run->child[r].in_fd, &byte, 1);
    if (run->ends_ns == 0)
        run->ends_ns = wait_clock_ns() + STOP_GRACE_NS;
}

/* Of each process that is left, with all that it has started. Those on other hosts end as their input does. */
static void kill_all(struct run *run)
{
    for (int r = 0; r < run->plan.n_ranks; r++) {
        struct child *c = &run->child[r];
        close_input(c);
        if (c->pid > 0)
            (void)kill(-c->pid, SIGKILL);
    }
}

static void await_all(struct run *run)
{
    while (run->n_running > 0) {
        wait_for_any(run);
        pass_signal(run);
        for (int r = 0; r < run->plan.n_ranks; r++)
            reap(run, r);
        if (!run->were_killed && run->ends_ns > 0 && wait_clock_ns() >= run->ends_ns) {
            if (run->n_running > 0)
                fprintf(stderr, "gradmark launch: %d process%s not ended, and %s killed\n", run->n_running,
                        run->n_running == 1 ? " has" : "es have", run->n_running == 1 ? "is" : "are");
            kill_all(run);
            run->were_killed = true;
        }
    }
    for (int r = 0; r < run->plan.n_ranks; r++)
        read_streams(run, r); /* what they wrote last */
}

/* Returns the errno of standard output, or 0. */
static int run_free(struct run *run)
{
    int error = 0;

    for (int r = 0; run->child && r < run->plan.n_ranks; r++) {
        struct child *c = &run->child[r];
        close_input(c);
        for (int i = 0; i < N_STREAMS; i++) {
            const int of_stream = launch_lines_fini(&c->stream[i], i == 0 ? STDOUT_FILENO : STDERR_FILENO,
                                                    run->opts->has_prefix ? r : -1);
            if (i == 0 && error == 0)
                error = of_stream;
        }
    }
    if (run->has_join_file)
        (void)unlink(run->opts->join_file);
    free(run->child);
    free(run->polled);
    launch_plan_close(&run->plan);
    return error;
}

static int exit_code_of(const struct run *run)
{
    if (run->opts->goes_on)
        return run->child[0].exit_code;
    return run->failed >= 0 ? run->child[run->failed].exit_code : 0;
}

/* Processes are started by the program itself here, and by the agent on other hosts: of each the first is checked. */
static enum rc check_programs(const struct run *run)
{
    bool was_checked[2] = { false, false };
    enum rc rc = RC_OK;

    for (int r = 0; r < run->plan.n_ranks; r++) {
        bool *was = &was_checked[run->plan.process[r].is_local];
        if (!*was)
            TRY(launch_command_check(&run->plan, run->opts, r));
        *was = true;
    }
out:
    return rc;
}

enum rc launch_run(const struct launch_opts *opts, int *exit_code)
{
    struct run run = { .opts = opts, .failed = -1, .plan.listening_fd = -1 };
    enum rc rc;

    TRY(launch_plan_open(&run.plan, opts));
    TRY(check_programs(&run));
    TRY(gang_check_files(N_PIPES * (uint64_t)run.plan.n_ranks));
    run.child = calloc((size_t)run.plan.n_ranks, sizeof *run.child);
    run.polled = calloc((size_t)run.plan.n_ranks * N_STREAMS, sizeof *run.polled);
    if (!run.child || !run.polled)
        FAIL(RC_NOMEM, "no memory for %d processes", run.plan.n_ranks);
    for (int r = 0; r < run.plan.n_ranks; r++) {
        run.child[r].in_fd = -1;
        for (int i = 0; i < N_STREAMS; i++)
            run.child[r].stream[i].fd = -1;
    }
    if (opts->join_file[0] != '\0') {
        TRY(gang_write_join_file(opts->join_file, run.plan.root, run.plan.key, run.plan.members));
        run.has_join_file = true;
    }
    (void)signal(SIGPIPE, SIG_IGN); /* of processes that have ended */
    stop_catch_first();
    for (int r = 0; r < run.plan.n_ranks; r++) {
        rc = start(&run, r);
        if (rc == RC_OK)
            continue;
        kill_all(&run);
        await_all(&run);
        goto out;
    }
    await_all(&run);
    *exit_code = exit_code_of(&run);
out:;
    const int error = run_free(&run);
    if (rc == RC_OK && *exit_code == 0 && error != 0)
        rc = rc_raise(RC_IO, "standard output: %s", strerror(error));
    return rc;
}
