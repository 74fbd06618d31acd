/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - a layout, WxSxK: W workers, each a pipeline of S stages. The dense layers of each stage that has any are
 * split into shards over groups of K workers. A layout has W x S ranks, not counting servers; Wx1x1 is data
 * parallelism.
 */
#ifndef HARNESS_TRAIN_LAYOUT_H
#define HARNESS_TRAIN_LAYOUT_H

#include "harness/train/train.h"

enum { LAYOUT_TEXT_BYTES = 40, LAYOUT_MOST = 65536 };

struct layout {
    int n_workers, n_stages, n_shards;
};

/* text: "2x2x1". RC_INVAL: not a layout, or an impossible one (K must divide W); names --layout. */
enum rc layout_parse(struct layout *out, const char *text) MUST_CHECK;
void layout_text(char out[LAYOUT_TEXT_BYTES], const struct layout *l);
int layout_n_ranks(const struct layout *l);
/* Default number of micro-batches in a worker's batch: the largest divisor of it that is at most four per stage. */
uint64_t layout_n_micro_batches(uint64_t batch, int n_stages);
enum { LAYOUT_CHOICE_BYTES = 256 };
/* The layouts of n_ranks ranks without shards: "4x1x1, 2x2x1 or 1x4x1", as far as they fit. */
void layout_choices(char out[LAYOUT_CHOICE_BYTES], int n_ranks);
/* Set --workers, --stages and --shard-dense of *opts from --layout text ("": leave them unchanged). RC_INVAL also if:
 * one of them is given with another value; or no layout of the mode without servers has n_launched ranks (names the
 * valid ones). n_launched: 0: no launcher. */
enum rc layout_apply(struct train_opts *opts, const char *text, const struct opt_group *group, int n_groups,
                     int n_launched) MUST_CHECK;

#endif
