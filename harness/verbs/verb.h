/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb.h - a verb of the command line (gradmark VERB): tables of its options, rules between them, and its function.
 *
 * main parses the options of a verb, and prints its error; help.h prints its help; the function of the verb does the
 * rest.
 */
#ifndef HARNESS_VERBS_VERB_H
#define HARNESS_VERBS_VERB_H

#include "harness/base/opt.h"
#include "harness/base/rc.h"

struct verb;

enum verb_stage {
    STAGE_INPUT, /* checking the user's input: an error is exit code 2 */
    STAGE_RUN,   /* input accepted, work begun: an error is exit code 1 */
};

enum { VERB_MAX_GROUPS = 8 + MAX_MODULE_GROUPS, VERB_MAX_OPERANDS = 2 };

struct verb_call { /* one use of a verb, its options parsed */
    const struct verb *verb;
    void *opts; /* the verb's option struct */
    struct opt_group group[VERB_MAX_GROUPS];
    int n_groups;
    const char *operand[VERB_MAX_OPERANDS]; /* borrowed from argv; NULL: not given */
    char *const *command;                   /* what stands behind --, of a verb that takes that; likewise */
    enum verb_stage stage;                  /* STAGE_INPUT when run begins; run sets it */
    bool every_rank_tells;                  /* an error of STAGE_INPUT may be of one rank alone; else rank 0 tells it */
    int exit_code;                          /* of the program, where run returns RC_OK; 0 when run begins */
    int failure_exit_code;                  /* the same where it does not; 0, as when run begins: the stage's */
};

enum {
    VERB_STOPPED = 128
}; /* exit code of a verb that a signal stopped, and that has kept its results: + its number */

struct verb_group {
    const char *title; /* heading in --help-all, where there are no topics */
    const struct opt *table;
    size_t offset_bytes;           /* of what the table fills, in the verb's option struct */
    const struct opt_topic *topic; /* headings inside the table; NULL: none */
};

struct verb_example {
    const char *command, *what; /* the words behind "gradmark ", and in one sentence what they do */
};

struct verb_basics { /* options that people type: those --help shows */
    const char *title;
    const char *options; /* their names, a blank between two */
};

struct verb_short { /* another spelling of an option, as other programs have it */
    const char *given, *option;
};

struct verb_hint { /* an option that the verb does not have, and what does what its user wants */
    const char *option, *instead;
};

struct verb {
    const char *name, *summary;      /* summary: one line, no full stop */
    const char *operands;            /* words it needs beside options: a name for each, "A B"; "[A]": may be left out;
                                        NULL: none */
    const char *command;             /* likewise, what stands behind --, NULL-terminated by its caller; NULL: nothing */
    const struct verb_short *shorts; /* given NULL last; NULL: none */
    const char *usage;               /* lines of what stands behind "gradmark NAME"; a line that begins with "gradmark "
                                        or "mpirun " stands as it is; NULL: "[--option value ...]" */
    const char *introduction;        /* paragraphs before the options in --help, "\n\n" between two; NULL: none */
    const struct verb_example *example; /* command NULL last; NULL: none */
    const struct verb_basics *basics;   /* title NULL last; NULL: --help shows every option */
    const char *page;                   /* in docs/, to read on: "compare" */
    size_t opts_bytes;                  /* of its option struct; 0: it has no options */
    const struct verb_group *group;     /* table NULL last */
    /* The kinds whose modules' options it takes, NULL-terminated, and where their values go (a union module_values);
     * NULL: none. */
    const struct module_kind *const *kinds;
    size_t modules_offset_bytes;
    const struct opt_rule *rule;
    int n_rules;
    const struct verb_hint *hint; /* option NULL last; NULL: none */
    /* Optional (may be NULL): what rules cannot say. Looks at options alone; opens nothing. RC_INVAL. */
    enum rc (*check)(const struct verb_call *call);
    enum rc (*run)(struct verb_call *call);
};

extern const struct verb verb_compare, verb_train, verb_profile, verb_pack, verb_info, verb_report, verb_diff,
    verb_reproduce, verb_simulate, verb_calibrate, verb_predict, verb_lab, verb_accept, verb_comm, verb_keys,
    verb_launch, verb_serve;

/* Parse argv[0..argc), what follows the verb, and check it. RC_INVAL names option, value and remedy; RC_NOMEM. The
 * owner closes call, also after an error. Options borrow from argv. */
enum rc verb_call_open(struct verb_call *call, const struct verb *v, int argc, char *const argv[]) MUST_CHECK;
void verb_call_close(struct verb_call *call); /* accepts a zeroed one */
/* Call its function. RC_INVAL: an operand is missing. */
enum rc verb_run(const struct verb *v, struct verb_call *call) MUST_CHECK;
/* Did the user give this option, which is of no module? Asserts that it exists. */
bool verb_given(const struct verb_call *call, const char *option);
/* Is --help, -h or --help-all one of words[0..], before "--" and the NULL behind the last? */
bool verb_help_is_wanted(char *const words[]);

#endif
