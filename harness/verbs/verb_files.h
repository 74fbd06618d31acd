/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_files.h - a subcommand must not write a file that it also reads, or write one file twice. The option tables say
 * which options are files (enum opt_file), so this holds for every subcommand.
 */
#ifndef HARNESS_VERBS_VERB_FILES_H
#define HARNESS_VERBS_VERB_FILES_H

#include "harness/verbs/verb.h"

/* Call this before the subcommand runs. Compares the files of its options and operands by identity, not by spelling.
 * RC_INVAL names both options and the file. A file that is missing or unreadable is reported elsewhere. */
enum rc verb_check_files(const struct verb_call *call) MUST_CHECK;

#endif
