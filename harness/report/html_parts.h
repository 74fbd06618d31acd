/* SPDX-License-Identifier: Apache-2.0 */
/* html_parts.h - the style and the script of every page, as html.c inserts them. Private to report/. */
#ifndef HARNESS_REPORT_HTML_PARTS_H
#define HARNESS_REPORT_HTML_PARTS_H

extern const char html_style[], html_script[];

#endif
