/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_list.h - names of hosts as Slurm folds them: "host[1-3,7],other".
 *
 * Invariants
 *   F1  Folded are the digits that a name ends in; leading zeros stay: host08, host09, host10 are host[08-10], and
 *       host8 is no host08.
 *   F2  Each name is there once. Prefixes are in the order of their first names, numbers of one rise.
 */
#ifndef HARNESS_ACCEPT_HOST_LIST_H
#define HARNESS_ACCEPT_HOST_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

/* Of name[n_names], each of host_name_is_plain(), which the caller frees; n_names 0: "". RC_NOMEM. */
enum rc host_list_fold(char **out, const char *const *name, size_t n_names) MUST_CHECK;
/* Letters, digits, dots, dashes, underscores and colons alone, at least one of them, and no dash first: what may be
 * written into a file of hosts. */
bool host_name_is_plain(const char *name);

#endif
