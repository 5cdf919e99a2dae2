/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * text.h - text of bounded length: building it, and taking apart what a
 * person wrote.  ASCII only and independent of the locale: what is a letter
 * or a blank must not change with LC_ALL of the application.
 */
#ifndef FOLB_TEXT_H
#define FOLB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <folb/folb.h>

#if defined(__GNUC__)
#define FOLB_PRINTF(text, args) __attribute__((format(printf, text, args)))
#else
#define FOLB_PRINTF(text, args)
#endif

/* ---- slices ------------------------------------------------------------ */

/* Part of somebody else's text, not terminated. */
struct folb_slice {
  const char *at;
  size_t      len;
};

static inline struct folb_slice folb_slice_of(const char *at, size_t len)
{
  struct folb_slice s = {at, len};

  return s;
}

static inline bool folb_is_digit(char c) { return c >= '0' && c <= '9'; }
/* Blanks between the words of a value. */
static inline bool folb_is_blank(char c) { return c == ' ' || c == '\t'; }
static inline bool folb_is_control(char c)
{
  return (unsigned char)c < 0x20 || c == 0x7f;
}
static inline char folb_lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Without blanks at both ends; a CR counts as a blank at the end of a line. */
struct folb_slice folb_slice_trim(struct folb_slice s);
bool              folb_slice_is(struct folb_slice s, const char *text);
bool              folb_slice_begins(struct folb_slice s, const char *prefix);
/* Position of the first or last c, or s.len. */
size_t folb_slice_find(struct folb_slice s, char c);
size_t folb_slice_rfind(struct folb_slice s, char c);
/* Takes the part before the first of the octets in separators off rest and
 * returns it trimmed; *separator is the one that ended it, 0 at the end. */
struct folb_slice folb_slice_cut(struct folb_slice *rest,
                                 const char *separators, char *separator);
/* What is wrong with a number. */
enum folb_number {
  FOLB_NUMBER_OK = 0,
  FOLB_NUMBER_FORM, /* no strict decimal: a sign, blanks, rubbish, nothing,
                       or a leading 0, which omniORB's own keys take for
                       octal                                              */
  FOLB_NUMBER_RANGE /* not within min..max                                */
};
enum folb_number folb_slice_number(struct folb_slice s, uint32_t min,
                                   uint32_t max, uint32_t *out);

/* ---- building ---------------------------------------------------------- */

/* A buffer that is always terminated (size 0: nothing is written).  len is
 * the length the whole text has; what does not fit is dropped. */
struct folb_text {
  char  *buf;
  size_t size;
  size_t len;
};

void folb_text_init(struct folb_text *text, char *buf, size_t size);
void folb_text_add(struct folb_text *text, const char *format, ...)
    FOLB_PRINTF(2, 3);
void folb_text_append(struct folb_text *text, const char *s, size_t len);
static inline bool folb_text_fits(const struct folb_text *text)
{
  return text->len < text->size;
}

/* Longest value shown in a message. */
#define FOLB_QUOTE_MAX 60

/* ---- errors ------------------------------------------------------------ */

/* Fills err, which may be NULL, and returns code. */
enum folb_status folb_error_set(struct folb_error *err, enum folb_status code,
                                const char *format, ...) FOLB_PRINTF(3, 4);

/* All mistakes of one text in one message: "m1; m2 and 3 more; accepted: a".
 * FOLB_EINVAL outranks FOLB_ENOTYET as the code of the whole: what is wrong
 * must be mended anyway. */
struct folb_mistakes {
  struct folb_error *err;      /* may be NULL                          */
  const char        *accepted; /* how the message ends; NULL: without  */
  struct folb_text   text;
  enum folb_status   code; /* FOLB_OK: none yet                        */
  unsigned           hidden;
};

void folb_mistakes_init(struct folb_mistakes *m, struct folb_error *err,
                        const char *accepted);
/* line: 1-based line of a file, shown as "line N: "; 0: not of a file. */
void folb_mistakes_add(struct folb_mistakes *m, enum folb_status code,
                       unsigned line, const char *format, ...)
    FOLB_PRINTF(4, 5);
/* Ends the message and returns its code. */
enum folb_status folb_mistakes_end(struct folb_mistakes *m);
/* The value as messages show it, in memory of the caller. */
struct folb_quoted {
  char text[FOLB_QUOTE_MAX + 8];
};
struct folb_quoted folb_quote(struct folb_slice s);

#endif
