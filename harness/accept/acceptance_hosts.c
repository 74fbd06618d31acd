/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_hosts.c - good.hosts and bad.hosts for Open MPI, slurm.txt for Slurm, rank_order.hosts for both.
 *
 * Bad is a node that a finding blames: itself, a rank of it, or all nodes. The ends of a blamed link are good, each for
 * itself: a comment of good.hosts and of slurm.txt names the link.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/accept/bundle_parts.h"
#include "harness/accept/host_list.h"
#include "harness/accept/rank_order.h"
#include "harness/accept/report_words.h"
#include "harness/base/file.h"

static bool is_bad(const struct acceptance *a, int node)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].subject == SUBJECT_FLEET ||
            (a->finding[i].subject != SUBJECT_LINK && finding_is_of_node(&a->finding[i], node)))
            return true;
    return false;
}

/* A line of a comment, whatever the text holds. */
static void comment(const char *what, const char *text, FILE *to)
{
    char line[SUBJECT_BYTES];

    line_text(line, sizeof line, text);
    fprintf(to, "# %s: %s\n", what, line);
}

/* What is blamed and is no node: links, and all nodes together. */
static void write_blamed(const struct acceptance *a, FILE *to)
{
    char name[SUBJECT_BYTES];
    bool has_fleet = false;

    for (int i = 0; i < a->n_findings; i++) {
        const bool is_fleet = a->finding[i].subject == SUBJECT_FLEET;
        if (a->finding[i].subject == SUBJECT_LINK || (is_fleet && !has_fleet)) {
            has_fleet = has_fleet || is_fleet;
            accept_subject_text(name, sizeof name, a, &a->finding[i]);
            comment("blamed", name, to);
        }
    }
}

static enum rc write_hostfile(const struct acceptance *a, bool bad, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    if (!bad)
        write_blamed(a, file.stream);
    for (int i = 0; i < a->n_nodes; i++) {
        const char *name = a->node[i].name;
        if (is_bad(a, i) != bad)
            continue;
        if (host_name_is_plain(name)) /* accept.P5 */
            fprintf(file.stream, "%s slots=%d\n", name, a->node[i].n_ranks);
        else
            comment("no name of a host", name, file.stream);
    }
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

/* "--exclude=host[1-3]", or a comment where there is none. */
static enum rc write_list(const struct acceptance *a, bool bad, const char *option, FILE *to)
{
    const char **name = calloc((size_t)a->n_nodes, sizeof *name);
    char *list = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;

    if (!name)
        FAIL(RC_NOMEM, "no memory for the names of %d nodes", a->n_nodes);
    for (int i = 0; i < a->n_nodes; i++) {
        if (is_bad(a, i) != bad)
            continue;
        if (host_name_is_plain(a->node[i].name))
            name[n++] = a->node[i].name;
        else
            comment("no name of a host", a->node[i].name, to); /* accept.P5 */
    }
    TRY(host_list_fold(&list, name, n));
    if (n > 0)
        fprintf(to, "--%s=%s\n", option, list);
    else
        fprintf(to, "# no node for --%s\n", option);
out:
    free(list);
    free(name);
    return rc;
}

/* The best order of ranks: a word of Slurm's where there is one, else the file. */
static void write_distribution(const struct acceptance *a, FILE *to)
{
    const int best = acceptance_best_rank_order(a);
    const char *distribution = best >= 0 ? rank_order_distribution(a, best) : NULL;

    if (distribution)
        fprintf(to, "--distribution=%s\n", distribution);
    else if (best >= 0)
        fputs("# with SLURM_HOSTFILE=rank_order.hosts in the environment:\n--distribution=arbitrary\n", to);
}

static enum rc write_slurm(const struct acceptance *a, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    write_blamed(a, file.stream);
    TRY(write_list(a, false, "nodelist", file.stream));
    TRY(write_list(a, true, "exclude", file.stream));
    write_distribution(a, file.stream);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

/* May every host of a be written into a file of hosts? */
static bool are_plain(const struct acceptance *a)
{
    for (int i = 0; i < a->n_nodes; i++)
        if (!host_name_is_plain(a->node[i].name))
            return false;
    return true;
}

static enum rc write_rank_order(const struct acceptance *a, int best, const char *path)
{
    const bool has_hosts = are_plain(a);
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fprintf(file.stream,
            "# order of ranks: %s; line by line the host of rank 0, 1, ...\n"
            "# mpirun --map-by seq --hostfile FILE; SLURM_HOSTFILE=FILE srun --distribution=arbitrary\n",
            accept_rank_order_name(best));
    if (!has_hosts) /* accept.P5: of a part of the ranks there is no order */
        fputs("# none: the name of a node is no name of a host\n", file.stream);
    for (int i = 0; has_hosts && i < a->n_ranks; i++)
        fprintf(file.stream, "%s\n", a->node[a->node_of_rank[a->rank_order[best].rank[i]]].name);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc acceptance_hosts(const struct acceptance *a, const char *dir)
{
    const int best = acceptance_best_rank_order(a);
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "good.hosts"));
    TRY(write_hostfile(a, false, path));
    TRY(bundle_path(path, dir, "bad.hosts"));
    TRY(write_hostfile(a, true, path));
    TRY(bundle_path(path, dir, "slurm.txt"));
    TRY(write_slurm(a, path));
    if (best >= 0) {
        TRY(bundle_path(path, dir, "rank_order.hosts"));
        TRY(write_rank_order(a, best, path));
    }
out:
    return rc;
}
