/* SPDX-License-Identifier: Apache-2.0 */
/* collective_list.h - the list of algorithms (harness/exchange/collective.h): option --reducer. */
#ifndef ALLREDUCE_COLLECTIVE_LIST_H
#define ALLREDUCE_COLLECTIVE_LIST_H

#include "harness/base/module.h"

/* To add an algorithm, add one line in collective_list.c. */
extern const struct module_kind collective_kind;

#endif
