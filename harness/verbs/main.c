/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - gradmark: finds the verb, prints the error, picks the exit code: 0, 1 (failed; of diff: worse), 2 (bad
 * input), or 128 + the number of the signal that stopped it.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/report/manifest.h"
#include "harness/report/table.h"
#include "harness/verbs/help.h"
#include "harness/verbs/verb.h"
#include "harness/world/child.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

static const struct verb *const verbs[] = { &verb_compare,   &verb_train,   &verb_simulate, &verb_reproduce,
                                            &verb_calibrate, &verb_predict, &verb_profile,  &verb_comm,
                                            &verb_accept,    &verb_lab,     &verb_report,   &verb_diff,
                                            &verb_pack,      &verb_keys,    &verb_info,     &verb_launch,
                                            &verb_serve,     NULL };

static int print_version(void)
{
    char version[96];

    manifest_version(version, sizeof version);
    printf("gradmark %s\n", version);
    return EXIT_SUCCESS;
}

/* Is this a rank of a launch, to whose terminal rank 0 writes too? */
static bool is_behind_rank_0(void)
{
    const struct launcher launcher = world_launcher();

    return launcher.rank > 0 && !launcher.is_by_hand;
}

/* A launcher ends the others as soon as one process fails: give rank 0 a second to say why. */
static void wait_for_rank_0(void)
{
    const uint64_t started_ns = wait_clock_ns();
    struct backoff backoff = { .may_spin = false };

    while (wait_clock_ns() - started_ns < UINT64_C(1000000000))
        backoff_pause(&backoff, 50000000);
}

/* "lab batch-size" of "lab-batch-size", for a verb that takes a word; false: there is none. */
static bool split_verb(char *out, size_t n_bytes, const char *name)
{
    for (size_t i = 0; verbs[i]; i++) {
        const size_t n = strlen(verbs[i]->name);
        if (verbs[i]->operands && strncmp(name, verbs[i]->name, n) == 0 && (name[n] == '-' || name[n] == '_')) {
            snprintf(out, n_bytes, "%s %.60s", verbs[i]->name, name + n + 1);
            return true;
        }
    }
    return false;
}

/* The verb of this choice: "lab batch-size" of "batch-size"; NULL: it is none. */
static const char *verb_with(const char *operand)
{
    for (size_t i = 0; verbs[i]; i++)
        for (int k = 0; verbs[i]->operand_name && verbs[i]->operand_name(k); k++)
            if (strcmp(verbs[i]->operand_name(k), operand) == 0)
                return verbs[i]->name;
    return NULL;
}

/* for_help: of gradmark help, which has pages and words of the glossary too. */
static int unknown_verb(const char *name, bool for_help)
{
    const char *what = for_help ? "no such subcommand, page or word of the glossary" : "no such subcommand";
    const char *known[sizeof verbs / sizeof *verbs + 1] = { "help" };
    char command[128], like[HELP_WORD_BYTES];

    for (size_t i = 0; verbs[i]; i++)
        known[i + 1] = verbs[i]->name;
    const char *nearest = for_help ? help_nearest(like, verbs, name) : text_nearest(name, known);
    const char *verb = verb_with(name);

    if (is_behind_rank_0())
        wait_for_rank_0();
    else if (!for_help && split_verb(command, sizeof command, name))
        terminal_note(stderr, "gradmark: %s: %s; did you mean gradmark %s?", name, what, command);
    else if (!for_help && verb)
        terminal_note(stderr, "gradmark: %s: %s; did you mean gradmark %s %s?", name, what, verb, name);
    else if (name[0] == '-')
        terminal_note(stderr, "gradmark: %s: begins with a hyphen; write a subcommand first, as gradmark train --help",
                      name);
    else if (nearest)
        terminal_note(stderr, "gradmark: %s: %s; the nearest is %s", name, what, nearest);
    else
        terminal_note(stderr, "gradmark: %s: %s; gradmark help lists them", name, what);
    return 2;
}

/* Rank 0 tells of bad input, which all ranks of a launch see. Of input that one rank alone may see, and of a failed
 * run, each rank tells its own error. Returns the exit code, which is that of the stage on every rank. */
static int tell(const struct verb *v, enum rc rc, enum verb_stage stage, bool every_rank_tells)
{
    const bool waits = stage == STAGE_INPUT && is_behind_rank_0();
    char whose[32] = "";

    if (waits)
        wait_for_rank_0();
    if (waits && every_rank_tells)
        snprintf(whose, sizeof whose, "rank %d: ", world_launcher().rank);
    if (!waits || every_rank_tells) {
        terminal_note(stderr, "gradmark %s: %s%s", v->name, whose, rc_message()[0] ? rc_message() : rc_text(rc));
        if (getenv("GRADMARK_TRACE"))
            rc_print_trace(stderr);
    }
    return stage == STAGE_INPUT ? 2 : 1;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "--help-all") == 0;
}

/* Handle --help among other options. Those are checked first: a wrong command line gets its error, not the help; but
 * --help alone needs nothing else. */
static int help_verb(const struct verb *v, int argc, char **argv)
{
    struct verb_call call;
    enum opt_detail detail = OPT_BRIEF;
    enum rc rc = RC_OK;
    int n_kept = 0;

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help-all") == 0)
            detail = OPT_WHOLE;
        if (!is_help(argv[i]))
            argv[n_kept++] = argv[i];
    }
    if (n_kept > 0) {
        rc = verb_call_open(&call, v, n_kept, argv);
        verb_call_close(&call);
    }
    if (rc != RC_OK)
        return tell(v, rc, STAGE_INPUT, false);
    if (!is_behind_rank_0())
        help_print(stdout, v, detail);
    return EXIT_SUCCESS;
}

