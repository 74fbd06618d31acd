/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.h - the message of a process that SIGINT, SIGTERM or SIGHUP ends at once, e.g. while it waits in MPI. */
#ifndef HARNESS_CAMPAIGN_LAST_WORDS_H
#define HARNESS_CAMPAIGN_LAST_WORDS_H

/* From now on such a signal makes the process write text to standard error before it ends. A signal that is caught or
 * ignored stays so. text is lent until the next call; NULL: nothing is written. Cannot fail. */
void last_words_set(const char *text);

#endif
