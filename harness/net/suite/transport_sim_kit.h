/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_sim_kit.h - what the tests of the sim transport share.
 *
 * One simulation a process: a test program runs the one test named by its argument. The cluster has
 * links of 1 Gbit/s and 25 us; between ranks of one host 5 GB/s and 1 us.
 */
#ifndef HARNESS_NET_SUITE_TRANSPORT_SIM_KIT_H
#define HARNESS_NET_SUITE_TRANSPORT_SIM_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "harness/net/transport.h"
#include "harness/world/sim/world_sim.h"

extern const struct transport_ops transport_sim;

enum { NOTES_MAX = 1024, SECOND_MS = 1000 };

struct seen { /* what the ranks leave for the test to judge */
    double at_ns[NOTES_MAX];
    enum rc rc[8];
    char message[8][RC_MESSAGE_BYTES];
    int n_failures;
    int n_returned;
};

typedef enum rc sim_test_body(struct transport *t, struct seen *seen);

/* Run body on each rank, with a transport open; the first failure of a rank. */
enum rc run_sim(struct seen *seen, int n_ranks, int n_ranks_per_host, sim_test_body *body) MUST_CHECK;
/* The same with settings of the cluster (cluster_set()); ranks n_workers .. n_ranks-1 are servers. */
enum rc run_sim_on(struct seen *seen, int n_workers, int n_ranks, const char *settings, sim_test_body *body) MUST_CHECK;
/* Leave rc and its message where the test finds them. */
void note(struct transport *t, struct seen *seen, enum rc rc);
double now_ns(struct transport *t);
/* Post and end one message; receive_from() waits for up to 1000 virtual seconds. */
enum rc send_to(struct transport *t, int peer, uint32_t tag, const void *data, size_t n_bytes,
                size_t n_hollow_bytes) MUST_CHECK;
enum rc receive_from(struct transport *t, int peer, uint32_t tag, void *data, size_t n_bytes) MUST_CHECK;

#endif
