/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exercise_run.c - a student's program: built against the library that came with this program, run with 2 workers in a
 * folder of its own, under limits that a shell sets, as a student's own shell would.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/csv.h"
#include "harness/base/file.h"
#include "harness/base/share.h"
#include "harness/labs/exercise.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"

#if !defined GRADMARK_HEADER_DIR || !defined GRADMARK_LIBRARY_DIR || !defined GRADMARK_LIBDIR
#error "GRADMARK_HEADER_DIR and GRADMARK_LIBRARY_DIR are those of the build, GRADMARK_LIBDIR that of an installed copy"
#endif

enum { OUTPUT_BYTES = 1 << 16, BUILD_LIMIT_S = 120, LAUNCH_LIMIT_S = 60, GRACE_S = 40, N_COLUMNS = 8, MOST_MIB = 256 };
enum { SIGNALLED = 128, MOST_SIGNAL = 64 };

static const char ended_late[] = "gradmark: late", ended_full[] = "gradmark: full";

/* $1 folder, $2 seconds, $3 KiB of memory or "unlimited", then the command. A file may have 64 MiB, the folder four
 * times that. timeout ends the launcher by SIGTERM, at which it ends its processes; so does what ends the shell, also a
 * terminal's SIGINT, from which timeout's session is apart. One signal: at a second one the launcher ends at once and
 * leaves its processes, so timeout signals no group (--foreground), and a signalled shell takes no other. The last line
 * on standard error is the shell's, and says which limit ended the program, if one did: any exit code may be the
 * program's own. */
static const char limits[] = "cd \"$1\" || exit 98\n"
                             "seconds=$2 memory=$3\n"
                             "shift 3\n"
                             "ulimit -S -t \"$seconds\"; ulimit -f 131072; ulimit -v \"$memory\"; ulimit -c 0\n"
                             "trap 'trap \"\" TERM INT HUP; [ -z \"$!\" ] || { kill -TERM $!; wait $!; }; exit 143' "
                             "TERM INT HUP\n"
                             "began=$(date +%s)\n"
                             "setsid timeout --foreground --signal=TERM --kill-after=15 \"$seconds\" \"$@\" &\n"
                             "pid=$!\n"
                             "while kill -0 $pid 2>/dev/null; do\n"
                             "    if [ \"$(du -sm . 2>/dev/null | cut -f 1)\" -gt 256 ]; then kill -TERM $pid; wait "
                             "$pid; echo 'gradmark: full' >&2; exit 1; fi\n"
                             "    sleep 0.1\n"
                             "done\n"
                             "wait $pid\n"
                             "code=$? why=ended\n"
                             "case $code in 124|137) [ $(($(date +%s) - began)) -lt \"$seconds\" ] || why=late;; esac\n"
                             "echo \"gradmark: $why\" >&2\n"
                             "exit $code\n";

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const char most_memory[] = "unlimited"; /* what a sanitizer maps is no memory */
#else
static const char most_memory[] = "8388608";
#endif

void answer_close(struct answer *a)
{
    for (int r = 0; r < N_EXERCISE_WORKERS; r++)
        free(a->note[r]);
    *a = (struct answer){ .note = { NULL } };
}

/* The first line that says something: launchers draw rules around what they say. Cuts text. */
static const char *first_words(char *text)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (line[strspn(line, "- \t\r")])
            return line;
    return "it says nothing";
}

enum rc answer_possible(void)
{
    char *const launcher[] = { "mpiexec", "-n", "2", "--oversubscribe", "true", NULL };
    char *const compiler[] = { "cc", "--version", NULL };
    char said[4096];
    int exit_code = 1;

    if (!GRADMARK_HAVE_MPI)
        return rc_raise(RC_UNSUPPORTED, "--check runs 2 workers by MPI, which is not built in: %s",
                        GRADMARK_MPI_WHY_NOT);
    if (child_run(launcher, LAUNCH_LIMIT_S * 1000, NULL, &exit_code, said, sizeof said) == RC_IO)
        return rc_raise(RC_UNSUPPORTED,
                        "--check runs 2 workers by mpiexec, which cannot be started (Debian: openmpi-bin)");
    if (exit_code != 0) {
        const bool is_root = strstr(said, "as root");
        return rc_raise(RC_UNSUPPORTED, "--check runs 2 workers by mpiexec, which cannot start them here: %.300s%s",
                        first_words(said),
                        is_root ? " Use a normal account, or set OMPI_ALLOW_RUN_AS_ROOT=1 and "
                                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
                                : "");
    }
    if (child_run(compiler, 0, NULL, &exit_code, NULL, 0) != RC_OK || exit_code != 0)
        return rc_raise(RC_UNSUPPORTED, "--check compiles by cc, which cannot be started (Debian: gcc)");
    return RC_OK;
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

static enum rc make_folder(char *path, size_t n_bytes)
{
    const char *where = getenv("TMPDIR");

