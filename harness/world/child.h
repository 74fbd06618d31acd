/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - run another program and wait for it: launches of this binary, gnuplot; or a copy of this process. */
#ifndef HARNESS_WORLD_CHILD_H
#define HARNESS_WORLD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

/* Runs argv (NULL-terminated; argv[0] is looked up in PATH unless it has a slash), with /dev/null as standard input and
 * output, and waits. *exit_code: 0..255, or 128 + signal. error_text[n_bytes] (may be NULL): the end of its standard
 * error, terminated. limit_ms: after that it is killed, and RC_TIMEOUT; 0: no limit. must_stop (may be NULL) is
 * called every 100 ms, on the calling thread. Once it returns true, the program gets SIGTERM; if it has not ended 5 s
 * later it is killed (RC_TIMEOUT). If the calling thread ends first, even by SIGKILL, the program is killed, as its
 * results would have no reader. RC_IO: it could not be started. */
enum rc child_run(char *const argv[], int limit_ms, bool (*must_stop)(void), int *exit_code, char *error_text,
                  size_t n_bytes) MUST_CHECK;
struct child_watch {         /* called every 100 ms, on the calling thread */
    bool (*must_stop)(void); /* not NULL */
    void (*tick)(void *arg); /* until must_stop() */
    void *arg;
};

/* The same, with a function that tells how long it takes. */
enum rc child_run_watched(char *const argv[], int limit_ms, const struct child_watch *watch, int *exit_code,
                          char *error_text, size_t n_bytes) MUST_CHECK;

/* How it ended, behind its name: "ended with exit code 3: COMPLAINT", "was ended by signal 9 (Killed)". complaint: what
 * it wrote, or "". out[n_bytes]; cut to fit. */
void child_ending(char *out, size_t n_bytes, int exit_code, const char *complaint);

/* Copies this process, which must have no thread of ours. *is_child: true in the copy; *pid: the copy's, in the
 * original. The copy is killed if this process ends first. Buffered output is written before. RC_IO. */
enum rc child_copy(int64_t *pid, bool *is_child) MUST_CHECK;
/* Waits until the copy has ended. A signal that this process has caught (stop.h) is passed on to it. *exit_code as for
 * child_run(). RC_IO. */
enum rc child_await_copy(int64_t pid, int *exit_code) MUST_CHECK;

/* Replaces this process by a new start of this program with these arguments. Returns only on failure. */
void child_start_self_anew(char **argv);
/* Path of this executable, for launching itself again. RC_IO. */
enum rc child_self_path(char *out, size_t n_bytes) MUST_CHECK;

/* The host's name, terminated, cut to n_bytes - 1 bytes. Cannot fail ("unknown"). */
void child_host_name(char *out, size_t n_bytes);

#endif
