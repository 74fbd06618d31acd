/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xml.h - text in documents of XML 1.0: SVG, JUnit.
 *
 * Invariants
 *   X1  What a reader gets back is the text, but for bytes that XML has no place for (control characters, what is not
 *       UTF-8): U+FFFD stands for each.
 *   X2  Line feeds, tabs and returns come back in attributes, too, where a parser would make blanks of them.
 */
#ifndef HARNESS_REPORT_XML_H
#define HARNESS_REPORT_XML_H

#include <stddef.h>
#include <stdio.h>

/* Bytes of the well-formed UTF-8 sequence at text, of which n_bytes are left, at least 1; 0: it is none. */
size_t utf8_sequence_bytes(const char *text, size_t n_bytes);
/* X1, X2: text as it may stand between tags and between quotes. */
void xml_text(FILE *to, const char *text);
/* ` name="text"`, with a blank before it. name is a constant of the program. */
void xml_attribute(FILE *to, const char *name, const char *text);

#endif
