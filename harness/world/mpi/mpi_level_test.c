/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_level_test.c CASE - which thread level of MPI a run asks for (CASE with "tasks": one whose tasks send), and how
 * all ranks end where it grants less ("low"), if only on rank 1 ("low_on_1"); own_flags: the user has set those of
 * Open MPI's TCP, which stay; with no_dup, rank 1 gets no communicator, which ends the job, and the caller checks what
 * it says. The functions of MPI below replace MPI's own for this program. Under mpiexec; the exit code tells.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/mpi/world_mpi.h"
#include "harness/world/world.h"

extern const struct world_ops world_mpi;

static char tcp_flags[16]; /* as MPI finds them */
static int grants = MPI_THREAD_MULTIPLE, asked = -1, n_inits, n_finalizes, n_bodies, n_other_levels;

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *granted)
{
    const int code = PMPI_Init_thread(argc, argv, wanted, granted);
    const char *flags = getenv("OMPI_MCA_btl_tcp_flags");

    snprintf(tcp_flags, sizeof tcp_flags, "%s", flags ? flags : "");
    n_inits++;
    asked = wanted;
    *granted = wanted < grants ? wanted : grants;
    return code;
}

int MPI_Finalize(void)
{
    n_finalizes++;
    return PMPI_Finalize();
}

static bool has_no_dup, lacks_tasks; /* the last: it is granted none, and goes on without */

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
    return has_no_dup ? MPI_ERR_NO_MEM : PMPI_Comm_dup(comm, out);
}

static int expect(bool ok, const char *what)
{
    if (!ok)
        fprintf(stderr, "rank %d: not so: %s (last error: %s)\n", world_launcher().rank, what, rc_message());
    return !ok;
}
#define EXPECT(ok) expect((ok), #ok)

static enum rc body(struct world *w, void *arg)
{
    const bool is_granted = asked == MPI_THREAD_SERIALIZED && !lacks_tasks;
    const char *level = is_granted ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_FUNNELED";

    n_bodies++;
    n_other_levels += strcmp(w->mpi_level, level) != 0;
    *(bool *)arg = world_mpi_lock(w)->is_used && w->has_tasks;
    return world_barrier(w);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    const struct world_opts opts = { .has_tasks = strstr(what, "tasks") != NULL,
                                     .tasks_are_optional = strstr(what, "optional") != NULL };
    lacks_tasks = opts.tasks_are_optional && strstr(what, "low") != NULL;
    const bool is_low = strstr(what, "low") != NULL && !lacks_tasks;
    bool has_tasks = false;
    int n_failures = 0;

    const bool has_flags = strcmp(what, "own_flags") == 0;

    if (has_flags ? setenv("OMPI_MCA_btl_tcp_flags", "7", 1) : unsetenv("OMPI_MCA_btl_tcp_flags"))
        return 1;
    if (strstr(what, "low") && (!strstr(what, "low_on_1") || world_launcher().rank == 1))
        grants = opts.has_tasks ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
    has_no_dup = strcmp(what, "no_dup") == 0 && world_launcher().rank == 1;
    const enum rc rc = world_run(&world_mpi, &opts, 0, body, &has_tasks);
    n_failures += EXPECT(asked == (opts.has_tasks ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED));
    n_failures += EXPECT(n_inits == 1 && n_finalizes == 1);
    n_failures += EXPECT(strcmp(tcp_flags, has_flags ? "7" : "1") == 0); /* plain sends, but for what a user sets */
    n_failures += EXPECT(rc == (is_low ? RC_UNSUPPORTED : RC_OK));
    n_failures += EXPECT(n_bodies == !is_low && n_other_levels == 0);
    n_failures += EXPECT(is_low || has_tasks == (opts.has_tasks && !lacks_tasks));
    if (is_low && opts.has_tasks)
        n_failures +=
            EXPECT(strcmp(rc_message(), "world mpi: MPI_THREAD_SERIALIZED was asked for, since tasks beside the "
                                        "main one are to send messages, but MPI grants MPI_THREAD_FUNNELED") == 0);
    else if (is_low)
        n_failures += EXPECT(strcmp(rc_message(), "world mpi: MPI_THREAD_FUNNELED was asked for, but MPI grants "
                                                  "MPI_THREAD_SINGLE") == 0);
    return n_failures > 0;
}
