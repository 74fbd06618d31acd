/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - the place of the files that come with the program: PREFIX/share/gradmark of an installed one, else the
 * source tree that it was built from; see share.h.
 */
#include "harness/base/share.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file that this code was loaded from. Of a program the loader knows no more than argv[0]. */
static bool own_file(char out[PATH_MAX])
{
    static const char here[] = "";
    Dl_info found;

    if (dladdr(here, &found) != 0 && found.dli_fname && strstr(found.dli_fname, ".so"))
        return realpath(found.dli_fname, out) != NULL;
    return realpath("/proc/self/exe", out) != NULL;
}

/* Cut the last part of a path. */
static bool cut_part(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

bool share_prefix_of(char *out, size_t n_bytes, const char *file, const char *build_folder)
{
    char path[PATH_MAX], folder[PATH_MAX + 32];

    out[0] = '\0';
    (void)snprintf(path, sizeof path, "%s", file);
    for (int level = 0; level < 3 && cut_part(path); level++) { /* PREFIX/lib may have a part for the machine */
        if (strcmp(path, build_folder) == 0)                    /* what is installed above it is of another copy */
            return false;
        snprintf(folder, sizeof folder, "%s/share/gradmark", path);
        if (level > 0 && access(folder, R_OK | X_OK) == 0) {
            snprintf(out, n_bytes, "%s", path);
            return true;
        }
    }
    return false;
}

bool share_prefix(char *out, size_t n_bytes)
{
    char file[PATH_MAX], build_folder[PATH_MAX];

    out[0] = '\0';
    if (!own_file(file))
        return false;
    if (!realpath(GRADMARK_BUILD_DIR, build_folder)) /* an installed copy, whose build tree is gone */
        build_folder[0] = '\0';
    return share_prefix_of(out, n_bytes, file, build_folder);
}

void share_path(char *out, size_t n_bytes, const char *part, const char *source_path)
{
    char prefix[PATH_MAX];

    if (share_prefix(prefix, sizeof prefix))
        snprintf(out, n_bytes, "%s/share/gradmark/%s", prefix, part);
    else
        snprintf(out, n_bytes, "%s", source_path);
}