    snprintf(path, n_bytes, "%s/gradmark-answer.XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(path)) {
        const int error = errno;
        const enum rc rc = rc_raise(RC_IO, "%s: cannot be made: %s", path, strerror(error));
        path[0] = '\0';
        return rc;
    }
    return RC_OK;
}

/* With what the program has left in it, folders too. */
static void remove_folder(char *path)
{
    char *const argv[] = { "rm", "-rf", "--", path, NULL };
    int exit_code;

    if (path[0] && child_run(argv, 0, NULL, &exit_code, NULL, 0) != RC_OK)
        rc_clear();
}

/* --- build and run ------------------------------------------------------------------------------------------------ */

/* child_run(). RC_PEER: a signal to this program has ended the other, which then has not failed by itself. */
static enum rc run_child(char *const argv[], int limit_s, int *exit_code, char *output)
{
    const enum rc rc = child_run(argv, limit_s * 1000, stop_wanted, exit_code, output, OUTPUT_BYTES);

    return stop_wanted() ? rc_raise(RC_PEER, "stopped by %s", stop_signal_name(stop_signal())) : rc;
}

/* The first line of text that has one of these words; "" if none has. Cuts text. */
static const char *line_with(char *text, const char *const *word)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        for (int i = 0; word[i]; i++)
            if (strstr(line, word[i]))
                return line;
    return "";
}

static enum rc build(const char *folder, const char *file, char *output)
{
    static const char *const words[] = { "error: ", "undefined reference", "cannot find", NULL };
    char prefix[PATH_MAX], header[PATH_MAX + 16], library[PATH_MAX + 64], from[PATH_MAX + 80], at_run[PATH_MAX + 80];
    char program[PATH_MAX + 16], source[PATH_MAX + 16];
    int exit_code = 0;
    enum rc rc;

    if (share_prefix(prefix, sizeof prefix)) {
        snprintf(header, sizeof header, "-I%s/include", prefix);
        snprintf(library, sizeof library, "%s/%s", prefix, GRADMARK_LIBDIR);
    } else {
        snprintf(header, sizeof header, "-I%s", GRADMARK_HEADER_DIR);
        snprintf(library, sizeof library, "%s", GRADMARK_LIBRARY_DIR);
    }
    snprintf(from, sizeof from, "-L%s", library);
    snprintf(at_run, sizeof at_run, "-Wl,-rpath,%s", library);
    snprintf(program, sizeof program, "%s/answer", folder);
    snprintf(source, sizeof source, "%s%s", strchr("-@", file[0]) ? "./" : "", file); /* no options */
    char *const argv[] = { "cc",
                           "-std=gnu11",
                           "-O1",
                           header,
                           "-xc",
                           source,
                           "-xnone",
                           "-o",
                           program,
                           from,
                           at_run,
                           "-lgradmark",
                           "-lm",
#ifdef __SANITIZE_ADDRESS__
                           "-fsanitize=address,undefined",
#endif
#ifdef __SANITIZE_THREAD__
                           "-fsanitize=thread",
#endif
                           NULL };
    TRY(run_child(argv, BUILD_LIMIT_S, &exit_code, output));
    if (exit_code != 0)
        FAIL(RC_PEER, "does not compile: %.300s", line_with(output, words));
out:
    return rc;
}

/* Is this the last line of text? */
static bool ends_with(const char *text, const char *line)
{
    const size_t n_text = strlen(text), n_line = strlen(line) + 1;

    return n_text >= n_line && strncmp(text + n_text - n_line, line, n_line - 1) == 0 && text[n_text - 1] == '\n';
}

/* Why it failed, of what it, its launcher and the shell wrote to standard error. */
static enum rc explain(int exit_code, int limit_s, char *output)
{
    static const char *const signals[] = { "exited on signal", NULL }, *const library[] = { "GM_", NULL };
    const bool was_late = ends_with(output, ended_late), was_full = ends_with(output, ended_full);
    char *copy = strdup(output);
    const char *ended = copy ? line_with(copy, signals) : "", *said;
    enum rc rc;

    if (was_full)
        rc = rc_raise(RC_TIMEOUT, "the program was ended: it had written more than %d MiB", (int)MOST_MIB);
    else if (was_late || strstr(ended, "CPU time"))
        rc = rc_raise(RC_TIMEOUT,
                      "the program was ended: not done after %d s; does it loop for ever, or does one worker wait for "
                      "another in a call that only one of them makes?",
                      limit_s);
    else if (strstr(ended, "File size"))
        rc = rc_raise(RC_TIMEOUT, "the program was ended: it wrote a file of more than 64 MiB");
    else if (ended[0])
        rc = rc_raise(RC_PEER, "the program crashed: %.120s", strstr(ended, "exited on signal"));
    else if ((said = line_with(output, library))[0])
        rc = rc_raise(RC_PEER, "the program failed: %.300s", said);
    else if (exit_code > SIGNALLED && exit_code <= SIGNALLED + MOST_SIGNAL)
        rc = rc_raise(RC_PEER, "the program crashed (signal %d)", exit_code - SIGNALLED);
    else
        rc = rc_raise(RC_PEER, "the program failed with exit code %d", exit_code);
    free(copy);
    return rc;
}

