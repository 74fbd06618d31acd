/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - JSON-lines output: typed records in order, written completely or not at all.
 *
 * Invariants
 *   O1  Keys end in their unit (_ns _s _bytes _per_s _ratio _count); NaN and infinities become null;
 *       text is escaped in full; reals are printed with 17 significant digits.
 *   O2  No file is at `path` until report_commit() (temporary name beside it, fsync, rename).
 *   O3  A record has only the keys that record_keys.c lists for its kind, with values of their types. A record that has
 *       another one is written all the same, as the results of a run would be lost. Then report_commit(),
 *       record_print() or record_write_file() returns RC_BUG. A child record without a kind may have any key.
 */
#ifndef HARNESS_REPORT_RECORD_H
#define HARNESS_REPORT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/opt.h"
#include "harness/base/rc.h"

struct record; /* one JSON object, keys in the order they were set */
struct report; /* one JSON-lines file that is being written */

/* kind: "manifest", "step", "summary", ...; becomes the first key. NULL: no such key, for child records. Lack of memory
 * for it, or for a key, is an error of whatever writes the record: nothing else has to look. NULL is such a record. */
struct record *record_open(const char *kind);
void record_close(struct record **r); /* NULL-safe, nulls */
/* Set a key. A value above INT64_MAX becomes the nearest real, because JSON readers stop at INT64_MAX. */
void record_u64(struct record *r, const char *key, uint64_t value);
void record_i64(struct record *r, const char *key, int64_t value);
void record_f64(struct record *r, const char *key, double value); /* NaN, inf -> null */
void record_bool(struct record *r, const char *key, bool value);
void record_text(struct record *r, const char *key, const char *value); /* NULL -> null */
void record_null(struct record *r, const char *key);
void record_count(struct record *r, const char *key, bool is_known, uint64_t value); /* not known -> null */
void record_u64_array(struct record *r, const char *key, const uint64_t *value, size_t n);
void record_f64_array(struct record *r, const char *key, const double *value, size_t n);
void record_text_array(struct record *r, const char *key, const char *const *value, size_t n);
/* Move `child` (nulled) under key. */
void record_child(struct record *r, const char *key, struct record **child);

/* Of a record that was read back: the number under key; NaN: null, or not there. */
struct json_t;
double record_number(const struct json_t *record, const char *key);

/* Every option of a table with its value in `from`: numbers as numbers; unset options and UINT64_MAX as null. */
void record_options(struct record *r, const struct opt *table, const void *from);
/* The same for the options of a module; keys are "NAME.OPTION", as users type them. from NULL: it has no options. */
void record_module_options(struct record *r, const struct module *module, const void *from);

/* Start a file. path "-": standard output, written at commit; NULL: discard all records.
 * RC_INVAL names path and reason if it cannot be written there (checked now). */
enum rc report_open(struct report **out, const char *path) MUST_CHECK;
/* Begin the next record, of a kind: it is the report's, until report_end() writes it or another one begins. Not NULL:
 * if there is no memory, report_end() says so. */
struct record *report_begin(struct report *rep, const char *kind);
enum rc report_end(struct report *rep) MUST_CHECK; /* RC_NOMEM, RC_IO */
/* Write a record that was made apart. */
enum rc report_write(struct report *rep, const struct record *r) MUST_CHECK;
/* Put the file at its path (report.O2). RC_IO: short write or failed rename, nothing at path. */
enum rc report_commit(struct report *rep) MUST_CHECK;
void report_close(struct report **rep); /* NULL-safe, nulls; discards uncommitted records */

/* Write one record, indented, as a complete JSON file (manifest.json). */
enum rc record_write_file(const struct record *r, const char *path) MUST_CHECK;

/* For JSON files that contain more than records: print one record and a line feed to a stream; make a JSON string with
 * quotes of text (report.O1), which the caller frees. RC_NOMEM, RC_IO. */
enum rc record_print(const struct record *r, FILE *to) MUST_CHECK;
enum rc record_quote(char **out, const char *text) MUST_CHECK;

#endif
