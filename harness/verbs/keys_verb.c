/* SPDX-License-Identifier: Apache-2.0 */
/* keys_verb.c - gradmark keys: a key file for runs whose processes start without a launcher that could hand keys out.
 */
#include "harness/base/file.h"
#include "harness/base/opt.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/net/curve_keys.h"
#include "harness/report/record.h"
#include "harness/verbs/verb.h"

struct keys_opts {
    bool force;
};

static const struct opt table[] = {
    OPT_BOOL_(struct keys_opts, force, "force", "false", "replace FILE if it exists"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "keys", table, 0, NULL }, { NULL, NULL, 0, NULL } };

static enum rc print_record(const char *path, const struct curve_keys *keys)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, "-"));
    struct record *r = report_begin(to, "keys");
    record_text(r, "file", path);
    record_text(r, "public_key", keys->public_text);
    TRY(report_end(to));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

static enum rc keys_run(struct verb_call *call)
{
    const struct keys_opts *o = call->opts;
    struct curve_keys keys = { .public_text = "" };
    char name[128];
    enum rc rc;

    if (text_has_control(name, sizeof name, call->operand[0]))
        FAIL(RC_INVAL, "%s: has a control character in its name, shown as ?; give it another name", name);
    TRY(curve_keys_make(&keys));
    TRY(curve_keys_write(call->operand[0], &keys, o->force));
    call->stage = STAGE_RUN;
    terminal_note(stdout, "%s: a pair of keys, public key %s", call->operand[0], keys.public_text);
    TRY(output_flush(stdout));
    if (call->output.json)
        TRY(print_record(call->operand[0], &keys));
out:
    curve_keys_wipe(&keys);
    return rc;
}

static const struct verb_example examples[] = {
    { "keys run.keys", "Make a file of keys" },
    { "keys run.keys --force", "Replace the keys by new ones" },
    { NULL, NULL },
};

const struct verb verb_keys = {
    .name = "keys",
    .summary = "make a file with a pair of keys, for runs over a network",
    .operands = "FILE",
    .usage = "FILE [--force]",
    .introduction = "Writes a pair of CURVE keys to FILE, which only its owner can read. Holders of the file can join "
                    "the runs that use it, and can read their messages. Copy it to the hosts of the run and nowhere "
                    "else.\n\n"
                    "Runs under mpirun, srun and gradmark launch need no file.",
    .example = examples,
    .page = "security",
    .is_one_process = true,
    .has_records = true,
    .opts_bytes = sizeof(struct keys_opts),
    .group = groups,
    .run = keys_run,
};
