/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - start the processes of a group, here and on other hosts, and wait for them.
 *
 * Invariants
 *   L1  A process reads from its standard input a line with the key of the run. Later bytes are each the number of a
 *       signal to act on. Or a byte is 0; then 4 bytes, least significant first, are a rank whose process has ended.
 *       Rank 0 learns of all ends, other ranks of the end of rank 0. The end of the input is the end of the launcher: a
 *       process that still runs 5 s later kills itself (gang_watch_launcher()). So no process of a run remains, even on
 *       other hosts.
 *   L2  The key is made for each run. It is on no command line, and in a file only if join_file is set.
 *   -   Output comes in whole lines: lines of two processes are never mixed.
 *   L4  If a process fails, the remaining ones have GRACE to end by themselves, through their world; then they are
 *       killed.
 * Every process has ended and is reaped when launch_run() returns.
 */
#ifndef HARNESS_WORLD_TCP_LAUNCH_H
#define HARNESS_WORLD_TCP_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct launch_opts {
    uint64_t n_ranks;      /* 0: one for each slot of hosts */
    const char *hosts;     /* "HOST[:SLOTS],...", "": this host, with any number of slots */
    const char *hostfile;  /* FILE with a host on each line, instead of hosts; NULL or "": none */
    const char *agent;     /* program and arguments; it gets a host and a command line for a shell; "": ssh */
    const char *interface; /* at which other hosts reach this one, as host_address.h says; "": any. A run on this host
                              alone then uses its loopback, so that no process can join from another host */
    uint64_t port;         /* of rank 0 if it is on another host; 0: any */
    double start_s;        /* time for the group to start */
    const char *join_file; /* gang_write_join_file(), removed when launch_run() returns; "": none */
    bool has_prefix;       /* "[rank] " before each line */
    bool goes_on;          /* a process that fails does not end the run: the exit code is rank 0's */
    char *const *argv;     /* NULL-terminated: the program, by its path, and its arguments */
    const char *restarts;  /* GRADMARK_GANG_RESTARTS of each process; NULL: not set */
};

/* *exit_code: 0; 128 + the signal that ended the first process so ended, or what a shell or ssh returns for it; else
 * that of the first process that failed; 128 + the signal that stopped the launcher. Errors: RC_INVAL if hosts and
 * n_ranks do not fit, or there is no such interface; RC_IO if a process cannot be started; RC_NOMEM. */
enum rc launch_run(const struct launch_opts *opts, int *exit_code) MUST_CHECK;

/* --- launch_plan.c: for launch.c and tests --- */

struct launch_process {
    char host[256];
    bool is_local;
    int host_index; /* equal for processes of one host */
    int host_rank, n_host_ranks;
};

struct launch_plan {
    int n_ranks;
    struct launch_process *process; /* [n_ranks] */
    bool is_one_host;
    char root[300];   /* HOST:PORT of rank 0 */
    int listening_fd; /* listens there; -1: rank 0 is on another host */
    char *members;    /* GRADMARK_GANG_MEMBERS */
    char key[65];     /* hexadecimal */
};

/* Does rank 0 run on this host? RC_INVAL: the hosts are invalid. */
enum rc launch_root_is_here(bool *out, const struct launch_opts *opts) MUST_CHECK;

enum rc launch_plan_open(struct launch_plan *out, const struct launch_opts *opts) MUST_CHECK;
void launch_plan_close(struct launch_plan *p); /* accepts a zeroed one, whose listening_fd is -1 */
/* GRADMARK_GANG_* variable i < LAUNCH_N_VARIABLES of a process, as NAME=VALUE; false: it does not have this one. The
 * caller frees *out; NULL: no memory. */
enum { LAUNCH_N_VARIABLES = 9 };
bool launch_variable(char **out, const struct launch_plan *p, const struct launch_opts *opts, int rank, int i);

/* --- for a process that gradmark launch started --- */

/* Ranks whose processes have ended, as the launcher reports (world.L1). */
struct launch_news {
    int n_ranks;
    atomic_bool has_ended[]; /* [n_ranks] */
};

/* Starts to read standard input (world.L1), after GRADMARK_GANG_KEY was read. The first call in a process does this;
 * later calls do nothing. The result lives as long as the process; NULL: no news will come. */
const struct launch_news *gang_watch_launcher(int n_ranks);
bool launch_has_ended(const struct launch_news *news, int rank); /* news may be NULL: not known */

#endif
