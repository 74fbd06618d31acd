/* SPDX-License-Identifier: Apache-2.0 */
/* profile_roofs.c - a table of measured roofs, and the charts drawn under them. */
#include "harness/verbs/profile_roofs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/report/chart.h"

enum { KEY_BYTES = 512, PATH_BYTES = 2048 };

static const char HEAD[] = "device\tcompute\tprecision\tthreads\tgflop_per_s\tgb_per_s\n";
static const char ROOFS_LINE[] = "# roofs\t", TITLE_LINE[] = "# title\t";

struct roofs { /* of one key; n 0: none */
    int n;
    double least_gflop_per_s, peak_gflop_per_s, least_gb_per_s, peak_gb_per_s;
};

/* As one cell of a table: a device is called by others, who may use any character. */
static void cell_of(char out[KEY_BYTES / 2], const char *text)
{
    snprintf(out, KEY_BYTES / 2, "%s", text);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

/* verbs.F2: the first columns of a row. */
static void key_of(char out[KEY_BYTES], const struct report_about *about)
{
    char device[KEY_BYTES / 2];

    cell_of(device, about->device);
    snprintf(out, KEY_BYTES, "%s\t%.64s\t%.64s\t%d", device, about->compute, about->precision, about->n_threads);
}

void roofs_write_head(FILE *to, const struct report_about *about, const char *model, const char *machine)
{
    char key[KEY_BYTES], cell[KEY_BYTES / 2];

    key_of(key, about);
    cell_of(cell, machine);
    fprintf(to, "%s%s\n%s%s\t%s\n", ROOFS_LINE, key, TITLE_LINE, model, cell);
}

/* verbs.F4. Wait until no other process has it, and take the folder; unlocked by close(). -1: it cannot be opened, or
 * there are no locks on its file system: then nobody is asked. */
static int lock_folder(const char *dir)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fd;
}

