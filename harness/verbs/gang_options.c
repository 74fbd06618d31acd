/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang_options.c - options that list the processes of a run in world tcp, in the spelling of distributed TensorFlow;
 * see gang_options.h.
 */
#include "harness/verbs/gang_options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/world/host_address.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/world.h"

const struct opt gang_opt_table[] = {
    OPT_TEXT_(struct gang_opts, worker_hosts, "worker-hosts", "", "HOST:PORT,...",
              "addresses of all workers, in the same order everywhere. For world tcp without a launcher. The first "
              "one is rank 0, and all other processes connect to it"),
    OPT_TEXT_(struct gang_opts, ps_hosts, "ps-hosts", "", "HOST:PORT,...",
              "addresses of all parameter servers (default: none). Without servers the mode is allreduce"),
    OPT_TEXT_(struct gang_opts, task, "task", "", "N|join",
              "number of this process in its list, from 0 on. It is not needed if the list has one address. With join "
              "the process is not in the list, and joins a run that trains already. The run must have --elastic "
              "--most-workers N, and the other options are the same"),
    OPT_FILE_(struct gang_opts, join_file, "join-file", OPT_READ, "", "FILE",
              "join the run that wrote this file. It is written by gradmark launch --join-file. It replaces --task "
              "join, --worker-hosts and --key-file"),
    OPT_FILE_(
        struct gang_opts, key_file, "key-file", OPT_READ, "", "FILE",
        "key of the run, a copy of one file on all hosts. Only processes that have it can join. It is made by gradmark "
        "keys. If all members are on this host, the default is a key of this user (~/.config/gradmark/tcp.key)"),
    OPT_F64_(struct gang_opts, start_timeout_s, "start-timeout", "60", 0.1, 86400, "s",
             "time in which all members must arrive. No member trains before. After this time the missing ones are "
             "named, and the run ends"),
    OPT_END_,
};

/* --- which gang --- */

static enum rc check_alone(const struct verb_call *call, const struct gang_opts *o)
{
    static const char *const names[] = { "task", "key-file", "start-timeout" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (verb_given(call, names[i]))
            return rc_raise(RC_INVAL, "--%s: needs --worker-hosts, which names the members of the run", names[i]);
    if (o->ps_hosts[0] != '\0')
        return rc_raise(RC_INVAL, "--ps-hosts %.100s: needs --worker-hosts, too", o->ps_hosts);
    return RC_OK;
}

static enum rc check_join_file(const struct verb_call *call, const struct gang_opts *o)
{
    static const char *const names[] = { "worker-hosts", "ps-hosts", "task", "key-file" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (verb_given(call, names[i]))
            return rc_raise(RC_INVAL, "--join-file %.100s: says all that --%s could; leave one of the two out",
                            o->join_file, names[i]);
    return RC_OK;
}

static bool joins(const struct gang_opts *o)
{
    return strcmp(o->task, "join") == 0;
}

static enum rc parse_task(int64_t *out, const struct gang_opts *o)
{
    uint64_t number = 0;

    if (!joins(o) && o->task[0] != '\0' && !(text_to_u64(o->task, &number) && number <= GANG_MAX_MEMBERS))
        return rc_raise(RC_INVAL, "--task %.40s: must be a whole number from 0 to %d, or join", o->task,
                        GANG_MAX_MEMBERS);
    *out = (int64_t)number;
    return RC_OK;
}

static enum rc from_options(struct gang *out, const struct gang_opts *o, enum gang_job job)
{
    const char *own_hosts = job == GANG_PS ? o->ps_hosts : o->worker_hosts;
    struct gang_hosts hosts = { .worker_hosts = o->worker_hosts,
                                .ps_hosts = o->ps_hosts,
                                .chief_hosts = "",
                                .job = gang_job_key(job),
                                .names = { "--worker-hosts", "--ps-hosts", "", "", "--task" } };

    enum rc rc;

