/* SPDX-License-Identifier: Apache-2.0 */
/* launch_verb.c - gradmark launch: the processes of a run of world tcp, here and on other hosts. */
#include <stdlib.h>
#include <string.h>

#include "harness/verbs/restart.h"
#include "harness/verbs/verb.h"
#include "harness/world/child.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/launch.h"

enum { PATH_BYTES = 4096 };

struct launch_verb_opts {
    uint64_t np, port, restarts;
    const char *hosts, *hostfile, *agent, *interface, *join_file;
    double start_timeout_s;
    bool prefix, recovery;
};

static const struct opt table[] = {
    OPT_U64_(struct launch_verb_opts, np, "np", "", 1, GANG_MAX_MEMBERS, "ranks",
             "processes, also as -np and -n; without it: one for each slot of --hosts or --hostfile, else 1"),
    OPT_TEXT_(struct launch_verb_opts, hosts, "hosts", "", "HOST[:SLOTS],...",
              "where they run, also as -H: so many on each host, those of the first one being the first ranks; without "
              "it: all on this host"),
    OPT_FILE_(struct launch_verb_opts, hostfile, "hostfile", OPT_READ, "", "FILE",
              "the same from a file, as Open MPI takes it: a host on each line, as in node1 slots=4; ranks follow the "
              "lines"),
    OPT_TEXT_(struct launch_verb_opts, agent, "agent", "", "COMMAND",
              "starts a process on another host: it gets the host's name and a command line for a shell there; without "
              "it: ssh, which must ask for no password; the program and the working folder have the same path there"),
    OPT_TEXT_(
        struct launch_verb_opts, interface, "interface", "", "NAME|ADDRESS",
        "network interface of this host at which others reach rank 0, where that runs here; without it: the first "
        "one that is not the loopback, and of a run on this host alone the loopback"),
    OPT_U64_(struct launch_verb_opts, port, "port", "", 1, 65535, "port",
             "where rank 0 listens when it runs on another host; without it: a random one"),
    OPT_F64_(
        struct launch_verb_opts, start_timeout_s, "start-timeout", "60", 0.1, 86400, "s",
        "nobody begins before all processes are there; after so long those that are missing are named, and all end"),
    OPT_FILE_(
        struct launch_verb_opts, join_file, "join-file", OPT_WRITTEN, "", "FILE",
        "written for processes that join the run: where rank 0 listens, and the key; it is there while the run "
        "lasts, for its owner alone; gradmark train --join-file FILE with the run's options, on any host to which "
        "it was copied; others than this one have to reach rank 0 (--interface)"),
    OPT_BOOL_(struct launch_verb_opts, prefix, "prefix", "false", "[rank] before each line of output"),
    OPT_BOOL_(struct launch_verb_opts, recovery, "recovery", "false",
              "a process that is killed does not end the others, as --on-loss report wants it; the exit code is rank "
              "0's"),
    OPT_U64_(
        struct launch_verb_opts, restarts, "restarts", "", 1, TRAIN_MAX_RESTARTS, "restarts",
        "of train: where the run ends, as processes were lost that the others cannot go on without, rank 0's among "
        "them, start all again from the checkpoint of its --save, or from the beginning, at most so often"),
    OPT_END_,
};

static const struct verb_group groups[] = { { "processes", table, 0, NULL }, { NULL, NULL, 0, NULL } };

/* The program and its arguments: this one, unless the first word behind -- is the path of another. */
static enum rc make_command(char ***out, char *const *words, char *path)
{
    const bool is_path = strchr(words[0], '/') != NULL;
    size_t n = 0;
    enum rc rc;

    while (words[n])
        n++;
    TRY(child_self_path(path, PATH_BYTES));
    *out = calloc(n + 2, sizeof **out);
    if (!*out)
        FAIL(RC_NOMEM, "no memory for a command of %zu words", n);
    (*out)[0] = path;
    memcpy(*out + !is_path, words, n * sizeof *words);
out:
    return rc;
}

static enum rc launch_verb_run(struct verb_call *call)
{
    const struct launch_verb_opts *o = call->opts;
    char path[PATH_BYTES], **argv = NULL;
    enum rc rc;

    if (!call->command || !call->command[0])
        FAIL(RC_INVAL, "no command: write -- and a verb with its options behind the options of launch, as in gradmark "
                       "launch -np 4 -- train --mode allreduce");
    if (gang_is_told())
        FAIL(RC_INVAL, "launch: this process was started by gradmark launch itself");
    TRY(make_command(&argv, call->command, path));
    const struct launch_opts opts = { .n_ranks = o->np,
                                      .hosts = o->hosts,
                                      .hostfile = o->hostfile,
                                      .agent = o->agent,
                                      .interface = o->interface,
                                      .join_file = o->join_file,
                                      .port = o->port,
                                      .start_s = o->start_timeout_s,
                                      .has_prefix = o->prefix,
                                      .goes_on = o->recovery,
                                      .argv = argv };
    rc = o->restarts > 0 ? restart_gang(&opts, o->restarts, call->command, &call->exit_code)
                         : launch_run(&opts, &call->exit_code);
    if (rc != RC_INVAL)
        call->stage = STAGE_RUN;
out:
    free(argv);
    return rc;
}

static const struct verb_short shorts[] = {
    { "-np", "--np" }, { "-n", "--np" }, { "-H", "--hosts" }, { "-hostfile", "--hostfile" }, { NULL, NULL }
};

const struct verb verb_launch = {
    .name = "launch",
    .summary = "start a run as processes, on several hosts too, without MPI",
    .command = "VERB [--option value ...]",
    .shorts = shorts,
    .introduction =
        "\nusage: gradmark launch [-np N] [-H HOST[:SLOTS],...] -- VERB [--option value ...]\n\n"
        "The processes are the ranks of a run of world tcp. Each gets the key of the run, which is made for\n"
        "it, by its standard input. The exit code is that of the first process that failed. Where the word behind -- "
        "is\n"
        "a path, that program is started: one of your own that links libgradmark, whose gm_init() joins the run, or a\n"
        "script that starts gradmark in turn, with this standard input.\n",
    .opts_bytes = sizeof(struct launch_verb_opts),
    .group = groups,
    .run = launch_verb_run,
};