static enum rc run(const char *folder, int limit_s, char *output)
{
    char seconds[16], workers[16];
    int exit_code = 0;
    enum rc rc;

    snprintf(seconds, sizeof seconds, "%d", limit_s);
    snprintf(workers, sizeof workers, "%d", (int)N_EXERCISE_WORKERS);
    char *const argv[] = { "sh",
                           "-c",
                           (char *)(uintptr_t)limits,
                           "sh",
                           (char *)(uintptr_t)folder,
                           seconds,
                           (char *)(uintptr_t)most_memory,
                           "mpiexec",
                           "-n",
                           workers,
                           "--oversubscribe",
                           "./answer",
                           NULL };
    TRY(run_child(argv, limit_s + GRACE_S, &exit_code, output));
    if (exit_code != 0)
        rc = explain(exit_code, limit_s, output);
out:
    return rc;
}

/* --- what it left ------------------------------------------------------------------------------------------------- */

static bool take_note(struct note *out, char *line, int step)
{
    double *const to[N_COLUMNS] = { NULL,       &out->lr,   &out->loss,       &out->first,
                                    &out->last, &out->mean, &out->n_combined, &out->n_broadcasts };
    char *field[N_COLUMNS], *end;

    line[strcspn(line, "\r\n")] = '\0';
    if (csv_cut(line, ',', field, N_COLUMNS) != N_COLUMNS || strtod(field[0], &end) != step || *end || end == field[0])
        return false;
    for (int i = 1; i < N_COLUMNS; i++) {
        *to[i] = strtod(field[i], &end);
        if (end == field[i] || *end)
            return false;
    }
    return true;
}

/* RC_MISMATCH: n notes, which are too few or too many for e. */
static enum rc raise_n_notes(const struct exercise *e, int r, int n)
{
    const struct exercise *other;

    for (int i = 0; (other = exercise_at(i)); i++)
        if (other != e && n == other->n_steps + 1)
            return rc_raise(RC_MISMATCH,
                            "the program takes %d steps, as the exercise of lab %s does, and this one takes %d; "
                            "is it gradmark lab %s --check?",
                            other->n_steps, other->name, e->n_steps, other->name);
    return rc_raise(RC_MISMATCH, "path_%d.csv: has %d notes of %d steps; %d are right", r, n, e->n_steps,
                    e->n_steps + 1);
}

static enum rc read_notes(struct note **out, const struct exercise *e, const char *folder, int r)
{
    char path[PATH_MAX + 32], *line = NULL;
    size_t line_bytes = 0;
    FILE *from = NULL;
    int n = -1; /* the head */
    enum rc rc = RC_OK;

    snprintf(path, sizeof path, "%s/path_%d.csv", folder, r);
    *out = calloc((size_t)e->n_steps + 1, sizeof **out);
    if (!*out)
        FAIL(RC_NOMEM, "no memory for %d notes", e->n_steps + 1);
    if (file_open_regular(&from, path, "what gm_note() writes") != RC_OK)
        FAIL(RC_MISMATCH, "worker %d left no path: are the calls of gm_note() still there?", r);
    for (; getline(&line, &line_bytes, from) >= 0; n++)
        if (n <= e->n_steps && n >= 0 && !take_note(&(*out)[n], line, n))
            FAIL(RC_MISMATCH,
                 "path_%d.csv:%d: is not the note of step %d of %d: gm_note() is to be called once at the "
                 "beginning of each step, and once after the last",
                 r, n + 2, n, e->n_steps);
    if (n != e->n_steps + 1)
        TRY(raise_n_notes(e, r, n));
out:
    free(line);
    if (from)
        (void)fclose(from);
    return rc;
}

/* No file: nobody saved. */
static void count_saved(struct answer *a, const char *folder)
{
    char path[PATH_MAX + 32], line[256];
    FILE *from = NULL;

    snprintf(path, sizeof path, "%s/model.txt", folder);
    if (file_open_regular(&from, path, "what save() writes") != RC_OK) {
        rc_clear();
        return;
    }
    while (fgets(line, sizeof line, from))
        for (int r = 0; r < N_EXERCISE_WORKERS; r++)
            a->n_saved[r] += line[0] == '0' + r && line[1] == ' ';
    (void)fclose(from);
}

enum rc answer_run(struct answer *out, const struct exercise *e, const char *file, int limit_s)
{
    char folder[PATH_MAX] = "", *output = calloc(1, OUTPUT_BYTES);
    enum rc rc;

    *out = (struct answer){ .note = { NULL } };
    if (!output)
        FAIL(RC_NOMEM, "no memory for the output of %s", file);
    TRY(make_folder(folder, sizeof folder));
    TRY(build(folder, file, output));
    TRY(run(folder, limit_s, output));
    for (int r = 0; r < N_EXERCISE_WORKERS; r++)
        TRY(read_notes(&out->note[r], e, folder, r));
    count_saved(out, folder);
out:
    remove_folder(folder);
    free(output);
    if (rc != RC_OK)
        answer_close(out);
    return rc;
}
