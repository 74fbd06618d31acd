/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - a layout, WxSxK: W workers, each a pipeline of S stages, the dense layers of each stage that has any cut
 * into shards over groups of K of the workers. It has W x S ranks, servers aside; Wx1x1 is data parallelism.
 */
#ifndef HARNESS_TRAIN_LAYOUT_H
#define HARNESS_TRAIN_LAYOUT_H

#include "harness/train/train.h"

enum { LAYOUT_TEXT_BYTES = 40, LAYOUT_MOST = 65536 };

struct layout {
    int n_workers, n_stages, n_shards;
};

/* "2x2x1". RC_INVAL: is no layout, or has no shape that can be (K divides W); names --layout. */
enum rc layout_parse(struct layout *out, const char *text) MUST_CHECK;
void layout_text(char out[LAYOUT_TEXT_BYTES], const struct layout *l);
int layout_n_ranks(const struct layout *l);
/* Micro-batches of a worker's batch where nobody says how many: the most that divide it, up to four a stage. */
uint64_t layout_n_micro_batches(uint64_t batch, int n_stages);
/* Set --workers, --stages and --shard-dense of *opts to those of --layout text ("": leave them as they are). RC_INVAL
 * also: one of them is given and is another; so many ranks were launched that they are no layout of the mode without
 * servers (names those that are). n_launched: 0: no launcher. */
enum rc layout_apply(struct train_opts *opts, const char *text, const struct opt_group *group, int n_groups,
                     int n_launched) MUST_CHECK;

#endif
