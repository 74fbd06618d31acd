/* SPDX-License-Identifier: Apache-2.0 */
/* rank_contest.h - measures the benefit of rank orders: the same allreduce in each order of rank_order.h. */
#ifndef HARNESS_ACCEPT_RANK_CONTEST_H
#define HARNESS_ACCEPT_RANK_CONTEST_H

#include "harness/accept/rank_order.h"
#include "harness/accept/stages.h"

struct collective_ops;

/* Fills env->out->rank_order. Orders are measured in turns, repeat by repeat, and each one is first in turn: drift
 * affects all alike. Equal orders are measured once, and nothing is measured if there is only one order or one
 * node, or with rank_order_bytes 0. If inject.h makes the test lose a rank in the collectives, this happens after the
 * first repeat: then complete repeats are kept, and no order is the best. Collective over env->world. Errors: as
 * allreduce_bench.h; RC_NOMEM, RC_PEER. */
enum rc rank_contest(struct stage_env *env, const struct collective_ops *ops) MUST_CHECK;
/* out := the switches of this rank's node, from the top level down, separated by dots; "": not known. address: Slurm's
 * SLURM_TOPOLOGY_ADDR, "spine.leaf3.host7"; node: SLURMD_NODENAME, "host7"; NULL: not set. Pure. */
void rank_contest_switches(char out[RANK_ORDER_SWITCHES_BYTES], const char *address, const char *node);

#endif
