/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - see stop.h. */
#include "harness/campaign/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t is_requested; /* of the process: a signal is sent to all of it */

static void note_signal(int number)
{
    (void)number;
    is_requested = 1;
}

static const int stop_signals[] = { SIGINT, SIGTERM };
enum { N_STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };

void stop_catch(void)
{
    for (int i = 0; i < N_STOP_SIGNALS; i++) {
        struct sigaction now, action = { .sa_flags = SA_RESTART };
        action.sa_handler = note_signal;
        if (sigaction(stop_signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(stop_signals[i], &action, NULL);
    }
}

bool stop_wanted(void)
{
    return is_requested != 0;
}
