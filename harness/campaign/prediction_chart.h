/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_chart.h - charts of predictions against GPUs: a table of tab-separated values, and the pictures of it. */
#ifndef HARNESS_CAMPAIGN_PREDICTION_CHART_H
#define HARNESS_CAMPAIGN_PREDICTION_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/used_cluster.h"

struct prediction_chart {               /* borrowed */
    const char *folder, *name;          /* pictures are FOLDER/efficiency-NAME and FOLDER/images-NAME */
    const char *model;                  /* in the heading */
    bool has_band;                      /* the table has its columns */
    const struct used_cluster *cluster; /* whose number of assumptions is told below it */
};

/* The table at path is as scripts/gnuplot/reproduce.gp says. *is_drawn := false where there is no gnuplot. */
enum rc prediction_chart_draw(const struct prediction_chart *c, const char *path, bool *is_drawn) MUST_CHECK;
/* Both pictures into a page, images/s first; what is not there is told. */
enum rc prediction_chart_write(FILE *to, const char *folder, const char *name) MUST_CHECK;

#endif
