/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb.h - a subcommand (gradmark VERB): tables of its options, rules between them, and its function.
 *
 * main parses the options of a subcommand and prints its error; help.h prints its help; the function does the rest.
 */
#ifndef HARNESS_VERBS_VERB_H
#define HARNESS_VERBS_VERB_H

#include "harness/base/opt.h"
#include "harness/base/rc.h"
#include "harness/base/rule.h"

struct verb;

enum verb_stage {
    STAGE_INPUT, /* checking the user's input: an error is exit code 2 */
    STAGE_RUN,   /* input accepted, work begun: an error is exit code 1 */
};

enum { VERB_MAX_GROUPS = 10 + MAX_MODULE_GROUPS, VERB_MAX_OPERANDS = 2 };

struct verb_output {    /* how a subcommand prints */
    bool json;          /* records alone go to standard output: they are written with file.h or report_open("-") */
    bool quiet;         /* what is printed to stderr is dropped, but not the error that ends the subcommand */
    const char *format; /* of its tables: a choice of verb.format; NULL: it has none */
};

struct verb_call { /* one use of a subcommand, its options parsed */
    const struct verb *verb;
    void *opts; /* the subcommand's option struct */
    struct verb_output output;
    struct opt_group group[VERB_MAX_GROUPS];
    int n_groups;
    const char *operand[VERB_MAX_OPERANDS]; /* borrowed from argv; NULL: not given */
    char *const *command;                   /* the words after --, if the subcommand takes them; borrowed likewise */
    enum verb_stage stage;                  /* STAGE_INPUT when run begins; run sets it */
    bool every_rank_tells;                  /* any rank may report an error of STAGE_INPUT; else only rank 0 does */
    int exit_code;                          /* of the program if run returns RC_OK; 0 when run begins */
    int failure_exit_code;                  /* of the program if run fails; 0, as when run begins: that of the stage, or
                                               VERB_STOPPED + the signal that stopped it */
};

enum { VERB_STOPPED = 128 }; /* exit code of a subcommand that a signal stopped: this + the signal's number */

struct verb_group {
    const char *title; /* heading in --help-all, where there are no topics */
    const struct opt *table;
    size_t offset_bytes;           /* of the values that the table sets, in the option struct */
    const struct opt_topic *topic; /* headings inside the table; NULL: none */
};

struct verb_example {
    const char *command, *what; /* the words after "gradmark ", and one sentence that explains them */
};

struct verb_basics { /* common options: those in --help */
    const char *title;
    const char *options; /* their names, separated by blanks */
};

struct verb_short { /* another spelling of an option, as in other programs */
    const char *given, *option;
};

struct verb_hint { /* an option, an option with a value ("mode async"), or with any value ("model *"), that it
                       does not have; its replacement */
    const char *option, *instead;
};

struct verb {
    const char *name, *summary;         /* summary: one line, no full stop */
    const char *operands;               /* required words besides options: a name for each, "A B"; "[A]": optional;
                                        NULL: none */
    const char *(*operand_name)(int i); /* Optional (NULL): name i that the first operand may be; NULL after the last */
    const char *command;                /* the same for words after --, NULL-terminated by its caller; NULL: none */
    const struct verb_short *shorts;    /* given NULL last; NULL: none */
    const char *usage;        /* lines following "gradmark NAME"; lines that begin with "gradmark " or "mpirun "
                                        are printed unchanged; NULL: "[--option value ...]" */
    const char *introduction; /* paragraphs before the options in --help, separated by "\n\n"; NULL: none */
    const struct verb_example *example; /* command NULL last; NULL: none */
    const struct verb_basics *basics;   /* title NULL last; NULL: --help shows every option */
    const char *page;                   /* a page in docs/ with more text: "compare" */
    bool is_one_process;                /* no launcher shares its work: refused as one of several ranks */
    bool has_records;                   /* it takes verb_output_table */
    const struct opt *format;           /* its --format, for verb_output.format: verb_format_table, or one with more
                                           choices; NULL: it prints no table, or has a --format of its own */
    size_t opts_bytes;                  /* size of its option struct; 0: it has no options */
    const struct verb_group *group;     /* table NULL last */
    /* The module kinds whose options it takes, NULL-terminated, and the offset of their values (a union module_values);
     * NULL: none. */
    const struct module_kind *const *kinds;
    size_t modules_offset_bytes;
    const struct opt_rule *rule;  /* name NULL last; NULL: none */
    const struct rules *not_with; /* which of its options do not go together, besides those of train; NULL: none */
    const struct verb_hint *hint; /* option NULL last; NULL: none */
    /* Optional (may be NULL): checks that rules cannot express. Looks at options alone; opens nothing. RC_INVAL. */
    enum rc (*check)(const struct verb_call *call);
    enum rc (*run)(struct verb_call *call);
};

/* Options of every subcommand that prints records. They fill call->output, and are in none of its groups: no record and
 * no plan has them. */
extern const struct opt verb_output_table[];
extern const struct opt
    verb_format_table[]; /* --format text|csv, of a subcommand that prints tables (report/table.h) */

extern const struct verb verb_compare, verb_train, verb_profile, verb_pack, verb_info, verb_report, verb_diff,
    verb_reproduce, verb_simulate, verb_calibrate, verb_predict, verb_lab, verb_accept, verb_comm, verb_keys,
    verb_launch, verb_serve;

/* Parse argv[0..argc), the words after the subcommand, and check them. RC_INVAL names option, value and remedy;
 * RC_NOMEM. The caller closes call, also after an error. Options borrow from argv. */
enum rc verb_call_open(struct verb_call *call, const struct verb *v, int argc, char *const argv[]) MUST_CHECK;
void verb_call_close(struct verb_call *call); /* accepts a zeroed one */
/* Call the function of the subcommand. RC_INVAL: an operand is missing. If a signal stopped it, and it chose no exit
 * code for that, call->failure_exit_code is VERB_STOPPED + the signal. */
enum rc verb_run(const struct verb *v, struct verb_call *call) MUST_CHECK;
/* Did the user give this option, which belongs to no module? Asserts that it exists. */
bool verb_given(const struct verb_call *call, const char *option);
/* RC_INVAL: this process is one of several ranks of a launcher. Each of them would do all of the work of `what`, as in
 * "--init FILE: " or "", and write the same files; trainings that it starts would be ranks of the launch. */
enum rc verb_refuse_ranks(const char *what) MUST_CHECK;

/* Do tables alone go to standard output, as --format csv of verb.format says? */
bool verb_prints_csv(const struct verb_call *call);
/* Write the records of a folder of compare or accept, or of a file, to standard output. RC_IO. */
enum rc verb_copy_records(const char *path) MUST_CHECK;
/* Is --help, -h or --help-all among words[0..], before "--" and the final NULL? */
bool verb_help_is_wanted(char *const words[]);

#endif
