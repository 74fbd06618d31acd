/* SPDX-License-Identifier: Apache-2.0 */
/* share_test.c - whose files a program takes: those of the copy it is installed in, else the source tree's. */
#include "harness/base/share.h"
#include "harness/base/suite/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folders, in the order in which they are made, of a prefix that has a build tree below it. */
static const char *const folders[] = { "share", "share/gradmark", "bin", "build", "build/release" };
enum { N_FOLDERS = sizeof folders / sizeof *folders };

struct prefix {
    char path[PATH_MAX];
};

static int set_up(void **state)
{
    static struct prefix p;
    char text[PATH_MAX + 32], made[] = "/tmp/share_test.XXXXXX";

    if (!mkdtemp(made) || !realpath(made, p.path))
        return -1;
    for (size_t i = 0; i < N_FOLDERS; i++) {
        (void)snprintf(text, sizeof text, "%s/%s", p.path, folders[i]);
        if (mkdir(text, 0700) != 0)
            return -1;
    }
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    const struct prefix *p = *state;
    char text[PATH_MAX + 32];

    for (size_t i = N_FOLDERS; i-- > 0;) {
        (void)snprintf(text, sizeof text, "%s/%s", p->path, folders[i]);
        if (rmdir(text) != 0)
            return -1;
    }
    return rmdir(p->path);
}

/* found: is the prefix that of program `file` where the build tree is in folder `build`? */
static void assert_found(const struct prefix *p, bool found, const char *file, const char *build)
{
    char program[PATH_MAX + 64], folder[PATH_MAX + 64] = "", out[PATH_MAX];

    (void)snprintf(program, sizeof program, "%s/%s", p->path, file);
    if (build)
        (void)snprintf(folder, sizeof folder, "%s/%s", p->path, build);
    if (share_prefix_of(out, sizeof out, program, folder) != found)
        fail_msg("%s, built in %s: %s", file, folder, out);
    assert_string_equal(out, found ? p->path : "");
}

UNIT_TEST(an_installed_copy_has_its_own)
{
    assert_found(*state, true, "bin/gradmark", NULL);
    assert_found(*state, true, "bin/gradmark", "build/release");
    assert_found(*state, true, "lib/libgradmark.so.0", "build/release");
    assert_found(*state, true, "lib/x86_64-linux-gnu/libgradmark.so.0", "build/release");
    assert_found(*state, false, "gradmark", "build/release"); /* neither bin nor lib */
}

/* Three folders up is what a library below lib/MACHINE looks through: a build tree ends the search. */
UNIT_TEST(a_build_tree_takes_the_sources)
{
    assert_found(*state, false, "build/release/gradmark", "build/release");
    assert_found(*state, false, "build/release/harness/gradmark_test", "build/release");
    assert_found(*state, false, "build/gradmark", "build");
}

int main(void)
{
    return unit_run("share", NULL, set_up, tear_down);
}
