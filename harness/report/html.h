/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h - a web page in one file: it opens from disk, loads nothing, and its tables sort by a click on a title.
 *
 * Invariants
 *   W1  Text reaches a page through html_text() alone, which escapes it: what a record, a host's name or a folder's
 *       name holds is shown and never a tag.
 *   W2  The page's own policy admits its scripts and styles (one each, or those of html_open_with() beside them) by
 *       their digests, and pictures that are in the page: what W1 let through could load nothing and run nothing.
 *       Pictures are separate documents (data: URLs): nothing in them is part of the page.
 *   W3  No file is at the path until html_commit() (file.h).
 *   W4  A cell of a right-aligned column sorts by the number it begins with, prefix (k M G) included, whatever is
 *       behind it: "1.2 M" above "900 k", "51 % (49 .. 52)" by 51. "2 of 10" is a number only in a column whose
 *       other cells are such; cells without a number come last, in either direction.
 */
#ifndef HARNESS_REPORT_HTML_H
#define HARNESS_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

#include "harness/base/file.h"
#include "harness/base/rc.h"
#include "harness/report/table.h"

struct html { /* a page in the making */
    struct atomic_file file;
    const char *own_script; /* borrowed; NULL: none */
};

/* Start a page with head and heading. RC_INVAL: path cannot be written. RC_NOMEM. */
enum rc html_open(struct html *page, const char *path, const char *title) MUST_CHECK;
/* The same of a page with a style and a script of its own beside those of all pages. They are constants of the program,
 * and hold no end tag. */
enum rc html_open_with(struct html *page, const char *path, const char *title, const char *style,
                       const char *script) MUST_CHECK;
/* W3. RC_IO: nothing new is at path. */
enum rc html_commit(struct html *page) MUST_CHECK;
/* No-op when not open or committed. */
void html_discard(struct html *page);

/* W1. */
void html_text(FILE *to, const char *text);
/* <name class="as">text</name>, printf-style; as NULL: without. name and as are constants of the program. Cut after
 * 1,023 bytes. */
void html_element(FILE *to, const char *name, const char *as, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* A list, an item for each line of text that is not empty. */
void html_lines(FILE *to, const char *as, const char *text);
/* A link to a file beside the page. */
void html_link(FILE *to, const char *href, const char *text);
/* W4. Each rule of the table begins a group. caption: what a reader who cannot see the page is told. */
void html_table(FILE *to, const struct table *t, const char *caption);
/* The picture at path, SVG, PNG or GIF as its name ends, with a caption. *n_bytes := what it took of the page;
 * RC_INVAL, RC_IO: cannot be read, RC_UNSUPPORTED: over most_bytes in the page; then nothing is written. RC_NOMEM. */
enum rc html_picture(FILE *to, const char *path, const char *caption, size_t most_bytes, size_t *n_bytes) MUST_CHECK;
/* The same of SVG in memory, of so many pixels. RC_NOMEM: nothing is written. */
enum rc html_svg(FILE *to, const char *svg, size_t n_bytes, const char *caption, int width_px,
                 int height_px) MUST_CHECK;

#endif