    if (o->task[0] == '\0' && strchr(own_hosts, ','))
        FAIL(RC_INVAL, "--task: is not given; say which of the hosts of job %s this process is, from 0 on",
             gang_job_key(job));
    TRY(parse_task(&hosts.task, o));
    TRY(gang_of_hosts(out, &hosts));
out:
    return rc;
}

/* A launcher that is none of gangs started this process: --world auto means its world, whatever TF_CONFIG says. */
static bool is_launchers(const struct train_opts *train)
{
    const struct launcher launcher = world_launcher();
    bool has_cluster = false;

    if (strcmp(train->world, "auto") != 0 || !launcher.name)
        return false;
    if (launcher.rank == 0 && gang_has_tf_config(&has_cluster, getenv("TF_CONFIG")) == RC_OK && has_cluster)
        terminal_note(stderr,
                      "gradmark train: TF_CONFIG is not used, as %s started this process; to use it: --world tcp",
                      launcher.name);
    return true;
}

/* *is_found: TF_CONFIG describes one. */
static enum rc from_tf_config(struct gang *out, bool *is_found, const struct verb_call *call,
                              const struct train_opts *train, enum gang_job job)
{
    enum rc rc = RC_OK;

    if (is_launchers(train))
        return RC_OK;
    TRY(gang_has_tf_config(is_found, getenv("TF_CONFIG")));
    if (!*is_found)
        return RC_OK;
    if (verb_given(call, "task"))
        FAIL(RC_INVAL, "--task: TF_CONFIG says which member this process is; leave out the option");
    TRY(gang_of_tf_config(out, getenv("TF_CONFIG")));
    if (job == GANG_PS && strcmp(out->member[out->rank].job, gang_job_key(GANG_PS)) != 0)
        FAIL(RC_INVAL, "TF_CONFIG: task.type is %s, and gradmark serve is for ps; use gradmark train",
             out->member[out->rank].job);
out:
    return rc;
}

/* *is_found: there is one, by options, or by TF_CONFIG where the world is not another one. */
static enum rc find_gang(struct gang *out, bool *is_found, const struct verb_call *call, const struct gang_opts *o,
                         const struct train_opts *train, enum gang_job job)
{
    const bool is_other_world = !world_may_be_gang(train->world);
    enum rc rc = RC_OK;

    *is_found = false;
    if (o->join_file[0] != '\0') {
        if (is_other_world)
            FAIL(RC_INVAL, "--join-file %.100s: needs --world tcp, but that is %s", o->join_file, train->world);
        TRY(check_join_file(call, o));
        TRY(gang_of_join_file(out, o->join_file));
        *is_found = true;
        return RC_OK;
    }
    if (o->worker_hosts[0] == '\0' && o->ps_hosts[0] == '\0' && !is_other_world)
        TRY(from_tf_config(out, is_found, call, train, job));
    if (*is_found)
        return RC_OK;
    if (o->worker_hosts[0] == '\0')
        return check_alone(call, o);
    if (is_other_world)
        FAIL(RC_INVAL, "--worker-hosts %.100s: needs --world tcp, but that is %s", o->worker_hosts, train->world);
    TRY(from_options(out, o, job));
    *is_found = true;
out:
    return rc;
}

/* The name of the first mode that has all of caps. */
static const char *mode_with(unsigned caps)
{
    for (int i = 0; mode_kind.at(i); i++)
        if ((mode_kind.at(i)->caps & caps) == caps)
            return mode_kind.at(i)->name;
    return mode_kind.default_name;
}

/* An option of train that follows from the gang. */
static enum rc follow(struct verb_call *call, const char *name, uint64_t given, uint64_t found, uint64_t *out)
{
    if (verb_given(call, name) && given != found)
        return rc_raise(RC_INVAL, "--%s %llu: the hosts that are given make %llu; leave it out", name,
                        (unsigned long long)given, (unsigned long long)found);
    *out = found;
    return RC_OK;
}

static enum rc set_training(struct verb_call *call, struct train_opts *train, const struct gang *g)
{
    const int n_servers = gang_n_servers(g);
    enum rc rc;

    TRY(follow(call, "workers", train->workers, (uint64_t)(g->n_ranks - n_servers), &train->workers));
    if (n_servers > 0)
        TRY(follow(call, "servers", train->servers, (uint64_t)n_servers, &train->servers));
    if (!verb_given(call, "mode") && g->n_ranks > 1)
        train->mode = mode_with(n_servers > 0 ? MODE_SERVERS : MODE_COLLECTIVE);
out:
    return rc;
}

static enum rc check_join(const struct verb_call *call, const struct gang_opts *o, const struct train_opts *train,
                          enum gang_job job)
{
    const char *how = joins(o) ? "task join" : "join-file";

    if (!joins(o) && o->join_file[0] == '\0')
        return RC_OK;
    if (job == GANG_PS)
        return rc_raise(RC_INVAL, "--%s: workers can join a run, and servers cannot; gradmark train", how);
    if (!verb_given(call, "most-workers") || !train->elastic)
        return rc_raise(RC_INVAL, "--%s: needs --elastic and --most-workers N, as the run has them that it joins", how);
    if (train->restarts > 0 || train->save[0] || train->timeline[0])
        return rc_raise(RC_INVAL, "--%s: a process that joins keeps nothing of the run; leave out --%s", how,
                        train->restarts > 0 ? "restarts"
                        : train->save[0]    ? "save"
                                            : "timeline");
    return RC_OK;
}

/* GRADMARK_GANG_KEY: "@" and a file that holds a key, or "open". */
static enum rc find_key(char *out, size_t n_bytes, const struct gang *g, const struct gang_opts *o,
                        const struct train_opts *train)
{
    const char *given = o->join_file[0] != '\0' ? o->join_file : o->key_file;
    unsigned char unused[GANG_KEY_BYTES];
    enum rc rc;

    TRY(gang_check_key(g, given[0] != '\0', train->insecure));
    if (given[0] == '\0' && train->insecure) {
        (void)snprintf(out, n_bytes, "open");
        return RC_OK;
    }
    (void)snprintf(out, n_bytes, "@%s", given);
    if (given[0] == '\0')
        TRY(gang_own_key_file(out + 1, n_bytes - 1));
    TRY(gang_read_key_file(unused, out + 1)); /* now: what is wrong with it is an error of the input */
out:
    return rc;
}

enum rc gang_resolve(struct verb_call *call, const struct gang_opts *o, struct train_opts *train, enum gang_job job)
{
    struct gang g = { .listening_fd = -1 };
    char key[PATH_MAX + 2];
    bool is_found = false;
    enum rc rc = RC_OK;

    if (gang_is_told()) {
        if (o->worker_hosts[0] != '\0' || o->ps_hosts[0] != '\0' || o->join_file[0] != '\0')
            FAIL(RC_INVAL, "--%s: gradmark launch has started this process, and says who else there is",
                 o->join_file[0] != '\0' ? "join-file" : "worker-hosts");
        return check_alone(call, o);
    }
    TRY(find_gang(&g, &is_found, call, o, train, job));
    if (!is_found)
        goto out;
    TRY(check_join(call, o, train, job));
    if (joins(o)) {
        g.joins = true;
        g.host_rank = 0;
        g.n_host_ranks = 1;
    }
    TRY(find_key(key, sizeof key, &g, o, train));
    g.start_s = o->start_timeout_s;
    if (o->join_file[0] == '\0')
        TRY(set_training(call, train, &g)); /* else they follow from its options, as in the run that it joins */
    TRY(gang_export(&g, key));
out:
    gang_free(&g);
    return rc;
}
