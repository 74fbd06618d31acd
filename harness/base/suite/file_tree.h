/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_tree.h - a folder with copies of /proc and /sys as a test wants them, for code that takes a root. Test-only.
 */
#ifndef HARNESS_BASE_SUITE_FILE_TREE_H
#define HARNESS_BASE_SUITE_FILE_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/suite/unit.h"

enum { TREE_MAX_FILES = 16 };

struct tree {
    char root[32];
    const char *path[TREE_MAX_FILES]; /* written; lent by the test */
    int n_paths;
};

static inline int open_tree(void **state)
{
    static struct tree tree;

    memset(&tree, 0, sizeof tree);
    strcpy(tree.root, "/tmp/file_tree_XXXXXX");
    *state = &tree;
    return mkdtemp(tree.root) ? 0 : -1;
}

/* Write a file of the tree, or write it anew. */
static inline void put(struct tree *t, const char *path, const char *text)
{
    char whole[256];
    FILE *file;

    assert_true(t->n_paths < TREE_MAX_FILES);
    (void)snprintf(whole, sizeof whole, "%s%s", t->root, path);
    *strrchr(whole, '/') = '\0';
    assert_int_equal(file_make_folder(whole), RC_OK);
    (void)snprintf(whole, sizeof whole, "%s%s", t->root, path);
    file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    t->path[t->n_paths++] = path;
}

/* Files, then the folders they were in, while these are empty. */
static inline int close_tree(void **state)
{
    struct tree *t = *state;
    char whole[256];

    for (int i = 0; i < t->n_paths; i++) {
        (void)snprintf(whole, sizeof whole, "%s%s", t->root, t->path[i]);
        (void)unlink(whole);
    }
    for (int i = 0; i < t->n_paths; i++) {
        (void)snprintf(whole, sizeof whole, "%s%s", t->root, t->path[i]);
        for (char *slash; (slash = strrchr(whole, '/')) != NULL && slash > whole + strlen("/tmp");) {
            *slash = '\0';
            if (rmdir(whole) != 0)
                break;
        }
    }
    if (t->n_paths == 0)
        (void)rmdir(t->root);
    return access(t->root, F_OK) == 0;
}

#define TREE_TEST(f) UNIT_TEST_WITH(f, open_tree, close_tree)

#endif
