/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_table.h - the keys of a file that people write (a cluster, the criteria of an acceptance test). Parser, settings
 * on the command line, help and writer of such a file all use one row per key.
 *
 * A member whose C type is not the one that its row claims does not compile. Options of the command line: opt.h.
 *
 * Invariants
 *   K1  The default of a key is text, which the same code parses as a user's.
 *   K2  key_set() accepts the text of key_format(), and the value is the same to the last bit.
 *   K3  An error has the value and the valid values; the caller puts the source of the value before it.
 */
#ifndef HARNESS_BASE_KEY_TABLE_H
#define HARNESS_BASE_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"

enum { KEY_MAX_KEYS = 64, KEY_VALUE_BYTES = 128 }; /* of a table; of a value as text, with its terminator */

enum key_type {
    KEY_TEXT,   /* char[]; with a kind: the name of one of its modules */
    KEY_LIST,   /* char[], elements with commas between: choices, else whole numbers */
    KEY_WHOLE,  /* int */
    KEY_COUNT,  /* double that holds a whole number, with a suffix K M G Ki Mi Gi or none */
    KEY_REAL,   /* double */
    KEY_CHOICE, /* int, the index of one of choices */
};

struct key {
    const char *name; /* ends in its unit */
    enum key_type type;
    size_t offset_bytes, member_bytes;
    double least, most;         /* inclusive; numbers, and those of a list */
    bool is_bits;               /* the member is in bytes, the value in bits */
    bool is_required;           /* in a file */
    const char *choices;        /* "none|rank|host" */
    const char *def;            /* the default, as text; "" with a kind: the kind's */
    const char *unit, *meaning; /* for people; meaning: one line, no full stop */
    const char *only;           /* "protocol=tcp": otherwise the value has no effect; NULL: it always has */
    const struct module_kind *kind;
};

struct key_table {
    const struct key *key; /* [n_keys], at most KEY_MAX_KEYS */
    int n_keys;
    const char *what;   /* name of such a file: "cluster description" */
    const char *wanted; /* likewise: "a file with the description of a cluster (YAML)" */
};

#define KEY_AT_(S, m, T)                                                                                         \
    (offsetof(S, m) + 0 * sizeof(struct {                                                                        \
                          _Static_assert(_Generic(((S *)0)->m, T : 1, default : 0), #S "." #m " is not of " #T); \
                          int unused;                                                                            \
                      }))
#define KEY_MEMBER_(S, m, T) .offset_bytes = KEY_AT_(S, m, T), .member_bytes = sizeof(((S *)0)->m)
#define KEY_LETTERS_(S, m) .offset_bytes = KEY_AT_(S, m[0], char), .member_bytes = sizeof(((S *)0)->m)

/* Index of the key with that name; -1: none. */
int key_find(const struct key_table *t, const char *name);
/* The value as text, to the last digit (base.K2). */
void key_format(const struct key *k, const void *object, char *out, size_t n_bytes);
/* Value of a WHOLE, COUNT, REAL or CHOICE, in the unit of the key. */
double key_number(const struct key *k, const void *object);
/* RC_INVAL (base.K3) "is "TEXT"; use ...": a message to follow place and key; *object is then unchanged. */
enum rc key_set(const struct key *k, void *object, const char *text) MUST_CHECK;
/* "a whole number from 0 to 10" */
void key_range(const struct key *k, char *out, size_t n_bytes);
/* Its default as text, also with a kind. */
const char *key_default(const struct key *k);
/* Sets every member of *object that has a key to its default. RC_INVAL: base.K1 is broken. */
enum rc key_set_defaults(const struct key_table *t, void *object) MUST_CHECK;
/* Has the value an effect, given the other values of *object? */
bool key_matters(const struct key_table *t, const void *object, int key);
/* out := "no such key; the nearest is NAME". */
void key_say_unknown(const struct key_table *t, const char *name, char *out, size_t n_bytes);
/* Maximum bytes of any value of the table, with its terminator. */
size_t key_value_bytes(const struct key_table *t);

/* Called for each key that was set. */
typedef void key_changed_fn(void *arg, int key);
/*
 * Changes values: "key=value,key=value", as in an option; "": none. An element without "=" after the value of a LIST
 * belongs to that list. A key is set once.
 *
 *   object   changed up to the first error: the caller lends a copy
 *   option   what messages begin with: "--cluster-set"
 *   changed  NULL: not called
 *
 * RC_INVAL names the option and the setting.
 */
enum rc key_change(const struct key_table *t, void *object, const char *option, const char *settings,
                   key_changed_fn *changed, void *arg) MUST_CHECK;
/* RC_INVAL for a setting, or a key, of an option: puts "OPTION SETTING: " before this thread's message. */
enum rc key_refuse_setting(const char *option, const char *setting) MUST_CHECK;

/* Lines of a file that key_yaml.h reads: values in a form that YAML does not take for syntax, and
 * comments. */

/* Writes each line of text as a separate comment; NULL: none. */
void key_write_head(FILE *to, const char *text);
/* Writes "key: value # comment", wrapped: the rest continues in separate indented lines. */
void key_write_value(FILE *to, const struct key *k, const void *object, const char *comment);
/* Writes text as a comment that begins in the first column, wrapped likewise. */
void key_write_text(FILE *to, const char *text);

#endif
