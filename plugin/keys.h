/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * keys.h - the key table inside the engine.
 */
#ifndef FOLB_KEYS_H
#define FOLB_KEYS_H

#include "text.h"

/* The forms of values. */
enum folb_form {
  FOLB_FORM_MEMBERS,    /* lists of endpoints                        */
  FOLB_FORM_POLICY,     /* name of a policy                          */
  FOLB_FORM_NUMBER,     /* min..max, or word                         */
  FOLB_FORM_CHOICE,     /* one of word                               */
  FOLB_FORM_EJECT,      /* first:max                                 */
  FOLB_FORM_RETRY,      /* 0 or initial:max:backoff[:maxsingle]      */
  FOLB_FORM_OPERATIONS, /* id-pattern#operation-pattern,...          */
  FOLB_FORM_PATTERNS,   /* pattern,...                               */
  FOLB_FORM_PATH,       /* of a file or directory                    */
  FOLB_FORM_BUDGET,     /* percent:per-second, or word               */
  FOLB_FORM_REWRITES,   /* from=to,...                               */
  FOLB_FORM_LOOKUPS,    /* dns:..., dns-srv:..., naming:...          */
  FOLB_FORM_SERVERS,    /* host:port,... with numeric hosts          */
  FOLB_FORM_NAME,       /* name of an instance                       */
  FOLB_FORM_COUNT
};

struct folb_key_spec {
  struct folb_key key;
  enum folb_form  form;
  uint32_t        min; /* of a number */
  uint32_t        max;
  const char     *word; /* of FOLB_FORM_CHOICE: all of them, with a blank
                           between two; else what is accepted beside
                           numbers, or NULL                            */
  size_t field; /* where folb_config has what was read; SIZE_MAX: nowhere, or
                   the reader of the form knows                         */
};

/* NULL beyond the last. */
const struct folb_key_spec *folb_key_spec_at(size_t i);
/* The position of a key; folb_key_count() for none of that name. */
size_t folb_key_position(const char *name);

/* Position of s among the words of a choice; -1: it is none of them. */
int folb_choice_position(const char *words, struct folb_slice s);
/* Takes at most max numbers, separated by colons, apart.  Their number; 0
 * when one is no number, or there are more. */
size_t folb_numbers_read(struct folb_slice s, uint32_t *numbers, size_t max);

#endif
