/* SPDX-License-Identifier: Apache-2.0 */
/* layout_words.h - the parts of a step of a layout, in words, for simulated and for measured layouts. */
#ifndef HARNESS_CAMPAIGN_LAYOUT_WORDS_H
#define HARNESS_CAMPAIGN_LAYOUT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/train/layout.h"

struct layout_facts { /* of a step, of the rank that sends, or needs, most; NaN: not known */
    double activations_bytes, gradients_bytes, memory_bytes;
    double bubble_ratio, imbalance_ratio; /* of a layout with stages */
};

enum { LAYOUT_CLAUSE_BYTES = 256 };

/* "moves 8.1 MB of gradients a rank and step", to follow the layout's name. Gradients and activations are known. */
void layout_describe(char out[LAYOUT_CLAUSE_BYTES], const struct layout *l, const struct layout_facts *f);
/* Is the best one cut in a way in which l is not? If the best one is not cut: is l cut at all? */
bool layout_is_of_another_kind(const struct layout *l, const struct layout *best);

#endif
