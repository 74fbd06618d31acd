/* SPDX-License-Identifier: Apache-2.0 */
/* rank_contest.h - what the order of ranks is worth: the same allreduce in each of the orders of rank_order.h. */
#ifndef HARNESS_ACCEPT_RANK_CONTEST_H
#define HARNESS_ACCEPT_RANK_CONTEST_H

#include "harness/accept/rank_order.h"
#include "harness/accept/stages.h"

struct collective_ops;

/* Fills env->out->rank_order. Orders are measured in turns, repeat by repeat, each one first in its turn: what drifts
 * does so under all. Those that are the same are measured once, and nothing where all are. Of one node, or with
 * rank_order_bytes 0, there is none. A rank that inject.h orders to be lost in the collectives is, behind the first
 * repeat: whole repeats are kept then, and no order is the best. Collective over env->world. Errors: as
 * allreduce_bench.h; RC_NOMEM, RC_PEER. */
enum rc rank_contest(struct stage_env *env, const struct collective_ops *ops) MUST_CHECK;
/* out := the switches of this rank's node, from the top level down, with dots between; "": not known. address, node: of
 * Slurm's SLURM_TOPOLOGY_ADDR, "spine.leaf3.host7", and SLURMD_NODENAME, "host7"; NULL: not set. Pure. */
void rank_contest_switches(char out[RANK_ORDER_SWITCHES_BYTES], const char *address, const char *node);

#endif
