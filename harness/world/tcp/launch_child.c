/* SPDX-License-Identifier: Apache-2.0 */
/* launch_child.c - see launch_child.h, and of launch.h what a process does that was started so. */
#include "harness/world/tcp/launch_child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/text.h"
#include "harness/world/stop.h"

enum { MAX_AGENT_WORDS = 64, EXIT_NOT_STARTED = 127, CHUNK_BYTES = 65536 };

/* --- its command --- */

static void free_list(char **list)
{
    for (char **one = list; one && *one; one++)
        free(*one);
    free(list);
}

void launch_command_close(struct launch_command *c)
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

enum rc launch_command_open(struct launch_command *out, const struct launch_plan *p, const struct launch_opts *opts,
                            int rank)
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

enum rc launch_command_check(const struct launch_plan *p, const struct launch_opts *opts, int rank)
{
    struct launch_command c = { .argv = NULL };
    int error;
    enum rc rc;

    TRY(launch_command_open(&c, p, opts, rank));
    error = program_error(c.argv[0]);
    if (error == 0)
        goto out;
    if (p->process[rank].is_local)
        FAIL(RC_INVAL, "-- %s: cannot be started: %s; use a verb of gradmark, or the path of a program", c.argv[0],
             strerror(error));
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

int launch_spawn(pid_t *pid, const struct launch_command *c, const int stream[3], int kept_fd)
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

void launch_lines_read(struct launch_lines *l, int to, int rank)
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
        l->n_bytes += (size_t)n;
        write_lines(l, to, rank, l->n_bytes > (size_t)16 * CHUNK_BYTES); /* a line has an end, some time */
    }
}

int launch_lines_fini(struct launch_lines *l, int to, int rank)
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
