/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published_rows.h - a file of published efficiencies, which gradmark reproduce predicts.
 *
 * CSV: lines that begin with "#" are comments; then a head, which names the columns in any order, and rows. Columns:
 *
 *   model, gpus, mode               required. gpus: workers, at least 1. mode: a mode of gradmark train, or an
 *                                   allreduce algorithm (ring, allreduce-ring), or ps-sync (also ps), ps-async
 *   efficiency                      a ratio, 1: no loss. Or one of:
 *   images_per_s, images_per_s_per_gpu   of all GPUs, or of each. Efficiency is this over gpus times the rate of one
 *                                   GPU: one_gpu_images_per_s, or the row of 1 GPU with the same model, cluster, table,
 *                                   precision and batch (best of the same mode, or of none; then of equal terms).
 *                                   Without such a row: over gpus times the images/s of each GPU of the smallest row
 *                                   with equal terms; whoever knows the cluster checks that it is of one host
 *   servers                         for a row of ps: their number, required there; elsewhere empty or 0
 *   placement, consistency          for a row of ps, as in gradmark train; empty: --placement, --consistency
 *   gradients                       fp32 (also empty), fp16, bf16: how they are sent
 *   precision                       of computing: fp32, tf32, bf16, fp16, fp8; empty: not given
 *   gpus_per_host                   empty: as the cluster says
 *   transport                       rdma, tcp, grpc, bare; empty: for ps that of --ps-transport, else the cluster's
 *   cluster                         a preset or file; empty: --cluster
 *   system                          a system (published_systems.h), as its mode allows; empty: --system, if that is
 *                                   of its exchange
 *   one_gpu_images_per_s, batch     of one GPU, as published with the row; empty: the profile's
 *   counted                         yes (also empty) or no: shown, but not part of any mean
 *   table, source, note             for readers; table is shown
 *
 * Every error is RC_INVAL "FILE:LINE: column: ...", with the value and the expected form.
 */
#ifndef HARNESS_CAMPAIGN_PUBLISHED_ROWS_H
#define HARNESS_CAMPAIGN_PUBLISHED_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/campaign/published_systems.h"

enum row_mode { ROW_COLLECTIVE, ROW_PS, ROW_PS_ASYNC, ROW_NONE };

enum {
    ROW_MODEL_BYTES = 32,
    ROW_CLUSTER_BYTES = 256,
    ROW_TEXT_BYTES = 128,
    ROW_REDUCER_BYTES = 32,
    ROW_WORD_BYTES = 32,
    ROW_MAX_GPUS = 8192,
    ROWS_MAX = 10000
};

struct published_row {
    int line;
    char model[ROW_MODEL_BYTES];
    enum row_mode mode;
    char reducer[ROW_REDUCER_BYTES]; /* of a collective mode: its algorithm; "": the default */
    int n_gpus, n_servers;           /* servers 0: the mode has none */
    int n_gpus_per_host;             /* 0: not given */
    char placement[ROW_WORD_BYTES], consistency[ROW_WORD_BYTES]; /* "": not given */
    char transport[8];                                           /* "": not given */
    char gradients[8];                                           /* "fp16"; "": fp32 */
    char precision[8];                                           /* of computing; "": not given */
    char cluster[ROW_CLUSTER_BYTES];                             /* "": not given */
    const struct published_system *system;                       /* NULL: not given */
    double efficiency_ratio;                                     /* given, or from images_per_s */
    double images_per_s;                                         /* of all GPUs; NaN: not given */
    double one_gpu_images_per_s;                                 /* given, or from a row of 1 GPU; NaN: neither */
    const struct published_row *baseline; /* its efficiency is relative to that row, maybe itself; NULL: to 1 GPU */
    int batch;                            /* 0: not given */
    bool is_counted;
    char table[ROW_TEXT_BYTES]; /* "": not given */
};

struct published_rows { /* owned */
    char *path;
    struct published_row *row; /* in the order of the file */
    size_t n_rows;
    char ignored[ROW_CLUSTER_BYTES]; /* "a, b": columns that were not read; "": none */
};

/* ignores: columns with other names are no error, and published_rows.ignored has their names. */
enum rc published_rows_load(struct published_rows *out, const char *path, bool ignores) MUST_CHECK;
void published_rows_free(struct published_rows *p); /* accepts a zeroed one */
/* Images/s of each GPU of the baseline; NaN: unknown. */
double published_row_baseline_rate(const struct published_row *row);
/* "allreduce", as --mode is spelled. */
const char *row_mode_name(enum row_mode mode);
bool row_mode_has_servers(enum row_mode mode);
/* Is the text fit for a file name: letters, digits, '.', '_' and '-', with a letter or digit first? */
bool row_model_is_named(const char *text);
/* Is there a collective algorithm of this name that runs in virtual time? */
bool row_reducer_is_simulated(const char *name);

#endif
