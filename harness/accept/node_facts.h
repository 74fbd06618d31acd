/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_facts.h - facts that a node reports before any measurement: versions, cores, memory, links, its date. A plain
 * value that is sent to rank 0.
 */
#ifndef HARNESS_ACCEPT_NODE_FACTS_H
#define HARNESS_ACCEPT_NODE_FACTS_H

#include <stdbool.h>

struct world;

enum node_text { /* compared as strings */
                 TEXT_BUILD,
                 TEXT_MPI,
                 TEXT_ZMQ,
                 TEXT_HWLOC,
                 TEXT_KERNEL,
                 TEXT_CPU,
                 TEXT_GPUS,
                 TEXT_GPU_DRIVER,
                 TEXT_LINK_STATE, /* of the interface in use: "up" */
                 TEXT_INFINIBAND, /* every port: "mlx5_0/1 4: ACTIVE, 100 Gb/sec (4X EDR)" */
                 N_TEXTS
};

enum node_number {
    NUMBER_RANKS,
    NUMBER_CORES,
    NUMBER_MEMORY_BYTES,
    NUMBER_FREE_BYTES,
    NUMBER_LINK_BITS_PER_S, /* of the interface in use; with MPI of the fastest active port, if that is faster */
    NUMBER_CLOCK_S,         /* the date by the node's clock when the clock of the world (of all ranks) is 0 */
    N_NUMBERS
};

enum { NODE_TEXT_BYTES = 160, NODE_HAS_BYTES = NODE_TEXT_BYTES + 64 /* with additional words */ };

struct node_facts {
    char text[N_TEXTS][NODE_TEXT_BYTES]; /* "": none, or not known */
    double number[N_NUMBERS];            /* NaN: none, or not known */
};

/* Set all facts to "not known". */
void node_facts_init(struct node_facts *out);
/* Read the facts of this machine, except ranks, GPUs and the clock. root: "", or a folder with copies of /proc and
 * /sys. Cannot fail. */
void node_facts_read(struct node_facts *out, const char *root);
/* Read link state and speed of the network interface `name`. Interfaces without hardware (loopback, bridges, veth) are
 * skipped: their speed means nothing. */
void node_facts_read_link(struct node_facts *out, const char *root, const char *name);
/* The same for the interface by which other hosts reach this one (host_address.h); nothing if there is no interface. */
void node_facts_read_own_link(struct node_facts *out, const char *interface);
/* Use the speed of the fastest active port of InfiniBand or RoCE, if it is faster than the known one: MPI uses that
 * port for its messages. Cannot fail. */
void node_facts_read_fastest_port(struct node_facts *out, const char *root);
/* Read the difference between the clocks of this node and of the world, from the closest of several readings. */
void node_facts_read_clock(struct node_facts *out, struct world *w);

#endif
