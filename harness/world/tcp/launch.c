/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - the processes of a gang: started, listened to, ended, reaped. Where they run: launch_plan.c. */
#include "harness/world/tcp/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/wait.h"

enum { LAUNCH_RANK_BYTES = 4 }; /* world.L1 */

struct launch_command {
    char **argv;        /* NULL-terminated; owned, and so is each string */
    char **environment; /* NAME=VALUE, to set; likewise */
};

struct launch_lines {
    int fd; /* -1: it has ended */
    char *text;
    size_t n_bytes, capacity_bytes; /* of an unfinished line */
    bool has_text;                  /* it has written something */
    int error;                      /* errno of the first line that could not be written; 0: none */
};

/* --- one child --- */

enum { MAX_AGENT_WORDS = 64, EXIT_NOT_STARTED = 127, CHUNK_BYTES = 65536 };

/* --- its command --- */

static void free_list(char **list)
{
    for (char **one = list; one && *one; one++)
        free(*one);
    free(list);
}

static void launch_command_close(struct launch_command *c)
{
    free_list(c->argv);
    free_list(c->environment);
    *c = (struct launch_command){ .argv = NULL };
}

static enum rc list_variables(struct launch_command *c, const struct launch_plan *p, const struct launch_opts *opts,
                              int rank)
{
    int n = 0;

    c->environment = calloc(LAUNCH_N_VARIABLES + 1, sizeof *c->environment);
    for (int i = 0; c->environment && i < LAUNCH_N_VARIABLES; i++)
        if (launch_variable(&c->environment[n], p, opts, rank, i) && !c->environment[n++])
            return rc_raise(RC_NOMEM, "no memory for the environment of a process");
    return c->environment ? RC_OK : rc_raise(RC_NOMEM, "no memory for the environment of a process");
}

static enum rc copy_arguments(struct launch_command *c, char *const *argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    c->argv = calloc(n + 1, sizeof *c->argv);
    for (size_t i = 0; c->argv && i < n; i++)
        if (!(c->argv[i] = strdup(argv[i])))
            return rc_raise(RC_NOMEM, "no memory for the arguments of a process");
    return c->argv ? RC_OK : rc_raise(RC_NOMEM, "no memory for the arguments of a process");
}

/* A growing command line. */
static bool add_word(char **line, size_t *n_bytes, const char *before, const char *word)
{
    const size_t n_more = strlen(before) + 4 * strlen(word) + 4;
    char *longer = realloc(*line, *n_bytes + n_more + 1);

    if (!longer)
        return false;
    *line = longer;
    (void)snprintf(longer + *n_bytes, n_more, "%s", before);
    text_shell_word(longer + *n_bytes + strlen(before), n_more - strlen(before), word);
    *n_bytes += strlen(longer + *n_bytes);
    return true;
}

/* cd FOLDER && exec env NAME=VALUE ... PROGRAM ARGUMENT ...; NULL: no memory. */
static char *shell_line(const struct launch_command *c, const char *folder, char *const *argv)
{
    size_t n_bytes = 0;
    char *line = NULL;
    bool is_well = add_word(&line, &n_bytes, "cd ", folder);

    for (char **v = c->environment; is_well && *v; v++)
        is_well = add_word(&line, &n_bytes, v == c->environment ? " && exec env " : " ", *v);
    for (char *const *a = argv; is_well && *a; a++)
        is_well = add_word(&line, &n_bytes, " ", *a);
    if (!is_well) {
        free(line);
        line = NULL;
    }
    return line;
}

/* The words of the agent, the host, and a command line for a shell there. */
static enum rc call_agent(struct launch_command *c, const struct launch_opts *opts, const char *host)
{
    char folder[4096], *words = strdup(opts->agent[0] ? opts->agent : "ssh -o BatchMode=yes"), *rest = words, *word;
    int n = 0;
    enum rc rc = RC_OK;

    c->argv = calloc(MAX_AGENT_WORDS + 3, sizeof *c->argv);
    if (!words || !c->argv)
        FAIL(RC_NOMEM, "no memory for the command of a process");
    if (!getcwd(folder, sizeof folder))
        FAIL(RC_IO, "the working folder is not known: %s", strerror(errno));
    while ((word = strtok_r(rest, " ", &rest)) && n < MAX_AGENT_WORDS)
        if (!(c->argv[n++] = strdup(word)))
            FAIL(RC_NOMEM, "no memory for the command of a process");
    if (n == 0)
        FAIL(RC_INVAL, "--agent %s: is no program", opts->agent);
    c->argv[n++] = strdup(host);
    c->argv[n] = c->argv[n - 1] ? shell_line(c, folder, opts->argv) : NULL;
    if (!c->argv[n])
        FAIL(RC_NOMEM, "no memory for the command of a process");
out:
    free(words);
    return rc;
}

