/* SPDX-License-Identifier: Apache-2.0 */
/*
 * student.h - distribution of Student's t; the part of interval.c that is not about intervals. The quantile itself is
 * declared in interval.h.
 */
#ifndef HARNESS_MEASURE_STUDENT_H
#define HARNESS_MEASURE_STUDENT_H

/* P(|T| > t) of Student's t with dof > 0 degrees of freedom, t >= 0. Relative error < 1e-10. Cannot fail. */
double student_two_sided(double t, double dof);

#endif
