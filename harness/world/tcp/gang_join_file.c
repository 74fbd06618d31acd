/* SPDX-License-Identifier: Apache-2.0 */
/* gang_join_file.c - the file that gradmark launch writes for processes that join its run. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/world/tcp/gang.h"

#define FIRST_LINE "gradmark-join 1"

/* --- to write --- */

/* A name that nobody has yet gets what is in fd, whose own is temporary_path. */
static enum rc put_in_place(const char *temporary_path, const char *path)
{
    if (link(temporary_path, path) == 0)
        return RC_OK;
    if (errno == EEXIST)
        return rc_raise(RC_INVAL,
                        "--join-file %.200s: is there already, of another run or of one that was killed; remove it, or "
                        "name another",
                        path);
    return rc_raise(RC_IO, "--join-file %.200s: cannot be written: %s", path, strerror(errno));
}

enum rc gang_write_join_file(const char *path, const char *root, const char *key, const char *members)
{
    char temporary_path[PATH_MAX];
    FILE *to = NULL;
    int fd = -1;
    enum rc rc = RC_OK;

    if (snprintf(temporary_path, sizeof temporary_path, "%s.XXXXXX", path) >= (int)sizeof temporary_path)
        return rc_raise(RC_INVAL, "--join-file %.200s: is too long for a path", path);
    fd = mkostemp(temporary_path, O_CLOEXEC); /* for its owner alone */
    if (fd < 0)
        return rc_raise(RC_INVAL, "--join-file %.200s: cannot be written: %s", path, strerror(errno));
    to = fdopen(fd, "w");
    if (!to)
        FAIL(RC_NOMEM, "--join-file %.200s: no memory for it", path);
    fd = -1;
    const bool is_well = fprintf(to, FIRST_LINE "\nkey %s\nroot %s\nmembers %s\n", key, root, members) > 0;
    const bool is_closed = fclose(to) == 0;
    if (!is_well || !is_closed)
        FAIL(RC_IO, "--join-file %.200s: cannot be written: %s", path, strerror(errno));
    TRY(put_in_place(temporary_path, path));
out:
    if (fd >= 0)
        (void)close(fd);
    (void)unlink(temporary_path);
    return rc;
}

/* --- to read --- */

/* The rest of the next line behind "NAME ", which stays until the next call; NULL: it is none such. */
static char *next_line(FILE *from, char **line, size_t *capacity, const char *name)
{
    const ssize_t n = getline(line, capacity, from);
    const size_t n_name = strlen(name);

    if (n <= 0 || (*line)[n - 1] != '\n' || strlen(*line) != (size_t)n || strncmp(*line, name, n_name) != 0)
        return NULL;
    (*line)[text_drop_marks(*line, (size_t)n) - 1] = '\0';
    return *line + n_name;
}

static enum rc take_lines(struct gang *g, FILE *from, char **line, size_t *capacity, const char *path)
{
    char host[GANG_ADDRESS_BYTES];
    const char *text = next_line(from, line, capacity, FIRST_LINE);
    uint16_t port;
    bool is_well = text && text[0] == '\0' && next_line(from, line, capacity, "key ");

    if (is_well && (text = next_line(from, line, capacity, "root ")) && gang_split_address(text, host, &port))
        (void)snprintf(g->root, sizeof g->root, "%s", text);
    else
        is_well = false;
    if (!is_well || !(text = next_line(from, line, capacity, "members ")))
        return rc_raise(RC_INVAL, "--join-file %.200s: is no file that gradmark launch --join-file wrote", path);
    return gang_read_members(g, text);
}

enum rc gang_of_join_file(struct gang *out, const char *path)
{
    struct gang g = { .listening_fd = -1, .start_s = GANG_START_S, .joins = true, .n_host_ranks = 1 };
    FILE *from = NULL;
    struct stat about;
    char *line = NULL;
    size_t capacity = 0;
    enum rc rc;

    TRY(file_of_option(file_open_text(&from, path, "a file that gradmark launch --join-file wrote"), "join-file"));
    if (fstat(fileno(from), &about) != 0)
        FAIL(RC_IO, "--join-file %.200s: cannot be read: %s", path, strerror(errno));
    if (about.st_mode & (S_IRWXG | S_IRWXO))
        FAIL(RC_INVAL, "--join-file %.200s: others than its owner may use it; use chmod 600", path);
    TRY(take_lines(&g, from, &line, &capacity, path));
    *out = g;
    g = (struct gang){ .listening_fd = -1 };
out:
    if (line)
        sodium_memzero(line, capacity);
    free(line);
    if (from)
        (void)fclose(from);
    gang_free(&g);
    return rc;
}
