/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h - a convolutional network as a table of nodes, which a reader can compare with the paper.
 *
 * A node is a unit of the papers' tables, such as "3x3 conv, 64, stride 2, batch norm, relu". The table has the
 * published order of the tensors. That is also a valid order of computation: every node comes after its inputs.
 *
 * Invariants
 *   Y1  The parameters are in the order of the nodes; within a node: weight, then bias, or gamma, beta.
 *       Each tensor is a segment.
 *   Y2  Shapes, parameters and state follow from the table alone; nothing is computed here.
 *   Y3  The output of a part of a concatenation is a slice of that concatenation's output (C, B, H, W), and of no other
 *       output.
 */
#ifndef MODELS_ENGINE_NETWORK_H
#define MODELS_ENGINE_NETWORK_H

#include "harness/base/range.h"
#include "harness/compute/compute.h"

enum node_kind {
    NODE_CONV, /* convolution or dense, [bias | batch norm], [add], [relu] */
    NODE_MAX_POOL,
    NODE_AVG_POOL,        /* zeros around count */
    NODE_ADAPTIVE_POOL,   /* to out_h x out_w; 1 x 1: global; equal to the input: does nothing */
    NODE_CONCAT,          /* of the channels of 2 .. NETWORK_MAX_PARTS nodes */
    NODE_DROPOUT,         /* training only */
    NODE_LOSS,            /* softmax cross-entropy of (classes, B, 1, 1), times loss_weight; the first is the one
                             that is evaluated */
    NODE_GATHER_IMAGES,   /* in a shard (network_shard.h): the images of all ranks of its group */
    NODE_GATHER_CHANNELS, /* likewise: the channels of all shards */
    NODE_OWN_IMAGES,      /* likewise: selects this rank's images, for the next stage */
};

enum node_norm { NORM_NONE, NORM_BIAS, NORM_BATCH };

enum { NETWORK_MAX_PARTS = 8, NETWORK_NAME_BYTES = 24, NODE_IMAGE = -1, NODE_NONE = -2 };

struct network_builder;

struct node {
    char name[NETWORK_NAME_BYTES]; /* of its tensors: "s0b0/proj", "c1", "fc6" */
    enum node_kind kind;
    int from;                    /* NODE_IMAGE, or an earlier node */
    int add_from;                /* NODE_CONV: its output is added before relu; NODE_NONE */
    int part[NETWORK_MAX_PARTS]; /* NODE_CONCAT */
    int n_parts;
    struct window in;        /* of one image: B is 1. CONV, pools: kernel, stride, pad */
    int C_out, out_h, out_w; /* of the output */
    int group;               /* output images per image of the batch: 1, or as in models.D2 */
    enum node_norm norm;
    float epsilon; /* NORM_BATCH */
    bool relu;
    float drop_ratio;            /* NODE_DROPOUT */
    float loss_weight;           /* NODE_LOSS */
    size_t fan_in;               /* NODE_CONV: C kernel_h kernel_w */
    double initial_variance;     /* NODE_CONV: of the initial weights */
    size_t elems_cut_before;     /* NODE_CONV of a shard: additional parameters before its weights in the whole network;
                                    else 0 */
    int first_out;               /* likewise: its first channel in the whole node; else 0 */
    int n_gathers_before;        /* in a shard: nodes before it that the whole network lacks; else 0 */
    struct segment weight;       /* (C_out, C, kernel_h, kernel_w) */
    struct segment shift;        /* (C_out): bias or beta; n_elems 0: none */
    struct segment gamma;        /* (C_out): NORM_BATCH; n_elems 0: none */
    size_t running_offset_elems; /* in the state: running mean (C_out), then running variance (C_out) */
    size_t packed_offset_elems;  /* of the packed weight (compute.h), among those of all nodes: a multiple of 128 */
    int first_segment, n_segments;
    bool aux; /* only an auxiliary loss needs it: not part of an evaluation */
};

struct network_opts {
    int image_size;    /* 0: the published one */
    int n_classes;     /* 0: the published number */
    bool aux_head;     /* inception3: the auxiliary classifier */
    int width_divisor; /* divides every number of channels except image and classes; 0, 1: the published network.
                          Rounded down, at least 1. For lessons and tests */
};

struct network { /* owned; read only after open */
    const char *name;
    struct network_opts opts; /* resolved */
    int C_in;                 /* channels of the image */
    struct node *node;
    int n_nodes;
    struct segment *segment;                      /* models.Y1 */
    char (*segment_name)[NETWORK_NAME_BYTES + 8]; /* "s0b0/proj/gamma"; suffixes w b gamma beta */
    int n_segments;
    size_t n_params;
    size_t n_state;        /* running means and variances: not trained */
    size_t n_packed_elems; /* of all weights, packed */
    /* For a stage (network_stages.h): position in the whole network; 0 for a whole network. */
    int first_node;
    size_t first_param, first_state;
    size_t
        in_elems; /* for one image, of the output of the previous stage, which is its NODE_IMAGE; 0: it is the image */
    int out_node; /* its output goes to the next stage; NODE_NONE: no next stage */
    int first_dense; /* network_first_dense() */
    /* For a shard (network_shard.h); 0 for a whole network. */
    int shard, n_shards;
};

/* One published network. Its file (nets/) has this table and its struct workload. */
struct network_def {
    const char *name;   /* "resnet50" */
    const char *source; /* paper, and which variant */
    int image_size, min_image_size, n_classes, C_in;
    int min_image_size_aux;                   /* with the auxiliary head; 0: no such head */
    void (*build)(struct network_builder *b); /* network_builder.h */
};

/* RC_INVAL: image too small (names the smallest), classes or divisor out of range, aux_head for a network without one.
 * RC_NOMEM. */
enum rc network_open(struct network **out, const struct network_def *def, const struct network_opts *opts) MUST_CHECK;
void network_close(struct network **n); /* NULL-safe, nulls */

/* "conv", "maxpool", ...; with a number it names a node without tensors. */
const char *node_kind_name(enum node_kind kind);
/* Elements of a node's output for one image of the batch. */
size_t node_out_elems(const struct node *n);
/* Multiply-adds of the forward pass for one image: of one node; of the network without its auxiliary head. */
double node_multiply_adds(const struct node *n);
double network_multiply_adds(const struct network *n);
/* Flops of the GEMMs of a training step for one image: forward, weight gradient, and input gradient unless the input is
 * the image. */
double network_train_flops(const struct network *n);

/* models.M1. weight: bell-shaped, mean 0, the node's initial_variance; bias, beta 0; gamma 1. ticks: compute to tick as
 * a sign of life, every 2^18 weights; may be NULL. */
void network_init(const struct network *n, uint64_t seed, float *param, struct compute *ticks);
/* Running mean 0, variance 1: float[n_state]. */
void network_init_state(const struct network *n, float *state);

#endif
