/* SPDX-License-Identifier: Apache-2.0 */
/* resident.h - the most memory this process held since a reset. The system's own figure never falls (getrusage). */
#ifndef HARNESS_TRAIN_RESIDENT_H
#define HARNESS_TRAIN_RESIDENT_H

#include <stdbool.h>

/* Let the peak begin anew at what is held now. False: this system cannot. */
bool resident_peak_reset(void);
/* Bytes; NaN: not told. Cannot fail otherwise. */
double resident_peak_bytes(void);

#endif
