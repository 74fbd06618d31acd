/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - run another program and wait for it: launches of this binary, gnuplot; or a copy of this process. */
#ifndef HARNESS_WORLD_CHILD_H
#define HARNESS_WORLD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

/* Run argv (NULL-terminated; argv[0] looked up in PATH unless it has a slash), standard input and
 * output /dev/null, and wait. *exit_code: 0..255, or 128 + signal. error_text[n_bytes] (may be
 * NULL): the end of what it wrote to standard error, terminated. limit_ms: 0 none; then it is
 * killed and RC_TIMEOUT. stop_wanted (may be NULL) is asked every 100 ms, on the calling thread: once
 * it says yes, the program gets SIGTERM, and if it has not ended 5 s later it is killed (RC_TIMEOUT).
 * Where the calling thread ends first, however that is (SIGKILL too), the program is killed: what it would go on with,
 * nobody would read. RC_IO: could not be started. */
enum rc child_run(char *const argv[], int limit_ms, bool (*stop_wanted)(void), int *exit_code, char *error_text,
                  size_t n_bytes) MUST_CHECK;

/* Copy this process, which must have no thread of ours: *is_child in the copy, *pid of it in the other. The copy is
 * killed when this process ends first. What is buffered for output is written before. RC_IO. */
enum rc child_copy(int64_t *pid, bool *is_child) MUST_CHECK;
/* Wait until the copy has ended. A signal that this process has caught (stop.h) is passed on to it. *exit_code as
 * child_run(). RC_IO. */
enum rc child_await_copy(int64_t pid, int *exit_code) MUST_CHECK;

/* Start this program anew in place of this process, with these arguments. Returns only where that cannot be. */
void child_start_self_anew(char **argv);
/* Path of this executable, for launching itself again. RC_IO. */
enum rc child_self_path(char *out, size_t n_bytes) MUST_CHECK;

/* n < n_bytes bytes of the host's name, terminated. Cannot fail ("unknown"). */
void child_host_name(char *out, size_t n_bytes);

#endif
