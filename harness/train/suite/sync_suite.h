/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_suite.h - what every sync mode must do to the parameters: S2 and S3, and the normalisation.
 *
 * Test-only. Trains small models in the threads world, with the mode under test in place of the named one.
 */
#ifndef HARNESS_TRAIN_SUITE_SYNC_SUITE_H
#define HARNESS_TRAIN_SUITE_SYNC_SUITE_H

struct sync_mode;

/* Failures; printed to standard error. quiet: not printed, and no more cases after one that failed (for mutants). mode
 * is run wherever its name says ("allreduce", ...). */
int sync_suite(const struct sync_mode *mode, int quiet);

#endif
