/* SPDX-License-Identifier: Apache-2.0 */
/* lab_slides.h - the pictures of several labs in one folder, for slides. */
#ifndef HARNESS_VERBS_LAB_SLIDES_H
#define HARNESS_VERBS_LAB_SLIDES_H

#include "harness/base/rc.h"

/* Copy every PNG and GIF of RESULTS/NAME, for each name[n_names], to RESULTS/slides/NUMBER-NAME-PICTURE. The first
 * name has the number 1. The folder slides must be new or empty. *n_slides := number of copies. RC_INVAL, RC_IO,
 * RC_NOMEM; nothing new is then at RESULTS/slides. */
enum rc lab_slides_write(const char *results, const char *const *name, int n_names, int *n_slides) MUST_CHECK;

#endif
