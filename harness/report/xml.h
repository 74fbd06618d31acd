/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xml.h - text in XML 1.0 documents: SVG, JUnit.
 *
 * Invariants
 *   X1  A reader gets back the same text, except for bytes that XML cannot represent (control characters, invalid
 *       UTF-8): U+FFFD replaces each.
 *   X2  Line feeds, tabs and returns are preserved in attributes, too, where a parser would turn them into blanks.
 */
#ifndef HARNESS_REPORT_XML_H
#define HARNESS_REPORT_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Length of the well-formed UTF-8 sequence at text; 0: invalid. n_bytes: bytes left, at least 1. */
size_t utf8_sequence_bytes(const char *text, size_t n_bytes);
bool utf8_is_valid(const char *text);
/* report.X1, X2: text escaped for use between tags and between quotes. */
void xml_text(FILE *to, const char *text);
/* ` name="text"`, with a blank before it. name is a constant of the program. */
void xml_attribute(FILE *to, const char *name, const char *text);

#endif