/* RC_NOMEM, RC_IO. */
static enum rc launch_command_open(struct launch_command *out, const struct launch_plan *p,
                                   const struct launch_opts *opts, int rank)
{
    enum rc rc;

    *out = (struct launch_command){ .argv = NULL };
    TRY(list_variables(out, p, opts, rank));
    if (p->process[rank].is_local)
        TRY(copy_arguments(out, opts->argv));
    else
        TRY(call_agent(out, opts, p->process[rank].host));
out:
    return rc;
}

/* Why no program of this name or path can be started: an errno; 0: none is known. */
static int program_error(const char *name)
{
    const char *list = getenv("PATH"), *rest = strchr(name, '/') ? "" : list ? list : "/bin:/usr/bin";
    int error = ENOENT;

    for (;;) {
        const size_t n = strcspn(rest, ":");
        char path[8192];
        struct stat info;
        (void)snprintf(path, sizeof path, "%.*s%s%s", (int)n, rest, n > 0 ? "/" : "", name);
        if (stat(path, &info) == 0) {
            if (S_ISREG(info.st_mode) && access(path, X_OK) == 0)
                return 0;
            error = EACCES;
        } else if (errno != ENOENT)
            error = errno;
        if (rest[n] == '\0')
            return error;
        rest += n + 1;
    }
}

/* Call before any process is started. RC_INVAL: the program that starts this one does not exist; names --agent. */
static enum rc launch_command_check(const struct launch_plan *p, const struct launch_opts *opts, int rank)
{
    struct launch_command c = { .argv = NULL };
    int error;
    enum rc rc;

    TRY(launch_command_open(&c, p, opts, rank));
    error = program_error(c.argv[0]);
    if (error == 0)
        goto out;
    if (p->process[rank].is_local)
        FAIL(RC_INVAL, "-- %s: cannot be started: %s; use a subcommand of gradmark, or the path of a program",
             c.argv[0], strerror(error));
    FAIL(RC_INVAL, "--agent %s: %s, which starts rank %d on %s, cannot be started: %s; name a program such as ssh",
         opts->agent[0] ? opts->agent : "is not given", c.argv[0], rank, p->process[rank].host, strerror(error));
out:
    launch_command_close(&c);
    return rc;
}

/* --- its start --- */

/* Let the program have fd, as this one of its standard streams. */
static bool hand_over(int fd, int stream)
{
    return (fd == stream || dup3(fd, stream, O_CLOEXEC) == stream) && fcntl(stream, F_SETFD, 0) == 0;
}

/* Behind fork(). */
static _Noreturn void become(const struct launch_command *c, const int stream[3], int kept_fd, pid_t parent, int failed)
{
    bool is_well = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;

    for (int i = 0; is_well && i < 3; i++)
        is_well = hand_over(stream[i], i);
    if (is_well && kept_fd >= 0)
        is_well = fcntl(kept_fd, F_SETFD, 0) == 0;
    for (char **v = c->environment; is_well && *v; v++)
        is_well = putenv(*v) == 0;
    (void)signal(SIGPIPE, SIG_DFL);
    if (is_well)
        (void)execvp(c->argv[0], c->argv);
    const int why = errno;
    (void)!write(failed, &why, sizeof why);
    _exit(EXIT_NOT_STARTED);
}

/* Starts it in a new process group, which ends with this process. stream[3]: its standard streams. kept_fd: it also
 * gets this one, with the same number; -1: none. Returns an errno, or 0. */
