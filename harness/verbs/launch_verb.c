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
    OPT_U64_(struct launch_verb_opts, np, "np", "", 1, GANG_MAX_MEMBERS, "",
             "number of processes, also -np or -n (default: all slots). Without --hosts and --hostfile it is 1"),
    OPT_TEXT_(struct launch_verb_opts, hosts, "hosts", "", "HOST[:SLOTS],...",
              "hosts, also -H, and how many processes each gets. The first host has the first ranks. Without it all "
              "processes are on this host"),
    OPT_FILE_(struct launch_verb_opts, hostfile, "hostfile", OPT_READ, "", "FILE",
              "hosts from a file, as for Open MPI. Each line has a host, as in node1 slots=4. Ranks follow the lines"),
    OPT_TEXT_(struct launch_verb_opts, agent, "agent", "", "COMMAND",
              "command that starts a process on a host (default: ssh). It gets the name of the host, and a command "
              "line for a shell there. The program ssh must ask for no password. The program gradmark and the working "
              "folder have the same path on all hosts"),
    OPT_TEXT_(struct launch_verb_opts, interface, "interface", "", "NAME|ADDRESS",
              "network of this host at which others reach rank 0. This is for a rank 0 on this host. The default is "
              "the first network that is not the loopback. If all processes are on this host, it is the loopback"),
    OPT_U64_(struct launch_verb_opts, port, "port", "", 1, 65535, "port",
             "port of rank 0 on another host (default: random)"),
    OPT_F64_(struct launch_verb_opts, start_timeout_s, "start-timeout", "60", 0.1, 86400, "s",
             "time in which all processes must arrive. None begins before. After this time the missing ones are named, "
             "and all end"),
    OPT_FILE_(struct launch_verb_opts, join_file, "join-file", OPT_WRITTEN, "", "FILE",
              "write a file by which processes can join the run. It has the address of rank 0 and the key. Only its "
              "owner can read it, and it is removed with the run. "
              "On any host that has a copy, gradmark train --join-file FILE joins. Other hosts must reach rank 0 "
              "(--interface)"),
    OPT_BOOL_(struct launch_verb_opts, prefix, "prefix", "false", "write [rank] before each line of output"),
    OPT_BOOL_(
        struct launch_verb_opts, recovery, "recovery", "false",
        "continue without a process that is killed. This is for --on-loss report. The exit status is that of rank 0"),
    OPT_U64_(struct launch_verb_opts, restarts, "restarts", "", 1, TRAIN_MAX_RESTARTS, "",
             "start again when processes die, at most N times. This is for train, if the remaining processes cannot "
             "continue, as without rank 0. "
             "The run continues from the checkpoint of --save, or starts at the beginning"),
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
        FAIL(RC_INVAL,
             "no command: write -- and a subcommand with its options after the options of launch, as in gradmark "
             "launch -np 4 -- train --mode allreduce");
    if (gang_is_told())
        FAIL(RC_INVAL, "launch: this process was started by gradmark launch itself");
    if (strcmp(call->command[0], "gradmark") == 0)
        FAIL(RC_INVAL, "-- gradmark: launch starts gradmark itself; leave the word out: -- %s",
             call->command[1] ? call->command[1] : "train");
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

static const struct verb_hint hints[] = {
    { "json", "it is for the subcommand: write it after --, as in gradmark launch -np 2 -- train --json" },
    { "quiet", "it is for the subcommand: write it after --, as in gradmark launch -np 2 -- train --quiet" },
    { NULL, NULL },
};

static const struct verb_example examples[] = {
    { "launch -np 2 -- train --mode allreduce", "Train with two processes on this host" },
    { "launch -np 3 -- train --mode ps --servers 1", "Train with two workers and a server" },
    { "launch -H host1:2,host2:2 --interface eth0 -- train --mode allreduce", "Use two hosts, which ssh reaches" },
    { NULL, NULL },
};

const struct verb verb_launch = {
    .name = "launch",
    .summary = "start a run as processes, on several hosts too, without MPI",
    .command = "SUBCOMMAND [--option value ...]",
    .shorts = shorts,
    .usage = "[-np N] [-H HOST,...] -- SUBCOMMAND [--option value ...]",
    .introduction =
        "Starts the processes of a run of world tcp. Each process is a rank. The exit status is that of the "
        "first process that failed.\n\n"
        "If the word after -- is a path, that program is started: a script that starts gradmark, or your own "
        "program with libgradmark, which joins by gm_init().",
    .example = examples,
    .page = "running",
    .is_one_process = true,
    .opts_bytes = sizeof(struct launch_verb_opts),
    .group = groups,
    .hint = hints,
    .run = launch_verb_run,
};
