/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.c - one run of gnuplot for each picture format.
 *
 * A picture is drawn under a temporary name and renamed when gnuplot succeeded and left something: a
 * failure never replaces an old picture by half a new one. Text reaches the script as gnuplot string
 * constants in single quotes, where only the quote itself needs care; nothing goes through a shell.
 */
#include "harness/report/chart.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/share.h"
#include "harness/world/child.h"

enum { LIMIT_MS = 120000, COMPLAINT_BYTES = 4096, LEAST_PICTURE_BYTES = 200, PATH_BYTES = 4096, MOST_VARS = 24 };
enum { LEAST_COLUMNS = 60, COLUMNS = 79, MOST_COLUMNS = 140 }; /* of a picture in letters */

/* The folder of the scripts: out, or what the environment says. */
static const char *share_dir(char out[PATH_BYTES])
{
    const char *dir = getenv("GRADMARK_SHARE_DIR");

    if (dir && *dir)
        return dir;
    share_path(out, PATH_BYTES, "gnuplot", GRADMARK_SHARE_DIR);
    return out;
}

bool chart_split_path(const char *path, char dir[CHART_PATH_BYTES], char name[CHART_PATH_BYTES])
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const size_t n = strlen(base);

    if (strlen(path) >= CHART_PATH_BYTES || n < 5 ||
        (strcmp(base + n - 4, ".png") != 0 && strcmp(base + n - 4, ".svg") != 0))
        return false;
    snprintf(name, CHART_PATH_BYTES, "%.*s", (int)n - 4, base);
    if (slash == NULL)
        snprintf(dir, CHART_PATH_BYTES, ".");
    else
        snprintf(dir, CHART_PATH_BYTES, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return true;
}

bool chart_available(void)
{
    char *const argv[] = { "gnuplot", "--version", NULL };
    int exit_code;

    if (child_run(argv, LIMIT_MS, NULL, &exit_code, NULL, 0) == RC_OK && exit_code == 0)
        return true;
    rc_clear(); /* the answer is no: that is not an error */
    return false;
}

/* Write "name='value'; " into a stream in memory; control characters have no place in a picture. */
static void assign(FILE *to, const char *name, const char *value)
{
    fprintf(to, "%s='", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\'')
            fputc('\'', to);
        fputc((unsigned char)*c < ' ' ? ' ' : *c, to);
    }
    fputs("'; ", to);
}

/* The error in gnuplot's output: the line that names a place in the script, else the first. Cuts text
 * behind it; "" when gnuplot printed nothing. */
static const char *complaint(char *text)
{
    char *first = NULL, *rest = text;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t\r");
        if (*line == '\0' || strspn(line, "^ \t") == strlen(line))
            continue;
        if (strstr(line, ": ") && strstr(line, "line ") && !strstr(line, "warning:"))
            return line;
        if (!first)
            first = line;
    }
    return first ? first : "";
}

struct drawing { /* one picture in the making */
    char *script_path, *assignments, *temporary_path, *path;
    char *target_path; /* where path is found, links followed */
};

static void drawing_fini(struct drawing *d)
{
    free(d->script_path);
    free(d->assignments);
    free(d->temporary_path);
    free(d->path);
    free(d->target_path);
    *d = (struct drawing){ 0 };
}

