/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_chart.h - charts of predictions over GPUs: a table of tab-separated values, and its pictures. */
#ifndef HARNESS_CAMPAIGN_PREDICTION_CHART_H
#define HARNESS_CAMPAIGN_PREDICTION_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/used_cluster.h"

struct prediction_chart {               /* borrowed */
    const char *folder, *name;          /* pictures are FOLDER/efficiency-NAME and FOLDER/images-NAME */
    const char *model;                  /* in the heading */
    const char *of_table;               /* what its other points are: "published", "given" */
    bool has_band;                      /* the table has the columns of a band */
    const struct used_cluster *cluster; /* the number of its assumptions is shown below */
};

/* Draw the table at path, in the format of scripts/gnuplot/reproduce.gp. *is_drawn := false without gnuplot. */
enum rc prediction_chart_draw(const struct prediction_chart *c, const char *path, bool *is_drawn) MUST_CHECK;
/* Put both pictures into a page, images/s first; the page names missing ones. */
enum rc prediction_chart_write(FILE *to, const char *folder, const char *name) MUST_CHECK;

#endif
