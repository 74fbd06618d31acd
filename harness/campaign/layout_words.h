/* SPDX-License-Identifier: Apache-2.0 */
/* layout_words.h - what a step of a layout consists of, in words: of layouts that are simulated, and of measured ones.
 */
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

/* "moves 8.1 MB of gradients a rank and step": behind the name of the layout. Gradients and activations are known. */
void layout_describe(char out[LAYOUT_CLAUSE_BYTES], const struct layout *l, const struct layout_facts *f);
/* Is it cut in a way less than the best one; or in any, where that is cut in none? */
bool layout_is_of_another_kind(const struct layout *l, const struct layout *best);

#endif
