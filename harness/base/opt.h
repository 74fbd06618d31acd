/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt.h - one table per option struct: parser, --help and the manifest of a run all use
 * it. A member whose C type is not the one the entry claims does not compile.
 *
 * A verb takes several groups (its own options, the world's, ...). `--name value`,
 * `--name=value`; a switch is `--name` or `--no-name`. No default silently replaces a value: an unknown name, a bad
 * value, a repeated option or a broken rule is RC_INVAL, whose message names the option, the value and the valid
 * values.
 */
#ifndef HARNESS_BASE_OPT_H
#define HARNESS_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"

enum opt_type {
    OPT_END,
    OPT_U64,    /* uint64_t; suffixes K M G Ki Mi Gi */
    OPT_F64,    /* double; finite */
    OPT_BOOL,   /* bool */
    OPT_TEXT,   /* const char *, borrowed from argv; "" when not given */
    OPT_CHOICE, /* const char *, one of choices */
    OPT_LIST,   /* const char *, comma list, each one of choices (NULL: whole numbers in min..max) */
    OPT_JOINED, /* struct opt_joined; may be given several times */
};

/* The use of the path, or the paths, that a TEXT names. Before a verb runs, what it writes is compared with all that it
 * reads and writes (harness/verbs/verb.c). */
enum opt_file {
    OPT_NO_FILE,     /* it names no file */
    OPT_READ,        /* a file or folder that is read */
    OPT_WRITTEN,     /* a file that is written; replaces an existing one */
    OPT_CHART,       /* NAME.png or NAME.svg: NAME.png, NAME.svg and NAME.tsv are written */
    OPT_MADE_FOLDER, /* a folder that is new, or empty */
    OPT_FOLDER,      /* a folder to which files with separate names are added */
};

struct opt_joined {
    char text[1024]; /* the values of all uses, with commas between; "" if not given */
};

struct opt {
    const char *name; /* "batch": --batch=64 */
    enum opt_type type;
    size_t offset_bytes;            /* offsetof in the option struct */
    const char *def;                /* text, parsed like the user's, so it is tested; "": the kind's default, else none:
                                       the number is then opt_u64_unset() or NaN (F64) */
    double min, max;                /* inclusive; numbers only */
    const char *unit;               /* "bytes", "ms", "samples", ""; "port": no suffix */
    const char *choices;            /* "none|single|ps": CHOICE, LIST */
    const char *help;               /* sentences, without the last full stop; --help shows only the first one */
    const struct module_kind *kind; /* CHOICE, LIST: the names of its modules, after those of choices */
    enum opt_file file;             /* TEXT */
};

#define OPT_AT_(S, m, T)                                                                                        \
    (offsetof(S, m) + 0 * sizeof(struct {                                                                       \
                          _Static_assert(_Generic(((S *)0)->m, T : 1, default : 0), #S "." #m " is not a " #T); \
                          int unused;                                                                           \
                      }))
#define OPT_U64_(S, m, nm, def_, lo, hi, unit_, help_)                                                                \
    {                                                                                                                 \
        nm, OPT_U64, OPT_AT_(S, m, uint64_t), def_, (double)(lo), (double)(hi), unit_, NULL, help_, NULL, OPT_NO_FILE \
    }
#define OPT_F64_(S, m, nm, def_, lo, hi, unit_, help_)                                          \
    {                                                                                           \
        nm, OPT_F64, OPT_AT_(S, m, double), def_, lo, hi, unit_, NULL, help_, NULL, OPT_NO_FILE \
    }
#define OPT_BOOL_(S, m, nm, def_, help_)                                                  \
    {                                                                                     \
        nm, OPT_BOOL, OPT_AT_(S, m, bool), def_, 0, 0, "", NULL, help_, NULL, OPT_NO_FILE \
    }
#define OPT_TEXT_(S, m, nm, def_, what_, help_)                                                      \
    {                                                                                                \
        nm, OPT_TEXT, OPT_AT_(S, m, const char *), def_, 0, 0, what_, NULL, help_, NULL, OPT_NO_FILE \
    }
/* A TEXT that names a file or folder, or several. */
#define OPT_FILE_(S, m, nm, file_, def_, what_, help_)                                         \
    {                                                                                          \
        nm, OPT_TEXT, OPT_AT_(S, m, const char *), def_, 0, 0, what_, NULL, help_, NULL, file_ \
    }
#define OPT_JOINED_(S, m, nm, what_, help_)                                                               \
    {                                                                                                     \
        nm, OPT_JOINED, OPT_AT_(S, m, struct opt_joined), "", 0, 0, what_, NULL, help_, NULL, OPT_NO_FILE \
    }
#define OPT_CHOICE_(S, m, nm, def_, choices_, help_)                                                    \
    {                                                                                                   \
        nm, OPT_CHOICE, OPT_AT_(S, m, const char *), def_, 0, 0, "", choices_, help_, NULL, OPT_NO_FILE \
    }
#define OPT_LIST_(S, m, nm, def_, choices_, lo, hi, help_)                                              \
    {                                                                                                   \
        nm, OPT_LIST, OPT_AT_(S, m, const char *), def_, lo, hi, "", choices_, help_, NULL, OPT_NO_FILE \
    }
/* One module of a kind; one, or "auto", the default; several modules. */
#define OPT_MODULE_(S, m, nm, kind_, help_)                                                           \
    {                                                                                                 \
        nm, OPT_CHOICE, OPT_AT_(S, m, const char *), "", 0, 0, "", NULL, help_, &(kind_), OPT_NO_FILE \
    }
#define OPT_AUTO_MODULE_(S, m, nm, kind_, help_)                                                            \
    {                                                                                                       \
        nm, OPT_CHOICE, OPT_AT_(S, m, const char *), "auto", 0, 0, "", "auto", help_, &(kind_), OPT_NO_FILE \
    }
#define OPT_MODULES_(S, m, nm, kind_, help_)                                                        \
    {                                                                                               \
        nm, OPT_LIST, OPT_AT_(S, m, const char *), "", 0, 0, "", NULL, help_, &(kind_), OPT_NO_FILE \
    }
#define OPT_END_                                                          \
    {                                                                     \
        NULL, OPT_END, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, OPT_NO_FILE \
    }

/* A heading inside a table, for --help-all. */
struct opt_topic {
    const char *title; /* NULL: the last one */
    const char *first; /* the option of the table that it precedes */
};

/* "option `name`, if given by the user, needs `other` to be `value`" (for a LIST: to contain it). value NULL: needs
 * `other`, which chooses a module, to be one that has all of caps. */
struct opt_rule {
    const char *name, *other, *value;
    unsigned caps;
};

enum { OPT_MOST = 192 }; /* of a group */

struct opt_group {
    const char *title;       /* heading in --help */
    const struct opt *table; /* OPT_END_ last; at most OPT_MOST */
    void *into;
    uint64_t given[OPT_MOST / 64]; /* bit i, from the first word on: table[i] was given by the user */
    const struct module *module;   /* --NAME.OPTION of this module; NULL: of no module */
};

/* Was table[i] given by the user? */
static inline bool opt_is_given(const struct opt_group *g, int i)
{
    return g->given[i / 64] >> i % 64 & 1;
}

static inline void opt_set_given(struct opt_group *g, int i, bool is_given)
{
    const uint64_t bit = UINT64_C(1) << i % 64;

    g->given[i / 64] = is_given ? g->given[i / 64] | bit : g->given[i / 64] & ~bit;
}

/* The first option that was given; -1: none. */
int opt_first_given(const struct opt_group *g);
/* Fills every group with its defaults, then with argv[0..argc). rule: name NULL last; NULL: none. */
enum rc opt_parse(struct opt_group *group, int n_groups, const struct opt_rule *rule, int argc,
                  char *const argv[]) MUST_CHECK;
/* The value of a U64 that has no default and was not given: outside its range, so that rank 0 can be given. */
static inline uint64_t opt_u64_unset(const struct opt *o)
{
    return o->min > 0 ? 0 : UINT64_MAX;
}
/* Did the user give it? name: of an option of no module. Asserts that it exists. */
bool opt_given(const struct opt_group *group, int n_groups, const char *name);
/* Gives the option with this name ("batch", "ring.segment-bytes") a value instead of its default, as a file does.
 * value: lent like the member. RC_INVAL: no such option, a bad value, or the user gave the option. */
enum rc opt_set(struct opt_group *group, int n_groups, const char *name, const char *value) MUST_CHECK;
/* Name i of the choices of o; NULL after the last. out[n_bytes] may hold it. */
const char *opt_choice(const struct opt *o, int i, char *out, size_t n_bytes);
/* The choices of o as "none|single|ps", at most n_bytes with the terminator; "": no choices. */
void opt_choices(const struct opt *o, char *out, size_t n_bytes);
/* The text of its default. */
const char *opt_default(const struct opt *o);
/* The value of a TEXT, CHOICE, LIST or JOINED, of any length, lent like its member; NULL: o is of another type. */
const char *opt_text(const struct opt *o, const void *from);
/* The resolved value as text that opt_parse would accept, cut to out[n_bytes]. */
void opt_format(const struct opt *o, const void *from, char *out, size_t n_bytes);

/* An option as --help, a page or a shell shows it. */

enum opt_detail {
    OPT_BRIEF, /* the first sentence of its help, choices, unit and default */
    OPT_WHOLE, /* all of its help */
};

enum {
    OPT_TEXT_COLUMN = 20, /* where texts begin; longer names have a separate line */
    OPT_TEXT_BYTES = 2048,
};

/* "--ring.segment-bytes". module: its module, or NULL. */
void opt_help_name(char *out, size_t n_bytes, const struct module *module, const struct opt *o);
/* The name of its value: "N", "FILE", or "off|on|auto" if that is short enough to precede the text, else "NAME". "" for
 * a switch. */
void opt_help_value(char *out, size_t n_bytes, const struct module *module, const struct opt *o);
/* Its text on one line. not_with: what it cannot be used with, which ends the whole text; "": nothing. */
void opt_help_text(char *out, size_t n_bytes, const struct module *module, const struct opt *o, enum opt_detail detail,
                   const char *not_with);
/* Name, value and text, in lines of at most n_columns. */
void opt_help_print(FILE *to, const struct module *module, const struct opt *o, enum opt_detail detail,
                    const char *not_with, int n_columns);

#endif
