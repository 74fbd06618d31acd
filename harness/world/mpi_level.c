/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_level.c - the thread level that MPI grants if the highest one is requested; to inspect a machine before a run;
 * see mpi_level.h. MPI is initialised once a process, and may end it: so a copy asks.
 */
#include "harness/world/mpi_level.h"

#include <stdio.h>

#include "harness/world/child.h"
#include "harness/world/world.h"

#if GRADMARK_HAVE_MPI
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/world/mpi/world_mpi.h"

/* The exit code of a copy that was granted levels[i]; less: MPI ended it. */
enum { FIRST_CODE = 100, LIMIT_S = 20 };

static const int levels[] = { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };
enum { N_LEVELS = sizeof levels / sizeof *levels };

/* What MPI, and the programs that it starts, write of why it ends a process is read by nobody. */
static void write_nowhere(int fd)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (nowhere >= 0 && dup3(nowhere, fd, O_CLOEXEC) == fd)
        (void)fcntl(fd, F_SETFD, 0); /* those programs need it open */
}

/* In the copy. */
_Noreturn static void ask(void)
{
    int level = -1, code = EXIT_FAILURE;

    write_nowhere(STDOUT_FILENO);
    write_nowhere(STDERR_FILENO);
    (void)alarm(LIMIT_S);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS)
        for (int i = 0; i < N_LEVELS; i++)
            code = level == levels[i] ? FIRST_CODE + i : code;
    (void)MPI_Finalize();
    _exit(code);
}

static enum rc ask_in_copy(int *code)
{
    bool is_child = false;
    int64_t pid = 0;
    enum rc rc;

    TRY(child_copy(&pid, &is_child));
    if (is_child)
        ask();
    TRY(child_await_copy(pid, code));
out:
    return rc;
}

void mpi_level_text(char *out, size_t n_bytes)
{
    const char *launcher = world_launcher().name;
    int code = 0;

    if (launcher)
        snprintf(out, n_bytes, "not asked under %s: records of a run tell", launcher);
    else if (ask_in_copy(&code) != RC_OK)
        snprintf(out, n_bytes, "not known: %s", rc_message());
    else if (code < FIRST_CODE || code >= FIRST_CODE + N_LEVELS)
        snprintf(out, n_bytes, "not known: without a launcher MPI is not initialised here (exit code %d)", code);
    else
        snprintf(out, n_bytes, "%s of MPI_THREAD_MULTIPLE, asked for without a launcher",
                 world_mpi_level_name(levels[code - FIRST_CODE]));
}
#else
void mpi_level_text(char *out, size_t n_bytes)
{
    snprintf(out, n_bytes, "not known: %s", GRADMARK_MPI_WHY_NOT);
}
#endif
