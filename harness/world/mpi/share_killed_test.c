/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_killed_test.c MPIEXEC SHARE_MPI_TEST - H8: launches three ranks, of which one is killed at each step of opening
 * a share and afterwards, and looks for what is left of them. A plain program: exit code 0: passed, 77: skipped.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/child.h"

enum { LIMIT_MS = 60000, N_LOOKS = 200, LOOK_NS = 50000000, SKIPPED = 77 };

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

/* Do its words have these two? They are ended by 0 each. */
static bool has_words(const char *path, const char *a, const char *b)
{
    char text[4096];
    bool has_a = false, has_b = false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n_read = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    if (fd >= 0)
        (void)close(fd);
    text[n_read > 0 ? n_read : 0] = '\0';
    for (const char *word = text; word < text + n_read; word += strlen(word) + 1) {
        has_a |= strcmp(word, a) == 0;
        has_b |= strcmp(word, b) == 0;
    }
    return has_a && has_b;
}

static int count_processes(const char *program, const char *mode)
{
    DIR *folder = opendir("/proc");
    int n_processes = 0;

    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char path[300];
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        if (isdigit((unsigned char)entry->d_name[0]))
            n_processes += has_words(path, program, mode);
    }
    if (folder)
        (void)closedir(folder);
    return n_processes;
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
        n_names += fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
        if (fd >= 0)
            (void)close(fd);
    }
    if (folder)
        (void)closedir(folder);
    return n_names;
}

/* Waits a while: what is killed takes a moment to go, and another test may be at work here. */
static int count_left(const char *program, const char *mode)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };
    int n_left = 1;

    for (int i = 0; n_left > 0 && i < N_LOOKS; i++) {
        n_left = count_processes(program, mode) + count_names();
        if (n_left > 0)
            nanosleep(&pause, NULL);
    }
    return n_left;
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

    if (argc != 3)
        return 2;
    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
        const int exit_code = launch(argv[1], argv[2], kills[i].mode);
        if (exit_code == SKIPPED)
            return SKIPPED;
        const bool ok = exit_code != 0 && !strstr(error_text, "is alive") && strstr(error_text, kills[i].signal);
        fprintf(stderr, "%s: %s\n", kills[i].mode, ok ? "as expected" : error_text);
        if (strncmp(kills[i].mode, "name-", 5) == 0) /* what is left is for the next one to remove */
            n_failures += launch(argv[1], argv[2], "no_proc") != 0;
        const int n_left = count_left(argv[2], kills[i].mode);
        if (n_left > 0)
            fprintf(stderr, "%d processes and names are left\n", n_left);
        n_failures += !ok || n_left > 0;
    }
    return n_failures > 0;
}
