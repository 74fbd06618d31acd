/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_list.h - folds host names in Slurm's format: "host[1-3,7],other".
 *
 * Invariants
 *   H1  Only the digits at the end of a name are folded. Leading zeros stay: host08, host09, host10 are host[08-10],
 *       and host8 differs from host08.
 *   H2  Each name occurs once. Prefixes are in the order of their first names; the numbers of a prefix increase.
 */
#ifndef HARNESS_ACCEPT_HOST_LIST_H
#define HARNESS_ACCEPT_HOST_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

/* Fold name[n_names], each valid for host_name_is_plain(); the caller frees *out. n_names 0: "". RC_NOMEM. */
enum rc host_list_fold(char **out, const char *const *name, size_t n_names) MUST_CHECK;
/* Has the name only letters, digits, dots, dashes, underscores and colons, at least one of them, and no dash first?
 * Only such a name is written into a host file. */
bool host_name_is_plain(const char *name);

#endif
