/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.c - see stop.h. A signal that came is told by its handler: the first puts another in its place, which does
 * nothing, so what was done is kept however often one is told to stop.
 */
#include "harness/verbs/stop.h"

#include <signal.h>
#include <stddef.h>

static void ignore_signal(int number)
{
    (void)number;
}

static void note_signal(int number)
{
    struct sigaction action = { .sa_flags = SA_RESTART };

    action.sa_handler = ignore_signal;
    sigaction(number, &action, NULL);
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
    struct sigaction now;

    for (int i = 0; i < N_STOP_SIGNALS; i++)
        if (sigaction(stop_signals[i], NULL, &now) == 0 && now.sa_handler == ignore_signal)
            return true;
    return false;
}
