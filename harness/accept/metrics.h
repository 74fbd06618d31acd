/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - a running test as OpenMetrics text, for the textfile collector of node_exporter and other scrapers.
 *
 *   -   The text is also valid in Prometheus' own format, with the same types. So there are gauges only: the formats
 *       name a counter in different ways. It has no time stamps: the collector refuses them.
 *   -   Names end in their unit. Labels are node, link, stage and outcome. Their number grows with nodes, not with
 *       pairs.
 *   -   What was not measured has no sample (accept.D1).
 */
#ifndef HARNESS_ACCEPT_METRICS_H
#define HARNESS_ACCEPT_METRICS_H

#include "harness/accept/acceptance.h"

struct soak_part {                    /* the last training of a soak; borrowed */
    double wanted_s;                  /* of the whole soak */
    double step_s;                    /* median step of the slowest worker */
    const double *compute_s, *wait_s; /* [n_ranks]: means over steps: computing; waiting for slower ranks */
};

/* Replaces the file at path, as a whole. part: NULL outside a soak. is_running: the test has not ended, so there is no
 * verdict. RC_INVAL, RC_IO. */
enum rc metrics_write(const struct acceptance *a, const struct soak_part *part, bool is_running,
                      const char *path) MUST_CHECK;

#endif
