/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - start the processes of a gang, here and on other hosts, and wait for them.
 *
 * Invariants
 *   L1  A process reads on its standard input: a line with the key of the run, and later bytes, each the number of a
 *       signal that it is to take as its own; or 0, and in 4 bytes, the least one first, a rank whose process has
 *       ended: rank 0 hears of all, the others of rank 0. The end of its input is that of the launcher: a process that
 *       continues 5 s after it is killed by itself (gang_watch_launcher()). So nothing is left of a run, on other hosts
 *       neither.
 *   L2  The key is made for each run, and is on no command line; in a file only where join_file asks for it.
 *   L3  Output comes line by line: no two processes' are mixed within one.
 *   L4  When one fails, the others have GRACE to end by themselves, as their world makes them; then they are killed.
 * All have ended and are reaped when launch_run() returns.
 */
#ifndef HARNESS_WORLD_TCP_LAUNCH_H
#define HARNESS_WORLD_TCP_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct launch_opts {
    uint64_t n_ranks;      /* 0: one for each slot of hosts */
    const char *hosts;     /* "HOST[:SLOTS],...", "": this one, with any number of slots */
    const char *hostfile;  /* FILE with a host on each line, in place of hosts; NULL or "": none */
    const char *agent;     /* program and arguments that get a host and a command line for a shell; "": ssh */
    const char *interface; /* at which other hosts reach this one, as host_address.h says; "": any, and of a
                              run on this host alone its loopback, so that nobody can join it from another one */
    uint64_t port;         /* of rank 0 where that is on another host; 0: any */
    double start_s;        /* of the gang */
    const char *join_file; /* gang_write_join_file(), gone when launch_run() returns; "": none */
    bool has_prefix;       /* "[rank] " before each line */
    bool goes_on;          /* a process that fails is no reason to end the others: the exit code is rank 0's */
    char *const *argv;     /* NULL-terminated: the program, by its path, and its arguments */
    const char *restarts;  /* what GRADMARK_GANG_RESTARTS is to say to each process; NULL: it is not set */
};

/* *exit_code: 0; 128 + the signal that ended the first process that was ended by one, or what a shell or ssh says for
 * it; else that of the first process that failed; 128 + the signal that stopped the launcher. RC_INVAL: hosts and
 * n_ranks do not fit, or there is no such interface; RC_IO: a process cannot be started; RC_NOMEM. */
enum rc launch_run(const struct launch_opts *opts, int *exit_code) MUST_CHECK;

/* --- launch_hosts.c: for launch_plan.c --- */

struct launch_host {
    char name[256];
    bool is_local;
};

struct launch_hosts {
    struct launch_host *host; /* [n_hosts], no name twice */
    struct launch_block {
        int host, n_slots;
    } * block; /* [n_blocks]: slots one after another, in the order of ranks */
    int n_hosts, n_blocks, n_slots;
};

/* One host at least. RC_INVAL names -H, or --hostfile and the line; RC_IO, RC_NOMEM. */
enum rc launch_hosts_open(struct launch_hosts *out, const struct launch_opts *opts) MUST_CHECK;
void launch_hosts_close(struct launch_hosts *h); /* accepts a zeroed one */

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
    int listening_fd; /* there; -1: rank 0 is on another host */
    char *members;    /* GRADMARK_GANG_MEMBERS */
    char key[65];     /* hexadecimal */
};

/* Does rank 0 run on this host? RC_INVAL: there are no such hosts. */
enum rc launch_root_is_here(bool *out, const struct launch_opts *opts) MUST_CHECK;

enum rc launch_plan_open(struct launch_plan *out, const struct launch_opts *opts) MUST_CHECK;
void launch_plan_close(struct launch_plan *p); /* accepts a zeroed one, whose listening_fd is -1 */
/* GRADMARK_GANG_* of a process, i < LAUNCH_N_VARIABLES, as NAME=VALUE; false: it has none such. The caller frees *out;
 * NULL: no memory. */
enum { LAUNCH_N_VARIABLES = 9 };
bool launch_variable(char **out, const struct launch_plan *p, const struct launch_opts *opts, int rank, int i);

/* --- of a process that was started so --- */

/* Ranks whose processes have ended, as the launcher tells (L1). */
struct launch_news {
    int n_ranks;
    atomic_bool has_ended[]; /* [n_ranks] */
};

/* Begin to read standard input: L1. GRADMARK_GANG_KEY has been read. Once a process; else nothing. What comes is there
 * for as long as the process; NULL: nothing will come. */
const struct launch_news *gang_watch_launcher(int n_ranks);
bool launch_has_ended(const struct launch_news *news, int rank); /* news may be NULL: not known */

#endif
