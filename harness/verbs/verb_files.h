/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_files.h - no file that a verb writes is one that it reads, or another one that it writes. The tables of options
 * say which are files (enum opt_file), so this holds for every verb.
 */
#ifndef HARNESS_VERBS_VERB_FILES_H
#define HARNESS_VERBS_VERB_FILES_H

#include "harness/verbs/verb.h"

/* Before the verb runs: compare the files of its options and operands, by what they are, not as they are spelt.
 * RC_INVAL names both options and the file. What does not exist, or cannot be read, is an error elsewhere. */
enum rc verb_check_files(const struct verb_call *call) MUST_CHECK;

#endif
