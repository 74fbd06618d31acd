/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h - a web page in one file. It opens from disk and loads nothing. A click on a column title sorts the table.
 *
 * Invariants
 *   W1  Text reaches a page only through html_text(), which escapes it: the content of a record, a host name or a
 *       folder name is shown as text and never interpreted as a tag.
 *   W2  The page's own policy admits its scripts and styles by their digests (one each, plus those of
 *       html_open_with()), and pictures inside the page. So even text that bypasses W1 can load or run nothing.
 *       Pictures are separate documents (data: URLs): nothing in them is part of the page.
 *   W3  No file is at the path until html_finish() (file.h).
 *   W4  A cell of a right-aligned column sorts by the number at its start, prefix (k M G) included. The rest of the
 *       cell is ignored: "1.2 M" sorts above "900 k", "51 % (49 .. 52)" by 51. "2 of 10" is a number only in a column
 *       whose other cells have this form. Cells without a number come last, in either direction.
 */
#ifndef HARNESS_REPORT_HTML_H
#define HARNESS_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

#include "harness/base/file.h"
#include "harness/base/rc.h"
#include "harness/report/table.h"

struct html { /* a page that is being written */
    struct atomic_file file;
    const char *own_script; /* borrowed; NULL: none */
};

/* Start a page with head and heading. RC_INVAL: path cannot be written. RC_NOMEM. */
enum rc html_open(struct html *page, const char *path, const char *title) MUST_CHECK;
/* The same for a page with an additional style and script. Both are constants of the program and contain no end tag.
 */
enum rc html_open_with(struct html *page, const char *path, const char *title, const char *style,
                       const char *script) MUST_CHECK;
/* If rc is RC_OK, put the page at its path (report.W3); RC_IO: nothing new is at path. Otherwise drop the page, if it
 * is open, and return rc. */
enum rc html_finish(struct html *page, enum rc rc) MUST_CHECK;

/* Write text, escaped (report.W1). */
void html_text(FILE *to, const char *text);
/* <name class="as">text</name>, printf-style; as NULL: without class. name and as are constants of the program. Cut
 * after 1,023 bytes. */
void html_element(FILE *to, const char *name, const char *as, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* A list with one item for each non-empty line of text. A line with indented lines below it is their head. */
void html_lines(FILE *to, const char *as, const char *text);
/* A link to a file beside the page. */
void html_link(FILE *to, const char *href, const char *text);
/* A sortable table (report.W4). Each rule of the table starts a group. caption: for readers who cannot see the page. */
enum rc html_table(FILE *to, const struct table *t, const char *caption) MUST_CHECK;
/* The same, for the last use of a table, which is closed. */
enum rc html_table_finish(FILE *to, struct table *t, const char *caption) MUST_CHECK;
/* The picture at path with a caption; the extension of path says SVG, PNG or GIF. *n_bytes := bytes added to the page.
 * Errors: RC_INVAL, RC_IO if it cannot be read; RC_UNSUPPORTED if it needs more than most_bytes in the page. Then
 * nothing is written. RC_NOMEM. */
enum rc html_picture(FILE *to, const char *path, const char *caption, size_t most_bytes, size_t *n_bytes) MUST_CHECK;
/* The same for SVG in memory, with its size in pixels. RC_NOMEM: nothing is written. */
enum rc html_svg(FILE *to, const char *svg, size_t n_bytes, const char *caption, int width_px,
                 int height_px) MUST_CHECK;

#endif
