/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - a line of separated values, cut into its fields; a quoted field may hold separators and doubled quotes. */
#ifndef HARNESS_BASE_CSV_H
#define HARNESS_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>

/* Has the line only blanks, separators and its end, like an empty row from a spreadsheet program? */
bool csv_is_empty(const char *line, size_t n_bytes);
/* The separator of a file with this first line: a comma; in a line without commas a semicolon or a tab, as spreadsheet
 * programs write them. */
char csv_separator(const char *first_line);
/* Cuts line, without its line feed, in place: field[max_fields], without the blanks around a field. Returns the number
 * of fields; max_fields + 1 if there are more; 0 if a quote is not closed, or text follows it. Fields are lent like
 * line. Cannot fail. */
int csv_cut(char *line, char separator, char **field, int max_fields);

#endif
