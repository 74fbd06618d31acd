/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_killed_test.c MPIEXEC SHARE_MPI_TEST - world.H8: launches three ranks, of which one is killed at each step of
 * opening a share and afterwards, and looks for what is left of them. A plain program: exit code 0: passed, 77:
 * skipped.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/child.h"

enum { LIMIT_MS = 60000, N_LOOKS = 6000, LOOK_NS = 10000000, SKIPPED = 77 };

#define FOLDER "/dev/shm"

static char error_text[8192];

static int launch(char *mpiexec, char *program, const char *mode)
{
    char count[] = "3", flag[] = "-n", more[] = "--oversubscribe", name[32];
    char *const argv[] = { mpiexec, flag, count, more, program, name, NULL };
    int exit_code = -1;

    (void)snprintf(name, sizeof name, "%s", mode);
    if (child_run(argv, LIMIT_MS, NULL, &exit_code, error_text, sizeof error_text) != RC_OK)
        fprintf(stderr, "%s: %s\n", mode, rc_message());
    return exit_code;
}

/* Processes that a launcher has left are children of this one, as main() asks for: wait until all have ended. How many
 * have not within the limit. */
static int count_left_processes(void)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };

    for (int i = 0; i < N_LOOKS; i++) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (ended < 0)
            return 0;
        (void)nanosleep(&pause, NULL);
    }
    return 1;
}

/* Names whose owner is gone: nobody holds the lock. */
static int count_names(void)
{
    DIR *folder = opendir(FOLDER);
    int n_names = 0;

    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "gradmark-share-", strlen("gradmark-share-")) != 0)
            continue;
        const int fd = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
        struct stat file; /* no links: its owner has ended well meanwhile */
        n_names += fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &file) == 0 && file.st_nlink > 0;
        if (fd >= 0)
            (void)close(fd);
    }
    if (folder)
        (void)closedir(folder);
    return n_names;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *mode, *signal;
    } kills[] = {
        { "memfd-ftruncate", "Bad system call" }, { "memfd-madvise", "Bad system call" }, { "memfd-open", "Killed" },
        { "file-ftruncate", "Bad system call" },  { "file-madvise", "Bad system call" },  { "file-open", "Killed" },
        { "name-linkat", "Bad system call" },     { "name-unlink", "Bad system call" },   { "name-open", "Killed" },
    };
    int n_failures = 0;

    if (argc != 3 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return 2;
    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
        const int exit_code = launch(argv[1], argv[2], kills[i].mode);
        if (exit_code == SKIPPED)
            return SKIPPED;
        const bool ok = exit_code != 0 && !strstr(error_text, "is alive") && strstr(error_text, kills[i].signal);
        fprintf(stderr, "%s: %s\n", kills[i].mode, ok ? "as expected" : error_text);
        if (strncmp(kills[i].mode, "name-", 5) == 0) /* what is left is for the next one to remove */
            n_failures += launch(argv[1], argv[2], "no_proc") != 0;
        const int n_processes = count_left_processes(), n_names = count_names();
        if (n_processes > 0 || n_names > 0)
            fprintf(stderr, "%s are left: %d names\n", n_processes > 0 ? "processes" : "no processes", n_names);
        n_failures += !ok || n_processes > 0 || n_names > 0;
    }
    return n_failures > 0;
}
