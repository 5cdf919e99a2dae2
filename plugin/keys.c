/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The key table; README, dumps, parser and messages all follow it.
 */
#include "keys.h"

#include <string.h>

#include "members.h"

#define DAY_MS   86400000u
#define NO_FIELD SIZE_MAX
#define FIELD(f) offsetof(struct folb_config, f)
#define TIMES_MS "0..86400000 ms"
#define PATTERNS "repository id patterns (* and ?), comma separated"

/* Longest name that can be near to a key. */
#define NEAR_MAX 48

#define KEY(name, value, accepted, help, lists, later)                         \
  {                                                                            \
    name, value, accepted, help, lists, later                                  \
  }

/* Sorted by name, as strcmp() does. */
static const struct folb_key_spec specs[] = {
    {KEY("folbConnectRace", "0", TIMES_MS "; 0 = one after the other",
         "ms after which an unanswered connect is raced by one to the next "
         "endpoint",
         false, true),
     FOLB_FORM_NUMBER, 0, DAY_MS, NULL, NO_FIELD},
    {KEY("folbConnectTimeOutPeriod", "1500", TIMES_MS "; 0 = no cap",
         "ms one connect may take, all addresses of a name together", false,
         false),
     FOLB_FORM_NUMBER, 0, DAY_MS, NULL, FIELD(connect_ms)},
    {KEY("folbControl", "", "a directory, or nothing",
         "directory of the control socket of each process", false, true),
     FOLB_FORM_PATH, 0, 0, NULL, NO_FIELD},
    {KEY("folbDnsServers", "",
         "host:port, host a numeric address, comma separated, or nothing",
         "servers used by dns: and dns-srv: sources; empty = the system's",
         true, false),
     FOLB_FORM_SERVERS, 0, 0, NULL, FIELD(dns_servers)},
    {KEY("folbEject", "5000:300000",
         "first:max, each 1..86400000 ms, first not above max; 0:0 = never",
         "ms an endpoint is avoided after a failed connect, doubling up to "
         "the maximum",
         false, false),
     FOLB_FORM_EJECT, 0, DAY_MS, NULL, NO_FIELD},
    {KEY("folbEndpoints", "", FOLB_MEMBERS_ACCEPTED,
         "bootstrap endpoints, comma separated; ; separates clusters", true,
         false),
     FOLB_FORM_MEMBERS, 0, 0, NULL, FIELD(endpoints)},
    {KEY("folbEndpointsFile", "", "the path of a file, or nothing",
         "file of endpoints, one a line; [name] begins another cluster", false,
         false),
     FOLB_FORM_PATH, 0, 0, NULL, NO_FIELD},
    {KEY("folbFailBack", "never", "never, " TIMES_MS,
         "ms an endpoint must have been healthy before contexts return to "
         "their preferred one",
         false, false),
     FOLB_FORM_NUMBER, 0, DAY_MS, "never", FIELD(fail_back_ms)},
    {KEY("folbFastPath", "on", "on, off",
         "off: calls take omniORB's own path through the stream", false, true),
     FOLB_FORM_CHOICE, 0, 0, "on off", NO_FIELD},
    {KEY("folbFolb", "on", "on, off",
         "off: neither sends nor accepts GlassFish's FOLB contexts", false,
         false),
     FOLB_FORM_CHOICE, 0, 0, "on off", FIELD(protocol)},
    {KEY("folbIdempotent", "",
         "repository-id-pattern#operation-pattern (* and ?), comma separated, "
         "or nothing",
         "operations that may be re-sent after COMPLETED_MAYBE or "
         "COMPLETED_YES, once an invocation",
         true, false),
     FOLB_FORM_OPERATIONS, 0, 0, NULL, FIELD(idempotent)},
    {KEY("folbIdleCheck", "1", "off, " TIMES_MS "; 0 = always",
         "ms a pooled connection must have been idle before it is checked "
         "for a dead peer",
         false, false),
     FOLB_FORM_NUMBER, 0, DAY_MS, "off", FIELD(idle_check_ms)},
    /* The kernel's keep-alive counts whole seconds: none below one. */
    {KEY("folbKeepAlive", "20000", "off, 1000..86400000 ms",
         "ms without any sign of the peer's host after which a connection is "
         "given up",
         false, false),
     FOLB_FORM_NUMBER, 1000, DAY_MS, "off", FIELD(keep_alive_ms)},
    {KEY("folbLoadBalance", "context", "client, context, lookup",
         "grain of the ic-based policies", false, false),
     FOLB_FORM_CHOICE, 0, 0, "client context lookup", FIELD(load_balance)},
    {KEY("folbMaxCalls", "0",
         "0..1000000; 0 = as many as there may be connections",
         "calls of this process outstanding at one endpoint at once", false,
         false),
     FOLB_FORM_NUMBER, 0, 1000000, NULL, FIELD(max_calls)},
    {KEY("folbMaxConnectionAge", "0", TIMES_MS "; 0 = never",
         "ms after which a connection is closed between two calls, 20 % less "
         "to 20 % more",
         false, false),
     FOLB_FORM_NUMBER, 0, DAY_MS, NULL, FIELD(max_age_ms)},
    {KEY("folbMaxForwards", "10", "0..1000; 0 = none is followed",
         "LOCATION_FORWARD hops one invocation may follow", false, false),
     FOLB_FORM_NUMBER, 0, 1000, NULL, FIELD(max_forwards)},
    /* The words are in the order of enum folb_not_exist. */
    {KEY("folbNotExist", "adapter", "adapter, any, off",
         "which OBJECT_NOT_EXIST COMPLETED_NO is tried at the next endpoint",
         false, false),
     FOLB_FORM_CHOICE, 0, 0, "adapter any off", FIELD(not_exist)},
    {KEY("folbOutlier", "5", "off, 1..1000000",
         "consecutive failures of calls after which an endpoint is ejected "
         "while another is usable",
         false, false),
     FOLB_FORM_NUMBER, 1, 1000000, "off", FIELD(outlier)},
    {KEY("folbPerRequest", "", PATTERNS ", or nothing",
         "references of these types are balanced per request whatever the "
         "policy",
         true, false),
     FOLB_FORM_PATTERNS, 0, 0, NULL, FIELD(per_request)},
    {KEY("folbPolicy", "ic-based",
         "none, ordered, ic-based, ic-based-weighted, per-request, "
         "per-request-weighted, least-request, peak-ewma",
         "which endpoint a new context or a request goes to", false, false),
     FOLB_FORM_POLICY, 0, 0, NULL, NO_FIELD},
    {KEY("folbProbeInterval", "0", TIMES_MS "; 0 = no probing",
         "ms between LocateRequests to ejected endpoints", false, false),
     FOLB_FORM_NUMBER, 0, DAY_MS, NULL, FIELD(probe_ms)},
    {KEY("folbResolve", "",
         "dns:host:port, dns-srv:name, naming:corbaname, comma separated, or "
         "nothing",
         "further sources of endpoints", true, false),
     FOLB_FORM_LOOKUPS, 0, 0, NULL, FIELD(lookups)},
    {KEY("folbResolveInterval", "30000", "1..86400000 ms",
         "ms between refreshes of folbResolve", false, false),
     FOLB_FORM_NUMBER, 1, DAY_MS, NULL, FIELD(resolve_interval_ms)},
    {KEY("folbRetry", "0",
         "0 = one pass; initial:max:backoff[:maxsingle], initial 1..86400000 "
         "ms, max initial..86400000 ms, backoff 0..10000 %, maxsingle "
         "initial..86400000 ms",
         "sleeps between passes over the endpoints", false, false),
     FOLB_FORM_RETRY, 0, DAY_MS, NULL, NO_FIELD},
    {KEY("folbRetryBudget", "20:10",
         "off, percent:per-second, percent 0..1000, per-second 0..1000000",
         "re-sends of requests of which octets had been sent", false, false),
     FOLB_FORM_BUDGET, 0, 1000000, "off", NO_FIELD},
    {KEY("folbRewrite", "",
         "from=to, comma separated, from host or host:port, to host, "
         "host:port or drop, or nothing",
         "addresses in references, rewritten before use", true, false),
     FOLB_FORM_REWRITES, 0, 0, NULL, FIELD(rewrites)},
    {KEY("folbSeed", "0", "0..4294967295; 0 = from the kernel",
         "seed of the random source", false, false),
     FOLB_FORM_NUMBER, 0, UINT32_MAX, NULL, FIELD(seed)},
    {KEY("folbServer", "", "a name of 1..64 octets, or nothing",
         "in a server: this instance's name", false, false),
     FOLB_FORM_NAME, 0, 0, NULL, FIELD(server)},
    {KEY("folbServerPOAs", "*", "patterns (* and ?), comma separated",
         "names of persistent POAs whose references carry membership", true,
         false),
     FOLB_FORM_PATTERNS, 0, 0, NULL, FIELD(server_poas)},
    {KEY("folbSlowStart", "0", TIMES_MS,
         "ms over which an endpoint that returns from an ejection grows to "
         "its full weight",
         false, false),
     FOLB_FORM_NUMBER, 0, DAY_MS, NULL, FIELD(slow_start_ms)},
    {KEY("folbSpin", "0", "0..1000000 us",
         "us to spin before a blocking receive", false, true),
     FOLB_FORM_NUMBER, 0, 1000000, NULL, NO_FIELD},
    {KEY("folbStats", "", "a directory, or nothing",
         "directory of the statistics file of each process", false, true),
     FOLB_FORM_PATH, 0, 0, NULL, NO_FIELD},
    {KEY("folbSubset", "0", "0..1000000; 0 = all",
         "use only so many endpoints of each cluster", false, false),
     FOLB_FORM_NUMBER, 0, 1000000, NULL, FIELD(subset)},
    /* The words are in the order of enum folb_transient. */
    {KEY("folbTransient", "adapter", "adapter, any, off",
         "which TRANSIENT COMPLETED_NO of a reply is tried at the next "
         "endpoint",
         false, false),
     FOLB_FORM_CHOICE, 0, 0, "adapter any off", FIELD(transient)},
};

