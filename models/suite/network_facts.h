/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_facts.h - an opened network compared with what is published, and with what holds for any table. Tests only.
 */
#ifndef MODELS_SUITE_NETWORK_FACTS_H
#define MODELS_SUITE_NETWORK_FACTS_H

#include "models/workload.h"

/* How many facts n, opened from the network of w, contradicts; they are printed. */
int network_contradictions(const struct network *n, const struct workload *w, const char *tensors_path);
/* Those that hold for any table: the tensors are in order, without a gap (models.Y1); */
int network_segments_lie_in_order(const struct network *n);
/* inputs come before, shapes fit, every node is used, a part belongs to one concatenation (models.Y3). */
int network_nodes_hang_together(const struct network *n);

/*
 * What is published about each network, one entry per network. Tests only.
 *
 * An outline has all nodes of a table, written a second time by hand from the paper: "3x3/2nr<2 " is a 3x3 convolution
 * with stride 2, batch norm (n; b: bias) and relu (r), whose input is 2 nodes before it (not written: 1); +3: the
 * output of 3 nodes before it is added; cat3,1: a concatenation of the nodes 3 and 1 before it.
 */

enum { OUTLINE_BYTES = 16384 };

struct outline {
    char text[OUTLINE_BYTES];
    size_t n_bytes;
};
void outline_append(struct outline *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

struct published_network {
    const struct workload *workload;
    const char *outline; /* NULL: append_outline() writes it */
    void (*append_outline)(struct outline *o, bool aux);
    float epsilon;                 /* of its batch norms */
    size_t n_params, n_params_aux; /* without the auxiliary head; of the head alone */
    double multiply_adds;          /* of a forward pass without the auxiliary head, within 0.1 % */
    bool has_tensors;              /* model_tensors.csv has a row for each tensor */
};

/* Fails the running test when there is no entry. */
const struct published_network *published_network_find(const struct workload *w);

#endif
