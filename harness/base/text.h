/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - the nearest known name to a wrong one, numbers out of text, and words of a shell. */
#ifndef HARNESS_BASE_TEXT_H
#define HARNESS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The choice (NULL-terminated list) with the least edit distance to word, the first of equals. NULL if word has more
 * than 64 bytes, or more than a third of the characters of the longer one differ, because such a suggestion would not
 * help. Two swapped neighbours are one difference. Without such a choice: the first that has the same first words
 * ("batch" for "batch-size", and the reverse), or these initials ("learning-rate" for "lr"). */
const char *text_nearest(const char *word, const char *const *choices);

/* Bytes of the dashes at the start of word that no option has: en dash, em dash, minus and the like. Text programs
 * write them in place of hyphens. 0: it starts with none. */
size_t text_typographic_dashes(const char *word);

/* The end of a message about an unknown name: "; the nearest is NAME (of A, B, C)", or "; there are A, B, C". At most
 * n_bytes - 1 bytes: names without room are counted, "and 3 more". */
void text_say_choices(char *out, size_t n_bytes, const char *word, const char *const *choices);

/* The index of name among the choices "a|b|c"; -1: it is not among them. */
int text_choice(const char *choices, const char *name);

/* A whole decimal number, with an optional binary suffix Ki Mi Gi (or K M G: 1000s); no sign, no
 * space. False: not such a number, or over UINT64_MAX. */
bool text_to_u64(const char *text, uint64_t *out);
/* The number as text_to_u64() reads it, with a suffix if that leaves nothing out: "4Mi". Cut to fit. */
void text_of_size(char *out, size_t n_bytes, uint64_t value);
/* The same without a suffix: a port, a rank, a number of slots. */
bool text_to_plain_u64(const char *text, uint64_t *out);
/* Is it meant as an IPv6 address, with or without brackets, a port or a zone? Two colons are enough. */
bool text_is_ipv6(const char *text);
/* A finite decimal number (strtod syntax without hex, nan, inf), nothing before or after. */
bool text_to_f64(const char *text, double *out);

/* out[n_bytes] := what a text that is not a number may mean, to end a message: " (94 % is 0.94)", or " (0.94, with a
 * point)"; "": no suggestion. unit: of the number, as "bytes/s"; bits, bytes and parts of a second are converted. */
void text_number_hint(char *out, size_t n_bytes, const char *text, const char *unit);

/* Steps through a comma list: copies the next element to out[n_bytes], and moves *rest past it. False: no element left.
 * An element too long for out is cut (the caller compares names). */
bool text_next(const char **rest, char *out, size_t n_bytes);

/* The nearest valid numbers below and above n, to end a message: "60 or 64". Multiples of `of`, from `of` on; divisors
 * of `whole`, except 1. */
void text_near_multiples(char *out, size_t n_bytes, uint64_t n, uint64_t of);
void text_near_divisors(char *out, size_t n_bytes, uint64_t n, uint64_t whole);

/* Removes in place what editors add to a text: a byte order mark of UTF-8 before it, and the carriage returns of line
 * ends of Windows. Ends the text with a zero byte, at text[n_bytes] at the latest. Returns the number of bytes left. */
size_t text_drop_marks(char *text, size_t n_bytes);

/* Has the text a control character, such as a line feed or a tab? shown[n_bytes] := the text, cut, with a question mark
 * for each. */
bool text_has_control(char *shown, size_t n_bytes, const char *text);

/* out[n_bytes] := text as one word of a shell, in quotes if needed. 4 bytes for each letter of text, and 3 more, are
 * enough. */
void text_shell_word(char *out, size_t n_bytes, const char *text);
/* The shortest decimal number that reads back as value: 0.1, not 0.10000000000000001. */
void text_of_f64(char out[32], double value);
/* The same for a value that was a float: 0.1, not 0.10000000149011612. */
void text_of_f32(char out[32], float value);
/* 1234567 -> "1.235 M", 999.9999 -> "1 k": four significant digits, less than 1000 of a prefix if there is one; "-":
 * not finite. */
void rate_text(char *out, size_t n_bytes, double per_s);

#endif