#define N_SPECS (sizeof(specs) / sizeof(specs[0]))

size_t folb_key_count(void) { return N_SPECS; }

const struct folb_key_spec *folb_key_spec_at(size_t i)
{
  return i < N_SPECS ? &specs[i] : NULL;
}

const struct folb_key *folb_key_at(size_t i)
{
  return i < N_SPECS ? &specs[i].key : NULL;
}

size_t folb_key_position(const char *name)
{
  size_t i;

  for (i = 0; i < N_SPECS; ++i)
    if (name != NULL && strcmp(specs[i].key.name, name) == 0)
      return i;
  return N_SPECS;
}

const struct folb_key *folb_key_find(const char *name)
{
  return folb_key_at(folb_key_position(name));
}

static size_t min3(size_t a, size_t b, size_t c)
{
  size_t ab = a < b ? a : b;

  return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours between two
 * names, without case; both at most NEAR_MAX long. */
static size_t name_distance(const char *a, size_t a_len, const char *b,
                            size_t b_len)
{
  size_t rows[3][NEAR_MAX + 1];
  size_t i;
  size_t j;

  for (j = 0; j <= b_len; ++j)
    rows[0][j] = j;
  for (i = 1; i <= a_len; ++i) {
    size_t       *row  = rows[i % 3];
    const size_t *up   = rows[(i - 1) % 3];
    const size_t *up2  = rows[(i + 1) % 3];
    char          a_at = folb_lower(a[i - 1]);

    row[0] = i;
    for (j = 1; j <= b_len; ++j) {
      char b_at = folb_lower(b[j - 1]);

      row[j] = min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (a_at != b_at));
      if (i > 1 && j > 1 && a_at == folb_lower(b[j - 2]) &&
          folb_lower(a[i - 2]) == b_at && up2[j - 2] + 1 < row[j])
        row[j] = up2[j - 2] + 1;
    }
  }
  return rows[a_len % 3][b_len];
}