static void unlock_folder(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void table_path(char out[PATH_BYTES], const char *dir)
{
    snprintf(out, PATH_BYTES, "%s/" ROOFS_NAME ".tsv", dir);
}

/* What follows a prefix in a line; NULL: it begins otherwise. */
static const char *behind(const char *line, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(line, prefix, n) == 0 ? line + n : NULL;
}

/* A number above 0 and the character behind it; *at then is behind both. */
static bool read_number(const char **at, char end, double *out)
{
    char *stop = NULL;

    *out = strtod(*at, &stop);
    if (stop == *at || *stop != end || !(*out > 0) || !isfinite(*out))
        return false;
    *at = stop + 1;
    return true;
}

/* The numbers of a row, whose key is that of `wanted` ("": any). */
static bool read_row(const char *line, const char *wanted, double *gflop_per_s, double *gb_per_s)
{
    const char *at = *wanted ? behind(line, wanted) : line;

    if (!at || (*wanted && *at != '\t'))
        return false;
    for (int i = 0; !*wanted && i < 4; i++)
        if (!(at = strchr(i == 0 ? at : at + 1, '\t')))
            return false;
    at++;
    return read_number(&at, '\t', gflop_per_s) && read_number(&at, '\n', gb_per_s) && *at == '\0';
}

static void take(struct roofs *r, double gflop_per_s, double gb_per_s)
{
    const bool is_first = r->n++ == 0;

    r->least_gflop_per_s = is_first ? gflop_per_s : fmin(r->least_gflop_per_s, gflop_per_s);
    r->peak_gflop_per_s = is_first ? gflop_per_s : fmax(r->peak_gflop_per_s, gflop_per_s);
    r->least_gb_per_s = is_first ? gb_per_s : fmin(r->least_gb_per_s, gb_per_s);
    r->peak_gb_per_s = is_first ? gb_per_s : fmax(r->peak_gb_per_s, gb_per_s);
}

/* Read dir/roofs.tsv, if it is there: the roofs of a key into *out, all rows to copy_to (NULL: nowhere). */
static enum rc read_table(struct roofs *out, const char *dir, const char *key, FILE *copy_to)
{
    char path[PATH_BYTES], *line = NULL;
    double gflop_per_s, gb_per_s;
    size_t n_room = 0;
    FILE *from = NULL;
    enum rc rc = RC_OK;

    *out = (struct roofs){ .n = 0 };
    table_path(path, dir);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return RC_OK;
    TRY(file_open_text(&from, path, "another folder"));
    for (int number = 1; getline(&line, &n_room, from) >= 0; number++) {
        (void)text_drop_marks(line, strlen(line));
        if (number == 1 ? strcmp(line, HEAD) != 0 : !read_row(line, "", &gflop_per_s, &gb_per_s))
            FAIL(RC_MISMATCH, "%s: line %d is none of a table of roofs; move the file away", path, number);
        if (read_row(line, key, &gflop_per_s, &gb_per_s))
            take(out, gflop_per_s, gb_per_s);
        if (number > 1 && copy_to)
            fputs(line, copy_to);
    }
    if (ferror(from))
        FAIL(RC_IO, "%s: cannot be read", path);
out:
    free(line);
    if (from)
        fclose(from);
    return rc;
}

enum rc roofs_check(const char *dir)
{
    struct roofs unused;

    return read_table(&unused, dir, "", NULL);
}

enum rc roofs_add(const char *dir, const struct layer_timing *m, const struct report_about *about)
{
    char key[KEY_BYTES], path[PATH_BYTES];
    struct atomic_file file = { 0 };
    struct roofs unused;
    const int lock = lock_folder(dir);
    enum rc rc;

    key_of(key, about);
    table_path(path, dir);
    TRY(atomic_file_open(&file, path));
    fputs(HEAD, file.stream);
    TRY(read_table(&unused, dir, key, file.stream));
    for (int i = 0; i < m->n_roofs; i++)
        fprintf(file.stream, "%s\t%.17g\t%.17g\n", key, m->roof[i].flops_per_s * 1e-9, m->roof[i].bytes_per_s * 1e-9);
out:
    rc = atomic_file_finish(&file, rc);
    unlock_folder(lock);
    return rc;
}

static bool next_line(char text[PATH_BYTES], FILE *from)
{
    if (!fgets(text, PATH_BYTES, from))
        return false;
    (void)text_drop_marks(text, strlen(text));
    return true;
}

/* The title of the chart whose table is at path, if it has the roofs of this key: *model, *machine into text. */
static bool has_roofs(char text[PATH_BYTES], const char *path, const char *key, const char **model,
                      const char **machine)
{
    FILE *from = NULL;
    const bool is_file = file_open_text(&from, path, "a table of a chart") == RC_OK;
    const char *at = is_file && next_line(text, from) ? behind(text, ROOFS_LINE) : NULL;
    char *tab = NULL;
    bool found = false;

    if (at && (at = behind(at, key)) && strcmp(at, "\n") == 0 && next_line(text, from) &&
        (*model = behind(text, TITLE_LINE)) && (tab = strchr(text + sizeof TITLE_LINE - 1, '\t'))) {
        *tab = '\0';
        *machine = tab + 1;
        tab[1 + strcspn(tab + 1, "\n")] = '\0';
        found = true;
    }
    if (from)
        fclose(from);
    return found;
}

static enum rc draw_chart(const struct roofs *r, const char *dir, const char *table, const char *model,
                          const char *machine)
{
    char path[PATH_BYTES], name[PATH_BYTES], value[5][32];
    const double number[] = { r->peak_gflop_per_s, r->peak_gb_per_s, r->least_gflop_per_s, r->least_gb_per_s };
    enum rc rc;

    for (int i = 0; i < 4; i++)
        snprintf(value[i], sizeof value[i], "%.17g", number[i]);
    snprintf(value[4], sizeof value[4], "%d", r->n);
    snprintf(path, sizeof path, "%s/%s", dir, table);
    snprintf(name, sizeof name, "%.*s", (int)strlen(table) - 4, table);
    const struct chart_var var[] = { { "model", model },
                                     { "machine", machine },
                                     { "peak_gflop_per_s", value[0] },
                                     { "peak_gb_per_s", value[1] },
                                     { "least_gflop_per_s", value[2] },
                                     { "least_gb_per_s", value[3] },
                                     { "n_roofs", value[4] } };
    TRY(chart_draw("roofline", path, dir, name, var, sizeof var / sizeof *var));
out:
    return rc;
}

static int is_table(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);

    return n > 4 && strcmp(e->d_name + n - 4, ".tsv") == 0;
}

enum rc roofs_draw(const char *dir, const struct report_about *about)
{
    char key[KEY_BYTES], path[PATH_BYTES], text[PATH_BYTES];
    const char *model = NULL, *machine = NULL;
    struct dirent **table = NULL;
    struct roofs r;
    const int lock = lock_folder(dir);
    int n = 0;
    enum rc rc;

    key_of(key, about);
    TRY(read_table(&r, dir, key, NULL));
    if (r.n == 0)
        FAIL(RC_MISMATCH, "%s/" ROOFS_NAME ".tsv has no roofs of this machine", dir);
    n = scandir(dir, &table, is_table, alphasort);
    if (n < 0)
        FAIL(RC_INVAL, "%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, table[i]->d_name);
        if (has_roofs(text, path, key, &model, &machine))
            TRY(draw_chart(&r, dir, table[i]->d_name, model, machine));
    }
out:
    for (int i = 0; i < n; i++)
        free(table[i]);
    free(table);
    unlock_folder(lock);
    return rc;
}
