/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longest single mistake; longer ones are cut. */
#define MISTAKE_MAX 256
/* Room kept for " and 4294967295 more". */
#define HIDDEN_MAX 20
#define ACCEPTED   "; accepted: "

struct folb_slice folb_slice_trim(struct folb_slice s)
{
  while (s.len > 0 &&
         (folb_is_blank(s.at[s.len - 1]) || s.at[s.len - 1] == '\r'))
    --s.len;
  while (s.len > 0 && folb_is_blank(s.at[0])) {
    ++s.at;
    --s.len;
  }
  return s;
}

bool folb_slice_is(struct folb_slice s, const char *text)
{
  size_t len = strlen(text);

  return s.len == len && memcmp(s.at, text, len) == 0;
}

bool folb_slice_begins(struct folb_slice s, const char *prefix)
{
  size_t len = strlen(prefix);

  return s.len >= len && memcmp(s.at, prefix, len) == 0;
}

size_t folb_slice_find(struct folb_slice s, char c)
{
  size_t i = 0;

  while (i < s.len && s.at[i] != c)
    ++i;
  return i;
}

size_t folb_slice_rfind(struct folb_slice s, char c)
{
  size_t i = s.len;

  while (i > 0 && s.at[i - 1] != c)
    --i;
  return i > 0 ? i - 1 : s.len;
}

struct folb_slice folb_slice_cut(struct folb_slice *rest,
                                 const char *separators, char *separator)
{
  struct folb_slice part = *rest;
  size_t            i    = 0;

  while (i < rest->len &&
         (rest->at[i] == '\0' || strchr(separators, rest->at[i]) == NULL))
    ++i;
  part.len   = i;
  *separator = '\0';
  if (i < rest->len)
    *separator = rest->at[i++];
  rest->at += i;
  rest->len -= i;
  return folb_slice_trim(part);
}

enum folb_number folb_slice_number(struct folb_slice s, uint32_t min,
                                   uint32_t max, uint32_t *out)
{
  uint64_t n = 0;
  size_t   i;

  if (s.len == 0 || (s.len > 1 && s.at[0] == '0'))
    return FOLB_NUMBER_FORM;
  for (i = 0; i < s.len; ++i) {
    if (!folb_is_digit(s.at[i]))
      return FOLB_NUMBER_FORM;
    /* Stops growing beyond 32 bits, but the rest must be digits too. */
    if (n <= UINT32_MAX)
      n = n * 10 + (uint64_t)(s.at[i] - '0');
  }
  if (n < min || n > max)
    return FOLB_NUMBER_RANGE;
  *out = (uint32_t)n;
  return FOLB_NUMBER_OK;
}

void folb_text_init(struct folb_text *text, char *buf, size_t size)
{
  text->buf  = buf;
  text->size = size;
  text->len  = 0;
  if (size > 0)
    buf[0] = '\0';
}

void folb_text_append(struct folb_text *text, const char *s, size_t len)
{
  if (text->len < text->size) {
    size_t room = text->size - text->len - 1;
    size_t n    = len < room ? len : room;

    memcpy(text->buf + text->len, s, n);
    text->buf[text->len + n] = '\0';
  }
  text->len += len;
}

FOLB_PRINTF(2, 0)
static void text_vadd(struct folb_text *text, const char *format, va_list args)
{
  bool fits = text->len < text->size;
  int  n    = vsnprintf(fits ? text->buf + text->len : NULL,
                    fits ? text->size - text->len : 0, format, args);

  if (n > 0)
    text->len += (size_t)n;
}

void folb_text_add(struct folb_text *text, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  text_vadd(text, format, args);
  va_end(args);
}

struct folb_quoted folb_quote(struct folb_slice s)
{
  struct folb_quoted q   = {""};
  bool               cut = s.len > FOLB_QUOTE_MAX;
  size_t             n   = cut ? FOLB_QUOTE_MAX : s.len;
  size_t             i;

  q.text[0] = '"';
  for (i = 0; i < n; ++i) {
    bool plain = (unsigned char)s.at[i] < 0x80 && !folb_is_control(s.at[i]);

    q.text[i + 1] = plain ? s.at[i] : '?';
  }
  memcpy(q.text + n + 1, "\"...", cut ? 4 : 1);
  return q;
}

enum folb_status folb_error_set(struct folb_error *err, enum folb_status code,
                                const char *format, ...)
{
  struct folb_text text;
  va_list          args;

  if (err == NULL)
    return code;
  err->code = code;
  err->line = 0;
  folb_text_init(&text, err->msg, sizeof(err->msg));
  va_start(args, format);
  text_vadd(&text, format, args);
  va_end(args);
  return code;
}

void folb_mistakes_init(struct folb_mistakes *m, struct folb_error *err,
                        const char *accepted)
{
  m->err      = err;
  m->accepted = accepted;
  m->code     = FOLB_OK;
  m->hidden   = 0;
  if (err != NULL) {
    err->code = FOLB_OK;
    err->line = 0;
    folb_text_init(&m->text, err->msg, sizeof(err->msg));
  }
}

static size_t mistakes_tail(const struct folb_mistakes *m)
{
  size_t tail = HIDDEN_MAX;

  if (m->accepted != NULL)
    tail += sizeof(ACCEPTED) + strlen(m->accepted);
  return tail;
}

void folb_mistakes_add(struct folb_mistakes *m, enum folb_status code,
                       unsigned line, const char *format, ...)
{
  char             buf[MISTAKE_MAX];
  struct folb_text one;
  va_list          args;
  size_t           len;

  if (m->code == FOLB_OK || code == FOLB_EINVAL)
    m->code = code;
  if (m->err == NULL)
    return;
  if (m->text.len == 0)
    m->err->line = line;
  folb_text_init(&one, buf, sizeof(buf));
  if (m->text.len > 0)
    folb_text_add(&one, "; ");
  if (line != 0)
    folb_text_add(&one, "line %u: ", line);
  va_start(args, format);
  text_vadd(&one, format, args);
  va_end(args);
  len = folb_text_fits(&one) ? one.len : sizeof(buf) - 1;
  /* The first one is shown in any case, cut by the end of the message. */
  if (m->text.len > 0 &&
      (m->hidden > 0 || m->text.len + len + mistakes_tail(m) > m->text.size)) {
    ++m->hidden;
    return;
  }
  folb_text_append(&m->text, buf, len);
}

enum folb_status folb_mistakes_end(struct folb_mistakes *m)
{
  if (m->err == NULL || m->code == FOLB_OK)
    return m->code;
  if (m->hidden > 0)
    folb_text_add(&m->text, " and %u more", m->hidden);
  if (m->accepted != NULL)
    folb_text_add(&m->text, ACCEPTED "%s", m->accepted);
  m->err->code = m->code;
  return m->code;
}