static size_t common_prefix(const char *a, const char *b)
{
  size_t n = 0;

  while (a[n] != '\0' && folb_lower(a[n]) == folb_lower(b[n]))
    ++n;
  return n;
}

/* Of equally near ones the one that begins alike longer: ends of names are
 * forgotten more often than beginnings. */
const struct folb_key *folb_key_nearest(const char *name)
{
  const struct folb_key *nearest = NULL;
  size_t                 len     = name != NULL ? strlen(name) : 0;
  size_t                 least   = len / 3;
  size_t                 alike   = 0;
  size_t                 i;

  if (len > NEAR_MAX)
    return NULL;
  for (i = 0; i < N_SPECS && len > 0; ++i) {
    const struct folb_key *key = &specs[i].key;
    size_t d      = name_distance(name, len, key->name, strlen(key->name));
    size_t prefix = common_prefix(name, key->name);

    if (d < least || (d == least && (nearest == NULL || prefix > alike))) {
      nearest = key;
      least   = d;
      alike   = prefix;
    }
  }
  return nearest;
}

int folb_choice_position(const char *words, struct folb_slice s)
{
  struct folb_slice rest = folb_slice_of(words, strlen(words));
  char              separator;
  int               i = 0;

  do {
    struct folb_slice word = folb_slice_cut(&rest, " ", &separator);

    if (word.len == s.len && memcmp(word.at, s.at, s.len) == 0)
      return i;
    ++i;
  } while (separator != '\0');
  return -1;
}

size_t folb_numbers_read(struct folb_slice s, uint32_t *numbers, size_t max)
{
  size_t n = 0;
  char   separator;

  do {
    struct folb_slice part = folb_slice_cut(&s, ":", &separator);

    if (n == max ||
        folb_slice_number(part, 0, UINT32_MAX, &numbers[n++]) != FOLB_NUMBER_OK)
      return 0;
  } while (separator != '\0');
  return n;
}
