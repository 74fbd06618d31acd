/* SPDX-License-Identifier: Apache-2.0 */
/* collective_list.h - the algorithms there are (harness/exchange/collective.h): option --reducer. */
#ifndef ALLREDUCE_COLLECTIVE_LIST_H
#define ALLREDUCE_COLLECTIVE_LIST_H

#include "harness/base/module.h"

/* One line in collective_list.c makes one more known. */
extern const struct module_kind collective_kind;

#endif