static int launch_spawn(pid_t *pid, const struct launch_command *c, const int stream[3], int kept_fd)
{
    const pid_t parent = getpid();
    int failed[2], error = 0;

    if (pipe2(failed, O_CLOEXEC) != 0)
        return errno;
    *pid = fork();
    if (*pid == 0)
        become(c, stream, kept_fd, parent, failed[1]);
    if (*pid < 0)
        error = errno;
    (void)close(failed[1]);
    while (*pid > 0 && read(failed[0], &error, sizeof error) < 0 && errno == EINTR)
        continue;
    (void)close(failed[0]);
    while (error != 0 && *pid > 0 && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return error;
}

/* --- its lines --- */

/* Returns an errno, or 0. */
static int write_all(int to, const char *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        const ssize_t n = write(to, bytes, n_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno != EPIPE ? errno : 0;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

/* The whole lines in l->text, or all of it. */
static void write_lines(struct launch_lines *l, int to, int rank, bool is_all)
{
    char prefix[16];
    size_t done = 0;

    (void)snprintf(prefix, sizeof prefix, "[%d] ", rank);
    while (done < l->n_bytes) {
        const char *end = memchr(l->text + done, '\n', l->n_bytes - done);
        if (!end && !is_all)
            break;
        const size_t n_line = end ? (size_t)(end - (l->text + done)) + 1 : l->n_bytes - done;
        const int of_prefix = rank >= 0 ? write_all(to, prefix, strlen(prefix)) : 0;
        const int of_line = write_all(to, l->text + done, n_line);
        if (l->error == 0)
            l->error = of_prefix != 0 ? of_prefix : of_line;
        if (!end)
            write_all(to, "\n", 1);
        done += n_line;
    }
    l->n_bytes -= done;
    if (l->n_bytes > 0)
        memmove(l->text, l->text + done, l->n_bytes);
}

/* Writes the received whole lines to fd `to`; rank: "[rank] " before each, -1: no prefix. */
static void launch_lines_read(struct launch_lines *l, int to, int rank)
{
    while (l->fd >= 0) {
        if (l->capacity_bytes - l->n_bytes < CHUNK_BYTES) {
            char *longer = realloc(l->text, l->capacity_bytes + 2 * CHUNK_BYTES);
            if (!longer) { /* as much as there is room for */
                write_lines(l, to, rank, true);
                return;
            }
            l->text = longer;
            l->capacity_bytes += (size_t)2 * CHUNK_BYTES;
        }
        const ssize_t n = read(l->fd, l->text + l->n_bytes, CHUNK_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n <= 0) {
            (void)close(l->fd);
            l->fd = -1;
            break;
        }
        l->has_text = true;
        l->n_bytes += (size_t)n;
        write_lines(l, to, rank, l->n_bytes > (size_t)16 * CHUNK_BYTES); /* a line has an end, some time */
    }
}

/* Writes the rest, and closes. Returns the errno of the first line that could not be written, or 0; EPIPE (no reader
 * any more) is not an error. */
static int launch_lines_fini(struct launch_lines *l, int to, int rank)
{
    if (l->n_bytes > 0)
        write_lines(l, to, rank, true);
    if (l->fd >= 0)
        (void)close(l->fd);
    free(l->text);
    const int error = l->error;
    *l = (struct launch_lines){ .fd = -1 };
    return error;
}

/* --- of a process that was started so --- */

/* n_bytes, or fewer where the launcher has ended. */
static size_t read_bytes(unsigned char *out, size_t n_bytes)
{
    size_t n = 0;

    while (n < n_bytes) {
        const ssize_t n_read = read(STDIN_FILENO, out + n, n_bytes - n);
        if (n_read > 0)
            n += (size_t)n_read;
        else if (n_read == 0 || errno != EINTR)
            break;
    }
    return n;
}

static void *read_launcher(void *arg)
{
    const struct timespec grace = { .tv_sec = 5 };
    struct launch_news *news = arg;
    unsigned char byte, rank[LAUNCH_RANK_BYTES];

    while (read_bytes(&byte, 1) == 1) {
        if (byte == SIGINT || byte == SIGTERM || byte == SIGHUP)
            stop_by_launcher(byte);
        if (byte != 0 || read_bytes(rank, sizeof rank) != sizeof rank)
            continue;
        const uint64_t r = bytes_get(rank, sizeof rank);
        if (r < (uint64_t)news->n_ranks)
            atomic_store(&news->has_ended[r], true);
    }
    stop_by_launcher(SIGTERM); /* the launcher has ended: world.L1 */
    (void)nanosleep(&grace, NULL);
    (void)kill(getpid(), SIGKILL);
    return NULL;
}

const struct launch_news *gang_watch_launcher(int n_ranks)
{
    struct launch_news *news = calloc(1, sizeof *news + (size_t)n_ranks * sizeof *news->has_ended);
    pthread_t thread;

    if (!news)
        return NULL;
    news->n_ranks = n_ranks;
    if (pthread_create(&thread, NULL, read_launcher, news) != 0) {
        free(news);
        return NULL;
    }
    (void)pthread_detach(thread);
    return news;
}

bool launch_has_ended(const struct launch_news *news, int rank)
{
    return news && atomic_load(&news->has_ended[rank]);
}

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
    bool has_join_file, were_killed, has_named_failure;
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

/* Of run->failed. more: what follows. */
static void name_failure(struct run *run, const char *more)
{
    char ending[128];

    child_ending(ending, sizeof ending, run->child[run->failed].exit_code, "");
    terminal_note(stderr, "gradmark launch: rank %d on %s %s%s", run->failed, run->plan.process[run->failed].host,
                  ending, more);
    run->has_named_failure = true;
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
    if (WIFSIGNALED(status) || is_sudden(c->exit_code))
        name_failure(run, "");
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
                terminal_note(stderr, "gradmark launch: %d process%s not ended, and %s killed", run->n_running,
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

/* An agent may fail without a word, and no process then says why the run ended. */
static void name_silent_failure(struct run *run)
{
    bool is_silent = !run->has_named_failure && run->passed_signal == 0;

    for (int r = 0; is_silent && r < run->plan.n_ranks; r++)
        is_silent = !run->child[r].stream[N_STREAMS - 1].has_text;
    if (is_silent)
        name_failure(run, " and wrote no error");
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
    if (*exit_code != 0 && run.failed >= 0)
        name_silent_failure(&run);
out:;
    const int error = run_free(&run);
    if (rc == RC_OK && *exit_code == 0 && error != 0)
        rc = rc_raise(RC_IO, "standard output cannot be written: %s", strerror(error));
    return rc;
}
