/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_files.c - RLIMIT_NOFILE; the contract is in zmq_files.h. */
#include "harness/net/zmq_files.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/resource.h>

enum { OPEN_WHERE_UNKNOWN = 64 };

static uint64_t n_open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t n_entries = 0;

    if (!folder)
        return OPEN_WHERE_UNKNOWN;
    while (readdir(folder))
        n_entries++;
    (void)closedir(folder);
    return n_entries - 3; /* ".", "..", and the folder itself */
}

void zmq_files_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

enum rc zmq_files_check(enum zmq_reach reach, int n_ranks)
{
    const uint64_t n_of_a_peer = ZMQ_FILES_OF_A_PEER + (reach == ZMQ_REACH_HOSTS ? ZMQ_FILES_OF_A_MONITOR : 0);
    const uint64_t n_needed = n_open_files() + n_of_a_peer * ((uint64_t)n_ranks - 1) + ZMQ_FILES_SPARE;
    struct rlimit limit;

    if (reach == ZMQ_REACH_PROCESS || getrlimit(RLIMIT_NOFILE, &limit) != 0 || n_needed <= limit.rlim_cur)
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED,
                    "transport zmq: %d ranks need %llu open files in the process of each, and its limit is %llu "
                    "(ulimit -Hn)",
                    n_ranks, (unsigned long long)n_needed, (unsigned long long)limit.rlim_cur);
}

enum rc zmq_files_check_context(int n_users)
{
    const uint64_t n_needed = n_open_files() + ZMQ_FILES_OF_A_CONTEXT + 2 * (uint64_t)n_users;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || n_needed <= limit.rlim_cur)
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED,
                    "transport zmq: this process needs %llu open files or more, and its limit is %llu (ulimit -Hn)",
                    (unsigned long long)n_needed, (unsigned long long)limit.rlim_cur);
}
