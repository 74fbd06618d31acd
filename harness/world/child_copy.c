/* SPDX-License-Identifier: Apache-2.0 */
/* child_copy.c - a copy of this process, and waiting for it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/child.h"
#include "harness/world/stop.h"

enum rc child_copy(int64_t *pid, bool *is_child)
{
    const pid_t parent = getpid();

    (void)fflush(NULL); /* else both would write it */
    const pid_t copy = fork();
    if (copy < 0)
        return rc_raise(RC_IO, "this process cannot be copied: %s", strerror(errno));
    *is_child = copy == 0;
    *pid = copy;
    if (*is_child && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(EXIT_FAILURE);
    return RC_OK;
}

enum rc child_await_copy(int64_t pid, int *exit_code)
{
    const struct timespec pause = { .tv_nsec = 10000000 }; /* a terminal's signal reaches both: STOP_AGAIN_MS */
    bool was_passed_on = false;
    int status = 0;
    pid_t ended;

    while ((ended = waitpid((pid_t)pid, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (stop_wanted() && !was_passed_on) {
            (void)kill((pid_t)pid, stop_signal());
            was_passed_on = true;
        }
        (void)nanosleep(&pause, NULL);
    }
    if (ended < 0)
        return rc_raise(RC_IO, "the copy of this process is gone: %s", strerror(errno));
    *exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return RC_OK;
}
