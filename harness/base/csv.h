/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - a line of comma-separated values, cut into its fields; a quoted field may hold commas and doubled quotes. */
#ifndef HARNESS_BASE_CSV_H
#define HARNESS_BASE_CSV_H

/* Cut line, without its line feed, in place: field[max_fields]. Returns how many fields there are, max_fields + 1 where
 * there are more; 0: a quote is not closed, or something follows it. Fields are lent as line is. Cannot fail. */
int csv_cut(char *line, char **field, int max_fields);

#endif
