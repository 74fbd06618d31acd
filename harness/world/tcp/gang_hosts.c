/* SPDX-License-Identifier: Apache-2.0 */
/* gang_hosts.c - gangs as lists of hosts, and as TF_CONFIG. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/world/tcp/gang.h"

static const char *const job_key[] = {
    [GANG_CHIEF] = "chief",
    [GANG_WORKER] = "worker",
    [GANG_PS] = "ps",
};

const char *gang_job_key(enum gang_job job)
{
    return job_key[job];
}

int gang_n_servers(const struct gang *g)
{
    int n = 0;

    for (int r = 0; r < g->n_ranks; r++)
        n += strcmp(g->member[r].job, job_key[GANG_PS]) == 0;
    return n;
}

struct list {           /* of a job's addresses */
    const char *text;   /* with commas between; "": none */
    const char *option; /* how messages name it */
};

static enum rc add_members(struct gang *g, const struct list *list, const char *job)
{
    char one[GANG_ADDRESS_BYTES + 1], host[GANG_ADDRESS_BYTES];
    const char *rest = list->text;
    uint16_t port;
    int task = 0;

    while (list->text[0] != '\0' && text_next(&rest, one, sizeof one)) {
        struct gang_member *m = &g->member[g->n_ranks];
        if (one[0] == '\0' && !rest && task > 0) /* "a:1,b:1,", as scripts write it */
            break;
        if (strlen(one) >= GANG_ADDRESS_BYTES)
            return rc_raise(RC_INVAL, "%s: %.100s... is too long; %d bytes at most are possible", list->option, one,
                            GANG_ADDRESS_BYTES - 1);
        if (!gang_split_address(one, host, &port))
            return rc_raise(RC_INVAL, "%s: %.100s %s", list->option, one, gang_address_fault(one));
        for (int r = 0; r < g->n_ranks; r++)
            if (strcmp(g->member[r].address, one) == 0)
                return rc_raise(RC_INVAL, "%s: %.100s is named twice; each task needs an address of its own",
                                list->option, one);
        *m = (struct gang_member){ .task = task };
        task++;
        (void)snprintf(m->job, sizeof m->job, "%s", job);
        (void)snprintf(m->address, sizeof m->address, "%s", one);
        g->n_ranks++;
    }
    return RC_OK;
}

/* The same host, however often it has a task. */
static bool is_same_host(const struct gang *g, int a, int b)
{
    char host_a[GANG_ADDRESS_BYTES], host_b[GANG_ADDRESS_BYTES];
    uint16_t port;

    return gang_split_address(g->member[a].address, host_a, &port) &&
           gang_split_address(g->member[b].address, host_b, &port) && strcmp(host_a, host_b) == 0;
}

static void count_host_ranks(struct gang *g)
{
    g->host_rank = g->n_host_ranks = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        const bool is_here = is_same_host(g, r, g->rank);
        g->host_rank += is_here && r < g->rank;
        g->n_host_ranks += is_here;
    }
}

static enum rc list_gang(struct gang *g, const struct list list[GANG_N_JOBS])
{
    int n = 0;
    enum rc rc = RC_OK;

    *g = (struct gang){ .listening_fd = -1, .start_s = GANG_START_S };
    for (int j = 0; j < GANG_N_JOBS; j++)
        n += gang_count_items(list[j].text);
    if (n > GANG_MAX_MEMBERS)
        FAIL(RC_INVAL, "%s: names %d processes; use %d at most", list[GANG_WORKER].option, n, GANG_MAX_MEMBERS);
    if (gang_count_items(list[GANG_CHIEF].text) > 1)
        FAIL(RC_INVAL, "%s: there can be one chief", list[GANG_CHIEF].option);
    if (gang_count_items(list[GANG_WORKER].text) + gang_count_items(list[GANG_CHIEF].text) == 0)
        FAIL(RC_INVAL, "%s: is empty; name each worker as HOST:PORT, with commas between", list[GANG_WORKER].option);
    g->member = calloc((size_t)n, sizeof *g->member);
    if (!g->member)
        FAIL(RC_NOMEM, "no memory for a gang of %d", n);
    for (int j = 0; j < GANG_N_JOBS; j++)
        TRY(add_members(g, &list[j], job_key[j]));
    (void)snprintf(g->root, sizeof g->root, "%s", g->member[0].address);
out:
    return rc;
}

