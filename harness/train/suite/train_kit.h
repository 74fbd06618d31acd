/* SPDX-License-Identifier: Apache-2.0 */
/* train_kit.h - run a training from a command line, inside a test. Test-only. */
#ifndef HARNESS_TRAIN_SUITE_TRAIN_KIT_H
#define HARNESS_TRAIN_SUITE_TRAIN_KIT_H

#include "harness/train/train.h"

/* Prepare a job from options in one string, separated by single spaces, as for `gradmark train`. */
enum rc kit_prepare(struct train_job *out, const char *options) MUST_CHECK;
/* The same where a launcher started n_given_ranks; 0: none. */
enum rc kit_prepare_launched(struct train_job *out, const char *options, int n_given_ranks) MUST_CHECK;
/* Asserts that preparing is refused (RC_INVAL) with one line that says that. */
void kit_expect_refused(const char *options, const char *says);
/* The same of each of n rows, whose options follow `first`. */
struct kit_refusal {
    const char *options, *says;
};
void kit_expect_each_refused(const char *first, const struct kit_refusal *row, size_t n);
/* Run the job in its world, as it is prepared. Caller frees with train_result_free(). */
enum rc kit_run(const struct train_job *job, struct train_result *out) MUST_CHECK;
/* Prepare and run in its world. Caller frees with train_result_free().
 *   mode       NULL: the job's own; else takes its place: a mutant
 *   lr_factor  0: the job's own; else the rate rises to lr times this over the warm-up, whatever the workers */
enum rc kit_train(struct train_result *out, const char *options, const struct sync_mode *mode,
                  double lr_factor) MUST_CHECK;
/* The same on another compute (NULL: the job's own). */
enum rc kit_train_on(struct train_result *out, const char *options, const struct sync_mode *mode, double lr_factor,
                     const struct compute_backend *compute) MUST_CHECK;
/* The same of options with --stages S, in world threads or sim; *out is the result of all stages. */
enum rc kit_train_stages(struct train_result *out, const char *options,
                         const struct compute_backend *compute) MUST_CHECK;
/* The same with a checkpoint at path after every `every` steps. rank_0: that world, before it trains; NULL: not wanted.
 */
enum rc kit_train_saving(struct train_result *out, const char *options, const char *path, int every,
                         struct world **rank_0) MUST_CHECK;
/* As kit_train(); the test fails where the training does, with its message. */
void kit_must_train(struct train_result *out, const char *options);
/* The test fails unless a run of n_steps ends with the bits of one that is saved to path after n_first and resumed.
 * options: without --steps. path: of a file that is overwritten, and stays. */
void kit_goes_on_alike(const char *options, int n_first, int n_steps, const char *path);
/* Have both optimisers kept the same, to the bit: kind, arrays, count of updates? */
bool kit_same_kept(const struct checkpoint *a, const struct checkpoint *b);
/* Makes an empty file by a template of mkstemp, as one that is there before a run. */
void kit_make_file(char *path);
/* text[n_bytes] := what is in the file now, which is removed. */
void kit_take_file(const char *path, char *text, size_t n_bytes);
/* |a - b| / |b| of the final parameters, Euclidean. */
double kit_distance(const struct train_result *a, const struct train_result *b);

#endif
