/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_hosts.c - good.hosts and bad.hosts for Open MPI, slurm.txt for Slurm.
 *
 * Bad is a node that a finding blames, itself or a rank of it. The ends of a blamed link are good, each for itself: a
 * comment of good.hosts names the link.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/accept/bundle_parts.h"
#include "harness/accept/host_list.h"
#include "harness/accept/report_words.h"
#include "harness/base/file.h"

static bool is_bad(const struct acceptance *a, int node)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].subject != SUBJECT_LINK && finding_is_of_node(&a->finding[i], node))
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

static void write_links(const struct acceptance *a, FILE *to)
{
    char name[SUBJECT_BYTES];

    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].subject == SUBJECT_LINK) {
            accept_subject_text(name, sizeof name, a, &a->finding[i]);
            comment("blamed", name, to);
        }
}

static enum rc write_hostfile(const struct acceptance *a, bool bad, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    if (!bad)
        write_links(a, file.stream);
    for (int i = 0; i < a->n_nodes; i++) {
        const char *name = a->node[i].name;
        if (is_bad(a, i) != bad)
            continue;
        if (host_name_is_plain(name)) /* P5 */
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
            comment("no name of a host", a->node[i].name, to); /* P5 */
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

static enum rc write_slurm(const struct acceptance *a, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    TRY(write_list(a, false, "nodelist", file.stream));
    TRY(write_list(a, true, "exclude", file.stream));
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc acceptance_hosts(const struct acceptance *a, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "good.hosts"));
    TRY(write_hostfile(a, false, path));
    TRY(bundle_path(path, dir, "bad.hosts"));
    TRY(write_hostfile(a, true, path));
    TRY(bundle_path(path, dir, "slurm.txt"));
    TRY(write_slurm(a, path));
out:
    return rc;
}