/* Find the member that this process is. */
static enum rc find_own(struct gang *g, const char *job, int64_t task, const char *job_option, const char *task_option)
{
    int n_tasks = 0;

    for (int r = 0; r < g->n_ranks; r++) {
        if (strcmp(g->member[r].job, job) != 0)
            continue;
        if (g->member[r].task == task) {
            g->rank = r;
            count_host_ranks(g);
            return RC_OK;
        }
        n_tasks++;
    }
    if (n_tasks == 0)
        return rc_raise(RC_INVAL, "%s %.40s: the run has no such job; use %s", job_option, job,
                        gang_n_servers(g) > 0 ? "worker or ps" : "worker");
    if (n_tasks == 1)
        return rc_raise(RC_INVAL, "%s %lld: job %s has 1 process; use 0", task_option, (long long)task, job);
    return rc_raise(RC_INVAL, "%s %lld: job %s has %d processes; use a whole number from 0 to %d", task_option,
                    (long long)task, job, n_tasks, n_tasks - 1);
}

enum rc gang_of_hosts(struct gang *out, const struct gang_hosts *hosts)
{
    const struct list list[GANG_N_JOBS] = { [GANG_CHIEF] = { hosts->chief_hosts, hosts->names[2] },
                                            [GANG_WORKER] = { hosts->worker_hosts, hosts->names[0] },
                                            [GANG_PS] = { hosts->ps_hosts, hosts->names[1] } };
    struct gang g;
    enum rc rc;

    TRY(list_gang(&g, list));
    TRY(find_own(&g, hosts->job, hosts->task, hosts->names[3], hosts->names[4]));
    *out = g;
    return RC_OK;
out:
    gang_free(&g);
    return rc;
}

/* --- TF_CONFIG --- */

/* The job of a key of cluster, or of task.type; false: there is no such job. "master" is the chief of TensorFlow 1.x.
 */
static bool find_job(const char *name, enum gang_job *out)
{
    for (int j = 0; j < GANG_N_JOBS; j++)
        if (strcmp(name, job_key[j]) == 0 || (j == GANG_CHIEF && strcmp(name, "master") == 0)) {
            *out = (enum gang_job)j;
            return true;
        }
    return false;
}

/* The addresses in an array, with commas between; the caller frees it. */
static enum rc join_addresses(char **out, const json_t *list, const char *job)
{
    const json_t *one;
    size_t i, n = 0;

    if (!json_is_array(list))
        return rc_raise(RC_INVAL, "TF_CONFIG: cluster.%.40s is no list of \"HOST:PORT\"", job);
    *out = calloc(json_array_size(list) + 1, GANG_ADDRESS_BYTES + 1);
    if (!*out)
        return rc_raise(RC_NOMEM, "no memory for TF_CONFIG");
    json_array_foreach(list, i, one)
    {
        const char *address = json_string_value(one);
        if (!address || strlen(address) >= GANG_ADDRESS_BYTES || strchr(address, ','))
            return rc_raise(RC_INVAL, "TF_CONFIG: cluster.%.40s has an entry that is no \"HOST:PORT\"", job);
        n += (size_t)sprintf(*out + n, "%s%s", i > 0 ? "," : "", address);
    }
    return RC_OK;
}

/* Each job of the cluster; a cluster may list an evaluator, which is no member. */
static enum rc join_jobs(char *joined[GANG_N_JOBS], const json_t *cluster)
{
    const char *name;
    json_t *list;
    enum gang_job job;
    enum rc rc = RC_OK;

    json_object_foreach((json_t *)cluster, name, list)
    {
        if (strcmp(name, "evaluator") == 0)
            continue;
        if (!find_job(name, &job))
            FAIL(RC_INVAL, "TF_CONFIG: cluster.%.40s is no job that gradmark knows; use chief (or master), worker, ps",
                 name);
        if (joined[job])
            FAIL(RC_INVAL, "TF_CONFIG: cluster has both chief and master; name one of them");
        TRY(join_addresses(&joined[job], list, name));
    }
out:
    return rc;
}

