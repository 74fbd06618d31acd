/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - a verb that is told to stop (SIGINT, SIGTERM) keeps what it has done. */
#ifndef HARNESS_VERBS_STOP_H
#define HARNESS_VERBS_STOP_H

#include <stdbool.h>

/* From now on these signals do not end the process; one that was ignored stays so. Cannot fail. */
void stop_catch(void);
/* Has one come since? */
bool stop_wanted(void);

#endif