/* --json, --quiet, --format csv */
static enum rc run_silenced(const struct verb *v, struct verb_call *call)
{
    const struct verb_output output = call->output;
    const bool is_csv = verb_prints_csv(call);
    struct table_diversion tables = { .from = NULL };
    FILE *texts = NULL, *notes = NULL;
    enum rc rc;

    if (output.json || is_csv)
        TRY(output_silence(&stdout, &texts));
    if (output.quiet)
        TRY(output_silence(&stderr, &notes));
    tables.from = stdout;
    tables.to = texts;
    table_divert(is_csv ? &tables : NULL);
    TRY(verb_run(v, call));
    if (is_csv && tables.n_tables == 0 && call->exit_code == EXIT_SUCCESS && world_launcher().rank <= 0)
        FAIL(RC_INVAL, "--format csv: this command prints no table; use --format text");
out:
    table_divert(NULL);
    output_restore(&stderr, notes);
    output_restore(&stdout, texts);
    return rc;
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
    struct verb_call call;

    if (verb_help_is_wanted(argv))
        return help_verb(v, argc, argv);
    if (v->is_one_process && verb_refuse_ranks("") != RC_OK)
        return tell(v, RC_INVAL, STAGE_INPUT, false);
    enum rc rc = verb_call_open(&call, v, argc, argv);
    if (rc == RC_OK)
        rc = run_silenced(v, &call);
    const enum verb_stage stage = call.stage;
    const bool every_rank_tells = call.every_rank_tells;
    const int exit_code = call.exit_code, failure_exit_code = call.failure_exit_code;
    verb_call_close(&call);
    if (rc == RC_OK && exit_code == EXIT_SUCCESS && output_flush(stdout) != RC_OK) /* not all verbs do it */
        return tell(v, RC_IO, STAGE_RUN, every_rank_tells);
    if (rc == RC_OK)
        return exit_code;
    const int of_stage = tell(v, rc, stage, every_rank_tells);
    return failure_exit_code != 0 ? failure_exit_code : of_stage;
}

/* Messages come and go by the hundred: the next one has the memory of one that went, not new pages of the system. As
 * malloc() does by itself, but not before a block of this size was there. */
static void keep_freed_memory(void)
{
    enum { MOST_MAPPED_BYTES = 32 << 20 };

    (void)mallopt(M_MMAP_THRESHOLD, MOST_MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * MOST_MAPPED_BYTES);
}

/* Daemons and "ssh HOST 'command <&- >&- &'" start a program with closed standard streams. The next file that it opens
 * would be one of them, and get what is printed; so they are the null device. false: stderr, if there, says why. */
static bool open_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        if (open("/dev/null", O_RDWR | O_CLOEXEC) != fd ||
            fcntl(fd, F_SETFD, 0) != 0) { /* programs started here, too */
            terminal_note(stderr, "gradmark: descriptor %d is closed, and /dev/null cannot be opened: %s", fd,
                          strerror(errno));
            return false;
        }
    }
    return true;
}

/* OpenBLAS starts a thread for each core as it is loaded, though gradmark has one of its own for each. Where the
 * address space is limited (ulimit -v), one that finds none tries again without end, and the exit of the process waits
 * for it. So the program starts itself again without those threads. */
static void leave_out_blas_threads(char **argv)
{
    static const char VARIABLE[] = "OPENBLAS_NUM_THREADS";
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && !getenv(VARIABLE) &&
        setenv(VARIABLE, "1", 0) == 0)
        child_start_self_anew(argv);
}

/* Each thread has a stack of this size, too. Measured, on x86-64 without GPU: diff of two acceptance tests needs
 * 447 KiB, train up to 143, help 47; the environment is part of it. With less the program ends by SIGSEGV, without a
 * word. */
static bool has_enough_stack(void)
{
    enum { LEAST_KIB = 1024 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= LEAST_KIB << 10)
        return true;
    terminal_note(stderr, "gradmark: ulimit -s %llu: is too little for the stack; use ulimit -s %d or more",
                  (unsigned long long)limit.rlim_cur >> 10, LEAST_KIB);
    return false;
}

static int run_help(char *const *words)
{
    char unknown[HELP_WORD_BYTES];

    if (is_behind_rank_0())
        return EXIT_SUCCESS; /* the status of the launch is that of rank 0 */
    const int exit_code = help_run(verbs, words, unknown);

    return unknown[0] ? unknown_verb(unknown, true) : exit_code;
}

static int print_usage(void)
{
    if (is_behind_rank_0())
        wait_for_rank_0();
    else
        terminal_note(stderr, "usage: gradmark SUBCOMMAND [--option value ...]; gradmark help lists them");
    return 2;
}

static int run(int argc, char **argv)
{
    if (argc < 2)
        return print_usage();
    if (strcmp(argv[1], "help") == 0 || is_help(argv[1]))
        return run_help(argv + 2);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0)
        return print_version();
    for (const struct verb *const *v = verbs; *v; v++)
        if (strcmp((*v)->name, argv[1]) == 0)
            return run_verb(*v, argc - 2, argv + 2);
    return unknown_verb(argv[1], false);
}

/* Of help and version; verbs have said what they cannot write, as on a full disk. */
static int close_output(int exit_code)
{
    if (output_flush(stdout) == RC_OK || exit_code != EXIT_SUCCESS)
        return exit_code;
    terminal_note(stderr, "gradmark: %s", rc_message());
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    leave_out_blas_threads(argv);
    if (!has_enough_stack())
        return EXIT_FAILURE;
    if (!open_standard_streams())
        return EXIT_FAILURE;
    keep_freed_memory();
    (void)signal(SIGXFSZ, SIG_IGN); /* beyond ulimit -f a write fails, and its error names the file */
    return close_output(run(argc, argv));
}