static enum rc read_task(const json_t *root, const char **job, int64_t *index)
{
    const json_t *task = json_object_get(root, "task");
    const json_t *number = json_object_get(task, "index");
    enum gang_job known;

    *job = json_string_value(json_object_get(task, "type"));
    if (!*job || (number && !json_is_integer(number)))
        return rc_raise(RC_INVAL, "TF_CONFIG: task is no { \"type\": \"worker\", \"index\": 0 }");
    if (strcmp(*job, "evaluator") == 0)
        return rc_raise(RC_INVAL,
                        "TF_CONFIG: task.type is evaluator, which trains nothing; start only its other tasks");
    if (find_job(*job, &known))
        *job = job_key[known];
    *index = number ? json_integer_value(number) : 0;
    return RC_OK;
}

/* RC_INVAL: no JSON. The caller gives *root back. */
static enum rc parse_tf_config(json_t **root, const char *text)
{
    json_error_t error;

    *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    return *root ? RC_OK : rc_raise(RC_INVAL, "TF_CONFIG: line %d: %s", error.line, error.text);
}

enum rc gang_has_tf_config(bool *out, const char *text)
{
    json_t *root = NULL;
    enum rc rc = RC_OK;

    *out = false;
    if (!text || text[strspn(text, " \t\r\n")] == '\0')
        return RC_OK;
    TRY(parse_tf_config(&root, text));
    const json_t *cluster = json_object_get(root, "cluster");
    *out = json_is_object(root) ? (cluster ? !json_is_object(cluster) || json_object_size(cluster) > 0
                                           : json_object_get(root, "task") != NULL)
                                : true;
out:
    json_decref(root);
    return rc;
}

enum rc gang_of_tf_config(struct gang *out, const char *text)
{
    static const char *const options[GANG_N_JOBS] = { "TF_CONFIG: cluster.chief", "TF_CONFIG: cluster.worker",
                                                      "TF_CONFIG: cluster.ps" };
    char *joined[GANG_N_JOBS] = { NULL };
    struct list list[GANG_N_JOBS];
    struct gang g = { .listening_fd = -1 };
    const char *job = NULL;
    int64_t task = 0;
    json_t *root = NULL;
    enum rc rc = RC_OK;

    TRY(parse_tf_config(&root, text));
    const json_t *cluster = json_object_get(root, "cluster");
    if (!json_is_object(cluster))
        FAIL(RC_INVAL, "TF_CONFIG: has no cluster, such as { \"cluster\": { \"worker\": [\"a:1\"] } }");
    TRY(join_jobs(joined, cluster));
    for (int j = 0; j < GANG_N_JOBS; j++)
        list[j] = (struct list){ joined[j] ? joined[j] : "", options[j] };
    TRY(read_task(root, &job, &task));
    TRY(list_gang(&g, list));
    TRY(find_own(&g, job, task, "TF_CONFIG: task.type", "TF_CONFIG: task.index"));
    *out = g;
    g = (struct gang){ .listening_fd = -1 };
out:
    for (int j = 0; j < GANG_N_JOBS; j++)
        free(joined[j]);
    json_decref(root);
    gang_free(&g);
    return rc;
}

/* --- who is let in --- */

enum rc gang_check_key(const struct gang *g, bool has_key, bool is_insecure)
{
    char host[GANG_ADDRESS_BYTES], name[GANG_ADDRESS_BYTES + 32];
    uint16_t port;

    for (int r = 0; r < g->n_ranks && !has_key && !is_insecure; r++) {
        gang_member_text(g, r, name, sizeof name);
        if (!gang_split_address(g->member[r].address, host, &port) || !gang_is_loopback(host))
            return rc_raise(RC_INVAL,
                            "--key-file: %.200s is beyond this host, where others may listen and connect; give all "
                            "members the same key by --key-file FILE (gradmark keys makes one), or let everybody in by "
                            "--insecure",
                            name);
    }
    return RC_OK;
}
