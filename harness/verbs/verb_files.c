/* SPDX-License-Identifier: Apache-2.0 */
/* verb_files.c - see verb_files.h. */
#include "harness/verbs/verb_files.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/dataset.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/report/chart.h"
#include "harness/train/train.h"

enum { SHOWN_BYTES = 400 };

struct named_file {
    const char *option; /* NULL: an operand */
    const char *value;  /* as it was given: one file, or several */
    enum opt_file use;
    bool is_data;        /* a data set: of a folder the files of its format are read */
    char path[PATH_MAX]; /* of one file */
};

struct named_files {
    struct named_file *file;
    size_t n, n_most;
};

/* --- which files --- */

static bool names_a_file(const char *what)
{
    static const char *const word[] = { "FILE", "FOLDER", "DIR", "PATH", ".yaml" };

    for (size_t i = 0; what && i < sizeof word / sizeof *word; i++)
        if (strstr(what, word[i]))
            return true;
    return false;
}

static bool is_written(const struct named_file *f)
{
    return f->use == OPT_WRITTEN || f->use == OPT_CHART;
}

static enum rc add(struct named_files *to, const struct named_file *like, const char *path)
{
    if (path[0] == '\0' || strcmp(path, "-") == 0 || strlen(path) >= sizeof like->path)
        return RC_OK;
    if (to->n == to->n_most) {
        const size_t n_most = 2 * to->n_most + 8;
        struct named_file *more = realloc(to->file, n_most * sizeof *more);
        if (!more)
            return rc_raise(RC_NOMEM, "no memory for the names of files");
        to->file = more;
        to->n_most = n_most;
    }
    struct named_file *f = &to->file[to->n++];
    *f = *like;
    memcpy(f->path, path, strlen(path) + 1);
    return RC_OK;
}

static enum rc add_chart(struct named_files *to, const struct named_file *like)
{
    static const char *const ending[] = { "png", "svg", "tsv" };
    char dir[CHART_PATH_BYTES], name[CHART_PATH_BYTES], path[2 * CHART_PATH_BYTES + 8];
    enum rc rc = RC_OK;

    if (!chart_split_path(like->value, dir, name))
        return RC_OK;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.%s", dir, name, ending[i]);
        TRY(add(to, like, path));
    }
out:
    return rc;
}

/* "a,b", "x=a,y=b" */
static enum rc add_list(struct named_files *to, const struct named_file *like)
{
    const char *rest = like->value;
    char path[PATH_MAX];
    enum rc rc = RC_OK;

    while (text_next(&rest, path, sizeof path)) {
        const char *behind = strchr(path, '=');
        TRY(add(to, like, path));
        if (behind)
            TRY(add(to, like, behind + 1));
    }
out:
    return rc;
}

/* A line feed would cut the lines that name the file, and programs that draw charts cannot open it. */
static enum rc check_name(const struct opt *o, const char *value)
{
    char name[SHOWN_BYTES];

    if (o->file == OPT_READ || strcmp(o->name, "continue") == 0 || !text_has_control(name, sizeof name, value))
        return RC_OK;
    return rc_raise(RC_INVAL, "--%s %s: has a control character in its name, shown as ?; give it another name", o->name,
                    name);
}

static enum rc add_option(struct named_files *to, const struct opt *o, const void *from)
{
    struct named_file f = { .option = o->name, .value = opt_text(o, from), .use = o->file };

    enum rc rc;

    if (o->file == OPT_NO_FILE || f.value[0] == '\0' || train_is_built_in(o, f.value))
        return RC_OK;
    TRY(check_name(o, f.value));
    f.is_data = strcmp(o->unit, "PATH") == 0;
    if (o->file == OPT_CHART)
        TRY(add_chart(to, &f));
    else
        TRY(strstr(o->unit, "...") ? add_list(to, &f) : add(to, &f, f.value));
out:
    return rc;
}

static enum rc add_all(struct named_files *to, const struct verb_call *call)
{
    enum rc rc = RC_OK;

    for (int g = 0; g < call->n_groups; g++)
        for (const struct opt *o = call->group[g].table; o->type != OPT_END; o++) {
            assert(o->type != OPT_TEXT || names_a_file(o->unit) == (o->file != OPT_NO_FILE)); /* OPT_FILE_ says which */
            TRY(add_option(to, o, call->group[g].into));
        }
    for (int i = 0; names_a_file(call->verb->operands) && i < VERB_MAX_OPERANDS && call->operand[i]; i++)
        TRY(add(to, &(struct named_file){ .value = call->operand[i], .use = OPT_READ }, call->operand[i]));
out:
    return rc;
}

/* --- which are the same --- */

/* "--save x", "--chart y.png (y.tsv)", "the operand r.jsonl" */
static const char *shown(char out[SHOWN_BYTES], const struct named_file *f)
{
    const bool is_one = f->use != OPT_CHART;

    (void)snprintf(out, SHOWN_BYTES, "%s%s %.120s%s%.120s%s", f->option ? "--" : "the ",
                   f->option ? f->option : "operand", f->value, is_one ? "" : " (", is_one ? "" : f->path,
                   is_one ? "" : ")");
    return out;
}

/* A run goes on from its checkpoint, and replaces it. */
static bool may_be_same(const struct named_file *written, const struct named_file *read)
{
    return read->option && strcmp(written->option, "save") == 0 && strcmp(read->option, "resume") == 0;
}

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Would it replace a file in the folder that is read? A page may be written there: it is of what is read. */
static bool replaces_part(const struct named_file *written, const struct named_file *folder)
{
    const char *slash = strrchr(written->path, '/'), *name = slash ? slash + 1 : written->path;
    const char *ending = strrchr(name, '.');
    struct stat about;

    if (!is_folder(folder->path) || stat(written->path, &about) != 0 || !S_ISREG(about.st_mode) ||
        !file_is_in_folder(written->path, folder->path))
        return false;
    return folder->is_data ? dataset_path_is_part(name) : !ending || strcmp(ending, ".html") != 0;
}

static enum rc compare(const struct named_file *written, const struct named_file *other)
{
    char a[SHOWN_BYTES], b[SHOWN_BYTES];

    if (other->use == OPT_FOLDER || may_be_same(written, other))
        return RC_OK;
    if (file_is_same(written->path, other->path))
        return rc_raise(RC_INVAL, "%s: is the same file as %s; name another file", shown(a, written), shown(b, other));
    if (other->use == OPT_READ && replaces_part(written, other))
        return rc_raise(RC_INVAL, "%s: would replace a file of %s; name another file", shown(a, written),
                        shown(b, other));
    if (other->use == OPT_MADE_FOLDER && file_is_in_folder(written->path, other->path))
        return rc_raise(RC_INVAL, "%s: is in the folder of %s, which must be empty; name a file elsewhere",
                        shown(a, written), shown(b, other));
    return RC_OK;
}

enum rc verb_check_files(const struct verb_call *call)
{
    struct named_files all = { .file = NULL };
    enum rc rc;

    TRY(add_all(&all, call));
    for (size_t i = 0; i < all.n; i++)
        for (size_t k = 0; is_written(&all.file[i]) && k < all.n; k++) {
            const bool is_of_one = all.file[i].option == all.file[k].option; /* the files of a chart */
            if (!is_of_one && (k > i || !is_written(&all.file[k])))
                TRY(compare(&all.file[i], &all.file[k]));
        }
out:
    free(all.file);
    return rc;
}
