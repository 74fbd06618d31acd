/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_keys.h - which keys records have: one list, which writers, readers, the JSON Schema and docs/records.md share.
 *
 * record.c checks each key that is set against it (report.O3). scripts/lint/record_keys finds keys in the code of
 * writers and readers that the list does not have.
 */
#ifndef HARNESS_REPORT_RECORD_KEYS_H
#define HARNESS_REPORT_RECORD_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"

enum record_type { /* of a value; bits */
                   RECORD_WHOLE = 1,
                   RECORD_REAL = 2,
                   RECORD_BOOL = 4,
                   RECORD_TEXT = 8,
                   RECORD_OBJECT = 16,
                   RECORD_WHOLES = 32, /* an array, as the next ones */
                   RECORD_REALS = 64,
                   RECORD_TEXTS = 128
};

struct record_key {
    const char *name;
    unsigned types;      /* any of these; every value may be null, too: not known */
    const char *meaning; /* one line, no full stop */
};

enum record_others { /* what a kind has besides the keys of its list */
                     RECORD_NO_OTHERS,
                     RECORD_OPTIONS,          /* names of options */
                     RECORD_OPTIONS_OF_SIDES, /* "a_" or "b_", then the name of an option */
                     RECORD_CLUSTER_KEYS      /* names of a cluster description; rates in bytes, too */
};

struct record_kind {
    const char *name, *meaning;
    const char *keys; /* a blank after each */
    enum record_others others;
};

extern const struct record_key record_keys[];   /* sorted by name; name NULL last */
extern const struct record_kind record_kinds[]; /* name NULL last */
extern const char record_keys_of_campaigns[];   /* every kind may have them, in the file of a campaign */
extern const char record_keys_of_objects[];     /* of objects within records */

/* NULL: it is not in the list. */
const struct record_key *record_key_find(const char *name);
const struct record_kind *record_kind_find(const char *name);
/* The unit that the end of a key says: "s", "bytes/s", "of 1"; "": it says none. */
const char *record_key_unit(const char *name);
/* May a record of this kind have this key, with a value of this type (0: null)? */
bool record_kind_allows(const struct record_kind *kind, const char *key, unsigned type);

/* A JSON Schema (draft 2020-12) of every record. */
void record_print_schema(FILE *to);
/* docs/records.md */
void record_print_page(FILE *to);

#endif
