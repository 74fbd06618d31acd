/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement.h - which parameters are on which server. Not how they are sent: that is the mode's.
 *
 *   split        by bytes, evenly: server s of S has range_part(n_params, S, s); tensors may cross borders
 *   whole        tensors in forward order, each to the server with the fewest bytes so far, the first of equals;
 *                none is cut (TensorFlow's GreedyLoadBalancingStrategy with byte_size_load_fn)
 *   round-robin  tensor i to server i modulo S; none is cut (TensorFlow's replica_device_setter)
 *   chunk:BYTES  pieces of BYTES of all parameters, piece i to server i modulo S; the last may be shorter
 *
 * The slice of a server is its ranges of the parameters as one array, in ascending order. So a server's part of any
 * range of the parameters is one range of its slice.
 *
 * Invariants
 *   G1  Every parameter is on exactly one server.
 *   G2  The placement is a pure function of options, segments and number of servers: the same on every rank.
 *   G3  A slice keeps the order of the parameters; its ranges are ascending and never touch (neighbours are one).
 *   G4  No server is empty, except with split and more servers than parameters.
 */
#ifndef HARNESS_EXCHANGE_PLACEMENT_H
#define HARNESS_EXCHANGE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/range.h"
#include "harness/base/rc.h"

enum placement_kind { PLACEMENT_SPLIT, PLACEMENT_WHOLE, PLACEMENT_ROUND_ROBIN, PLACEMENT_CHUNK };

enum { PLACEMENT_MAX_RANGES = 1 << 22 }; /* 96 MiB of them */
enum { PLACEMENT_TEXT_BYTES = 32 };

struct placement_opts { /* zeroed: split */
    enum placement_kind kind;
    uint64_t chunk_bytes; /* of chunk; else 0 */
};

struct placed_range {
    struct range range;  /* of the parameters */
    size_t offset_elems; /* of its first element in the slice */
};

struct placement { /* owned */
    struct placement_opts opts;
    size_t n_params;
    int n_servers;
    struct placed_range *range; /* those of server 0, then of server 1, ... */
    size_t *first_range;        /* [n_servers + 1]: of each server, in range */
    size_t *n_elems;            /* [n_servers]: of the slices */
};

struct hot_spot { /* the server that holds most, the first of equals */
    int server;
    size_t n_elems;         /* of it */
    double imbalance_ratio; /* its elements / mean of all servers; 1: all have the same number */
    size_t segment;         /* the segment that it holds most of, the first of equals */
    size_t n_segment_elems; /* elements of that segment there */
};

/* "split", "whole", "round-robin", "chunk:BYTES" (with Ki, Mi, Gi, K, M, G). RC_INVAL names the valid values; the
 * message begins with "--placement TEXT: ". */
enum rc placement_parse(struct placement_opts *out, const char *text) MUST_CHECK;
/* Writes it as text, cut to out[n_bytes]; PLACEMENT_TEXT_BYTES are enough. */
void placement_text(char *out, size_t n_bytes, const struct placement_opts *opts);
/* segment[n_segments]: in forward order, without gaps. n_servers 0: nothing is placed. Errors: RC_INVAL if a server
 * would be empty (exchange.G4; names how many servers are possible), or there are more than PLACEMENT_MAX_RANGES;
 * RC_NOMEM. */
enum rc placement_open(struct placement *out, const struct placement_opts *opts, const struct segment *segment,
                       size_t n_segments, int n_servers) MUST_CHECK;
void placement_close(struct placement *p); /* accepts a zeroed one, leaves it zeroed */

/* The part of the slice of server s that is in `part` of the parameters; n_elems may be 0. O(log ranges). */
struct range placement_part(const struct placement *p, int s, struct range part);
/* Is that part, which is not empty, also one range of the parameters? Then *first is its first element there. */
bool placement_is_range(const struct placement *p, int s, struct range in_slice, size_t *first);
/* Copy elements in_slice of the slice of server s. gather: to slice_part[in_slice.n_elems], from an array of parameters
 * that begins with number `first`. scatter: back to the array of all parameters. */
void placement_gather(const struct placement *p, int s, struct range in_slice, float *slice_part, const float *from,
                      size_t first);
void placement_scatter(const struct placement *p, int s, struct range in_slice, const float *slice_part, float *all);
/* Does any slice have more than one range? */
bool placement_is_scattered(const struct placement *p);
/* Elements of the largest slice; 0 without servers. */
size_t placement_most_elems(const struct placement *p);
/* The server that holds most. There is at least one server and one segment. */
struct hot_spot placement_hot_spot(const struct placement *p, const struct segment *segment, size_t n_segments);
/* A digest: two placements with different slices have different ones (except by chance, 1 in 2^64). */
uint64_t placement_digest(const struct placement *p);

#endif
