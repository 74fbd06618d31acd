/* SPDX-License-Identifier: Apache-2.0 */
/* report_kit.h - a folder of one's own and whole files, for the tests of this room. */
#ifndef HARNESS_REPORT_SUITE_REPORT_KIT_H
#define HARNESS_REPORT_SUITE_REPORT_KIT_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"

enum { KIT_PATH_BYTES = 256, KIT_TEXT_BYTES = 65536 };

struct kit {
    char dir[KIT_PATH_BYTES - 64];
    char path[KIT_PATH_BYTES];
    char text[KIT_TEXT_BYTES]; /* of kit_read() */
};

/* False: no folder could be made. */
static inline int kit_open(struct kit *k)
{
    const char *base = getenv("TMPDIR");

    snprintf(k->dir, sizeof k->dir, "%s/gradmark-test-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(k->dir) != NULL;
}

/* The path of a file in the folder; lent until the next call. */
static inline const char *kit_path(struct kit *k, const char *name)
{
    snprintf(k->path, sizeof k->path, "%s/%s", k->dir, name);
    return k->path;
}

/* Number of files in the folder. */
static inline int kit_count_files(const struct kit *k)
{
    DIR *d = opendir(k->dir);
    int n = 0;

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    return n;
}

/* The text of a file in the folder, NULL when there is none; lent until the next call. */
static inline const char *kit_read(struct kit *k, const char *name)
{
    FILE *from = fopen(kit_path(k, name), "r");
    size_t n = 0;

    if (!from)
        return NULL;
    n = fread(k->text, 1, sizeof k->text - 1, from);
    k->text[n] = '\0';
    fclose(from);
    return k->text;
}

/* False: it could not be written. */
static inline int kit_write(struct kit *k, const char *name, const char *text)
{
    FILE *to = fopen(kit_path(k, name), "w");
    int written = to && fputs(text, to) >= 0;

    return to && fclose(to) == 0 && written;
}

/* Remove the folder and the files in it. */
static inline void kit_close(struct kit *k)
{
    DIR *d = opendir(k->dir);

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlink(kit_path(k, e->d_name));
    if (d)
        closedir(d);
    rmdir(k->dir);
}

/* A test with a folder of its own: *state is the kit. */
static inline int kit_set_up(void **state)
{
    static struct kit kit;

    *state = &kit;
    return kit_open(&kit) ? 0 : -1;
}

static inline int kit_tear_down(void **state)
{
    kit_close(*state);
    return 0;
}

#define KIT_TEST(f) UNIT_TEST_WITH(f, kit_set_up, kit_tear_down)

#endif
