/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - a line of separated values, cut into its fields; a quoted field may hold separators and doubled quotes. */
#ifndef HARNESS_BASE_CSV_H
#define HARNESS_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>

/* Is nothing in the line but blanks, separators and its end, as spreadsheet programs write an empty row? */
bool csv_is_empty(const char *line, size_t n_bytes);
/* What separates the fields of a file whose first line this is: a comma; in a line without commas a semicolon or a
 * tab, as spreadsheet programs write them. */
char csv_separator(const char *first_line);
/* Cut line, without its line feed, in place: field[max_fields], without the blanks around a field. Returns how many
 * fields there are, max_fields + 1 where there are more; 0: a quote is not closed, or something follows it. Fields are
 * lent as line is. Cannot fail. */
int csv_cut(char *line, char separator, char **field, int max_fields);

#endif
