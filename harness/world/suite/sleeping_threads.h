/* SPDX-License-Identifier: Apache-2.0 */
/* sleeping_threads.h - wait until the other threads of a test sleep in the kernel. For tests only. */
#ifndef HARNESS_WORLD_SUITE_SLEEPING_THREADS_H
#define HARNESS_WORLD_SUITE_SLEEPING_THREADS_H

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The state of a thread of this process is the first letter behind its name, which is in brackets. */
static inline bool thread_sleeps(const char *id)
{
    char path[300], text[512] = "";
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%s/stat", id);
    file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        (void)fclose(file);
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

/* Do all threads sleep but the caller, n of them or, with a sanitizer, more? */
static inline bool others_sleep(int n)
{
    DIR *folder = opendir("/proc/self/task");
    int n_sleeping = 0, n_awake = 0;

    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') {
            const bool sleeps = thread_sleeps(entry->d_name);
            n_sleeping += sleeps;
            n_awake += !sleeps;
        }
    if (folder)
        (void)closedir(folder);
    return n_sleeping >= n && n_awake == 1;
}

/* Until all other threads sleep, of which there are n. The limit ends a test whose threads never do. */
static inline void await_sleeping_threads(int n)
{
    enum { LIMIT_S = 60 };
    struct timespec began, now;

    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    while (!others_sleep(n)) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - began.tv_sec > LIMIT_S) {
            fprintf(stderr, "not all of %d threads sleep\n", n);
            abort();
        }
        (void)sched_yield();
    }
}

#endif