static enum rc drawing_init(struct drawing *d, const char *script, const char *data_path, const char *dir,
                            const char *name, const char *format, const struct chart_var *var, int n_vars)
{
    char own[PATH_BYTES];
    const char *scripts = share_dir(own);
    size_t n_bytes = 0;
    FILE *to = NULL;
    enum rc rc = RC_OK;

    *d = (struct drawing){ 0 };
    if (asprintf(&d->script_path, "%s/%s.gp", scripts, script) < 0)
        d->script_path = NULL;
    if (asprintf(&d->path, "%s/%s.%s", dir, name, format) < 0)
        d->path = NULL;
    d->target_path = d->path ? file_target(d->path) : NULL;
    if (!d->target_path && d->path)
        FAIL(errno == ENOMEM ? RC_NOMEM : RC_IO, "%s: cannot be written: %s", d->path, strerror(errno));
    const int n_folder = d->path ? (int)(strrchr(d->target_path, '/') - d->target_path) : 0;
    if (!d->path ||
        asprintf(&d->temporary_path, "%.*s/.%s.part", n_folder, d->target_path, d->target_path + n_folder + 1) < 0)
        d->temporary_path = NULL;
    to = open_memstream(&d->assignments, &n_bytes);
    if (!d->script_path || !d->path || !d->temporary_path || !to)
        FAIL(RC_NOMEM, "no memory to draw %s", name);
    assign(to, "share", scripts);
    assign(to, "data", data_path);
    assign(to, "format", format);
    assign(to, "out", d->temporary_path);
    for (int i = 0; i < n_vars; i++)
        assign(to, var[i].name, var[i].value);
out:
    if (to && fclose(to) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory to draw %s", name);
    if (rc != RC_OK)
        drawing_fini(d);
    return rc;
}

static enum rc draw(const struct drawing *d)
{
    char *const argv[] = { "gnuplot", "-e", d->assignments, d->script_path, NULL };
    char text[COMPLAINT_BYTES];
    struct stat about;
    int exit_code;
    enum rc rc;

    text[0] = '\0';
    TRY(child_run(argv, LIMIT_MS, NULL, &exit_code, text, sizeof text));
    if (exit_code != 0)
        FAIL(RC_IO, "%s: gnuplot failed: %s", d->path, complaint(text));
    if (stat(d->temporary_path, &about) != 0 || about.st_size < LEAST_PICTURE_BYTES)
        FAIL(RC_IO, "%s: gnuplot drew nothing: %s", d->path, complaint(text));
    if (rename(d->temporary_path, d->target_path) != 0)
        FAIL(RC_IO, "%s: cannot be put in place: %s", d->path, strerror(errno));
out:
    if (rc != RC_OK)
        unlink(d->temporary_path);
    return rc;
}

static enum rc check_drawable(const char *data_path)
{
    if (!chart_available())
        return rc_raise(RC_UNSUPPORTED, "charts need gnuplot, which cannot be started (Debian: gnuplot-nox)");
    if (access(data_path, R_OK) != 0)
        return rc_raise(RC_IO, "%s: %s", data_path, strerror(errno));
    return RC_OK;
}

enum rc chart_draw(const char *script, const char *data_path, const char *dir, const char *name,
                   const struct chart_var *var, int n_vars)
{
    static const char *const format[] = { "svg", "png" };
    struct drawing d = { 0 };
    enum rc rc;

    TRY(check_drawable(data_path));
    for (size_t i = 0; i < sizeof format / sizeof *format; i++) {
        TRY(drawing_init(&d, script, data_path, dir, name, format[i], var, n_vars));
        TRY(draw(&d));
        drawing_fini(&d);
    }
out:
    drawing_fini(&d);
    return rc;
}

enum rc chart_animate(const char *script, const char *data_path, const char *dir, const char *name,
                      const struct chart_var *var, int n_vars)
{
    struct drawing d = { 0 };
    enum rc rc;

    TRY(check_drawable(data_path));
    TRY(drawing_init(&d, script, data_path, dir, name, "gif", var, n_vars));
    TRY(draw(&d));
out:
    drawing_fini(&d);
    return rc;
}

/* A text of that name in the folder of the data. */
static enum rc copy_and_remove(const char *path, FILE *to)
{
    FILE *from = fopen(path, "re");
    int c;

    if (!from)
        return rc_raise(RC_IO, "%s: %s", path, strerror(errno));
    while ((c = fgetc(from)) != EOF)
        if (c != '\f') /* gnuplot begins a page */
            fputc(c, to);
    fclose(from);
    unlink(path);
    return RC_OK;
}

/* How wide a picture may be there: a column less than the terminal, which would fold full lines. */
static int columns_of(FILE *to)
{
    struct winsize window;
    const int fd = fileno(to);

    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
        return COLUMNS;
    const int columns = window.ws_col - 1;
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
}

enum rc chart_print(const char *script, const char *data_path, const struct chart_var *var, int n_vars, FILE *to)
{
    char folder[PATH_BYTES], columns[16];
    struct chart_var all[MOST_VARS] = { { "columns", columns } };
    struct drawing d = { 0 };
    enum rc rc;

    assert(n_vars < MOST_VARS);
    snprintf(columns, sizeof columns, "%d", columns_of(to));
    for (int i = 0; i < n_vars; i++)
        all[i + 1] = var[i];
    TRY(check_drawable(data_path));
    const char *slash = strrchr(data_path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - data_path) : 1, slash ? data_path : ".");
    TRY(drawing_init(&d, script, data_path, folder, ".drawn", "dumb", all, n_vars + 1));
    TRY(draw(&d));
    TRY(copy_and_remove(d.path, to));
out:
    drawing_fini(&d);
    return rc;
}
