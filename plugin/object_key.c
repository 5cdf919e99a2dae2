/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Object keys of known ORBs: what they tell about the life of the object.  A
 * key is opaque to CORBA; these formats were read from the ORBs' own keys.
 * Where a key is of no known format it counts as persistent: the worst that
 * follows is OBJECT_NOT_EXIST from another server, while a persistent object
 * taken for a transient one would never fail over.
 */
#include <folb/folb.h>

#include <string.h>

#include "text.h"

/* Values of TAG_ORB_TYPE. */
#define ORB_OMNIORB 0x41545400u /* "ATT" */
#define ORB_TAO     0x54414f00u /* "TAO" */
#define ORB_JACORB  0x4a414300u /* "JAC" */

/* Octets that tell one run of an omniORB server from the next. */
#define OMNI_SUFFIX 8

struct key {
  const uint8_t *at;
  size_t         len;
};

static bool key_begins(struct key key, const char *octets, size_t n)
{
  return key.len >= n && memcmp(key.at, octets, n) == 0;
}

/* 0xfe, 8 octets, 0 */
static bool omni_suffix(struct key key, size_t at)
{
  return at < key.len && key.at[at] == 0xfe && key.len - at > OMNI_SUFFIX + 1 &&
         key.at[at + OMNI_SUFFIX + 1] == 0;
}

/* (0xff name)... and where the names end; names hold no 0, 0xfe, 0xff. */
static size_t omni_names(struct key key)
{
  size_t i = 0;

  while (i < key.len && (i > 0 || key.at[0] == 0xff) && key.at[i] != 0 &&
         key.at[i] != 0xfe)
    ++i;
  return i;
}

/* A key of an omniORB POA: names, perhaps none, and a suffix or a 0.  Keys
 * in clear ("NameService") are persistent and of no such form. */
static bool omni_matches(struct key key, bool *transient)
{
  size_t end = omni_names(key);

  *transient = omni_suffix(key, end);
  return *transient || (end > 1 && end < key.len && key.at[end] == 0);
}

/* 14 01 0f 00, root or not, who made the id, lifespan */
static bool tao_matches(struct key key, bool *transient)
{
  if (!key_begins(key, "\x14\x01\x0f", 4) || key.len < 7 ||
      (key.at[4] != 'R' && key.at[4] != 'N') ||
      (key.at[5] != 'S' && key.at[5] != 'U') ||
      (key.at[6] != 'P' && key.at[6] != 'T'))
    return false;
  *transient = key.at[6] == 'T';
  return true;
}

/* af ab cb 00, subcontract (always big-endian), server id, ... */
static bool glassfish_matches(struct key key, bool *transient)
{
  uint32_t subcontract;

  if (!key_begins(key, "\xaf\xab\xcb", 4) || key.len < 8)
    return false;
  subcontract = (uint32_t)key.at[4] << 24 | (uint32_t)key.at[5] << 16 |
                (uint32_t)key.at[6] << 8 | (uint32_t)key.at[7];
  *transient =
      subcontract == 2 ||
      (subcontract >= 0x20 && subcontract <= 0x3f && (subcontract & 2) == 0);
  return true;
}

/* ab ac ab, '0' persistent or '1' transient, ... */
static bool yoko_matches(struct key key, bool *transient)
{
  if (!key_begins(key, "\xab\xac\xab", 3) || key.len < 4 ||
      (key.at[3] != '0' && key.at[3] != '1'))
    return false;
  *transient = key.at[3] == '1';
  return true;
}

/* "implname/POA/oid"; a transient key has a number for implname. */
static bool jacorb_transient(struct key key)
{
  size_t i = 0;

  while (i < key.len && folb_is_digit((char)key.at[i]))
    ++i;
  return i > 0 && (i == key.len || key.at[i] == '/');
}

/* Of a reference whose ORB type does not tell. */
static enum folb_key_format magic_format(struct key key, bool *transient)
{
  if (tao_matches(key, transient))
    return FOLB_KEY_TAO;
  if (glassfish_matches(key, transient))
    return FOLB_KEY_GLASSFISH;
  if (yoko_matches(key, transient))
    return FOLB_KEY_YOKO;
  return FOLB_KEY_UNKNOWN;
}

struct folb_key_info folb_key_inspect(uint32_t orb_type, const uint8_t *key,
                                      size_t len)
{
  struct folb_key_info info = {FOLB_KEY_UNKNOWN, false, false};
  struct key           k    = {key, key != NULL ? len : 0};

  switch (orb_type) {
  case ORB_OMNIORB:
    info.format    = FOLB_KEY_OMNIORB;
    info.omni_like = true;
    (void)omni_matches(k, &info.transient);
    /* The ORB takes every key that begins so for one of its root POA. */
    info.transient |= k.len > 0 && k.at[0] == 0xfe;
    break;
  case ORB_TAO:
    info.format = FOLB_KEY_TAO;
    (void)tao_matches(k, &info.transient);
    break;
  case ORB_JACORB:
    info.format    = FOLB_KEY_JACORB;
    info.transient = jacorb_transient(k);
    break;
  case 0:
    info.format = magic_format(k, &info.transient);
    if (info.format == FOLB_KEY_UNKNOWN) {
      if (omni_matches(k, &info.transient))
        info.format = FOLB_KEY_OMNIORB;
      info.omni_like = true;
    }
    break;
  default:
    info.format = magic_format(k, &info.transient);
    break;
  }
  return info;
}
