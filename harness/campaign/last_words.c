/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_words.c - the message of a process that SIGINT, SIGTERM or SIGHUP ends at once, e.g. while it waits in MPI;
 * see last_words.h.
 */
#include "harness/campaign/last_words.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const char *volatile last_words; /* of the process: a signal is sent to all of it; NULL: none */

static void say_and_end(int number)
{
    const char *text = last_words;

    if (text)
        (void)!write(STDERR_FILENO, text, strlen(text));
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* when this returns */
}

void last_words_set(const char *text)
{
    static const int number[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction now, action = { .sa_flags = SA_RESTART };

    last_words = text;
    action.sa_handler = say_and_end;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (sigaction(number[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(number[i], &action, NULL);
}
