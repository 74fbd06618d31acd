/* SPDX-License-Identifier: Apache-2.0 */
/* launch_child.h - one process of a launch: its command, its start, its output lines. Private to launch.c. */
#ifndef HARNESS_WORLD_TCP_LAUNCH_CHILD_H
#define HARNESS_WORLD_TCP_LAUNCH_CHILD_H

#include <sys/types.h>

#include "harness/world/tcp/launch.h"

enum { LAUNCH_RANK_BYTES = 4 }; /* world.L1 */

struct launch_command {
    char **argv;        /* NULL-terminated; owned, and so is each string */
    char **environment; /* NAME=VALUE, to set; likewise */
};

/* RC_NOMEM, RC_IO. */
enum rc launch_command_open(struct launch_command *out, const struct launch_plan *p, const struct launch_opts *opts,
                            int rank) MUST_CHECK;
void launch_command_close(struct launch_command *c);
/* Call before any process is started. RC_INVAL: the program that starts this one does not exist; names --agent. */
enum rc launch_command_check(const struct launch_plan *p, const struct launch_opts *opts, int rank) MUST_CHECK;
/* Starts it in a new process group, which ends with this process. stream[3]: its standard streams. kept_fd: it also
 * gets this one, with the same number; -1: none. Returns an errno, or 0. */
int launch_spawn(pid_t *pid, const struct launch_command *c, const int stream[3], int kept_fd);

struct launch_lines {
    int fd; /* -1: it has ended */
    char *text;
    size_t n_bytes, capacity_bytes; /* of an unfinished line */
    int error;                      /* errno of the first line that could not be written; 0: none */
};

/* Writes the received whole lines to fd `to`; rank: "[rank] " before each, -1: no prefix. */
void launch_lines_read(struct launch_lines *l, int to, int rank);
/* Writes the rest, and closes. Returns the errno of the first line that could not be written, or 0; EPIPE (no reader
 * any more) is not an error. */
int launch_lines_fini(struct launch_lines *l, int to, int rank);

#endif
