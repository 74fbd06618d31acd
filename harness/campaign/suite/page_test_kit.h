/* SPDX-License-Identifier: Apache-2.0 */
/* page_test_kit.h - the page of what a folder holds, written with a gnuplot that is a script, or with none. */
#ifndef HARNESS_CAMPAIGN_SUITE_PAGE_TEST_KIT_H
#define HARNESS_CAMPAIGN_SUITE_PAGE_TEST_KIT_H

#include <sys/stat.h>

#include "harness/base/suite/names.h"
#include "harness/campaign/page.h"
#include "harness/campaign/suite/recorded_test_kit.h"

/* Draws 300 zeros; 400,000 where there is a file huge-svg or huge-png. */
static const char GNUPLOT[] = "#!/bin/sh\n"
                              "[ \"$1\" = --version ] && exit 0\n"
                              "eval \"$2\"\n"
                              "echo \"${3##*/}\" >>\"${0%/*}/calls\"\n"
                              "n=300; [ -e \"${0%/*}/huge-$format\" ] && n=400000\n"
                              "printf \"%0${n}d\" 0 >\"$out\"\n";

struct read { /* a page, whole */
    char *text;
    size_t n_bytes;
};

static inline struct read read_page(const char *path)
{
    struct read page = { NULL, 0 };
    FILE *from = fopen(path, "r");
    struct stat about;

    assert_non_null(from);
    assert_int_equal(fstat(fileno(from), &about), 0);
    page.text = malloc((size_t)about.st_size + 1);
    assert_non_null(page.text);
    page.n_bytes = fread(page.text, 1, (size_t)about.st_size, from);
    page.text[page.n_bytes] = '\0';
    fclose(from);
    return page;
}

/* The page of a path, with a gnuplot or none; *told: what was said. The caller frees both. */
static inline struct read page_at(struct kit *k, const char *source, const char *name, bool with_gnuplot, char **told)
{
    char page[KIT_PATH_BYTES], bin[KIT_PATH_BYTES], saved[4096];
    const char *path = getenv("PATH");
    size_t n_bytes = 0;
    struct recorded kept;
    FILE *to = open_memstream(told, &n_bytes);

    assert_non_null(to);
    snprintf(bin, sizeof bin, "%s/bin", k->dir);
    snprintf(page, sizeof page, "%s", kit_path(k, name));
    snprintf(saved, sizeof saved, "%s", path ? path : "");
    if (recorded_open(&kept, source) != RC_OK)
        fail_msg("%s", rc_message());
    setenv("PATH", with_gnuplot ? bin : "/nowhere", 1);
    const enum rc rc = page_write(&kept, page, to);
    setenv("PATH", saved, 1);
    if (rc != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(fclose(to), 0);
    recorded_close(&kept);
    return read_page(page);
}

static inline int set_up(void **state)
{
    char path[KIT_PATH_BYTES];

    if (kit_set_up(state) != 0)
        return -1;
    struct kit *k = *state;
    if (mkdir(kit_path(k, "bin"), 0700) != 0 || !kit_write(k, "bin/gnuplot", GNUPLOT))
        return -1;
    snprintf(path, sizeof path, "%s", kit_path(k, "bin/gnuplot"));
    return chmod(path, 0700);
}

static inline int tear_down(void **state)
{
    static const char *const files[] = { "bin/gnuplot", "bin/calls", "bin/huge-svg", "bin/huge-png" };
    struct kit *k = *state;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(kit_path(k, files[i]));
    rmdir(kit_path(k, "bin"));
    return kit_tear_down(state);
}

#define PAGE_TEST(f) UNIT_TEST_WITH(f, set_up, tear_down)

#endif
