/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - a verb that receives SIGINT or SIGTERM ends early and keeps its finished results. */
#ifndef HARNESS_CAMPAIGN_STOP_H
#define HARNESS_CAMPAIGN_STOP_H

#include <stdbool.h>

/* From now on these signals do not end the process; one that was ignored stays so. Cannot fail. */
void stop_catch(void);
/* Has one of them been received since stop_catch()? */
bool stop_wanted(void);

#endif
