/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replays a corpus through a fuzz target without libFuzzer, with any
 * compiler: each argument is a file, or a directory of files.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longest input, as libFuzzer's default for an empty corpus is 4096. */
#define INPUT_MAX (1u << 20)

static unsigned inputs;

/* The input lies in a block of its very size, so that a sanitizer sees every
 * octet read beyond it. */
static int replay_file(const char *path)
{
  static uint8_t buf[INPUT_MAX];
  FILE          *file = fopen(path, "rb");
  size_t         n;
  uint8_t       *input;
  int            failed;

  if (file == NULL) {
    perror(path);
    return 1;
  }
  n      = fread(buf, 1, sizeof(buf), file);
  failed = ferror(file);
  if (fclose(file) != 0 || failed != 0) {
    perror(path);
    return 1;
  }
  input = malloc(n > 0 ? n : 1);
  if (input == NULL)
    return 1;
  memcpy(input, buf, n);
  (void)LLVMFuzzerTestOneInput(input, n);
  free(input);
  ++inputs;
  return 0;
}

static int replay_directory(const char *path)
{
  struct dirent **entries;
  int             n      = scandir(path, &entries, NULL, alphasort);
  int             failed = n < 0;
  int             i;

  for (i = 0; i < n; ++i) {
    char file[4096];

    if (entries[i]->d_name[0] != '.') {
      (void)snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
      failed |= replay_file(file);
    }
    free(entries[i]);
  }
  if (n >= 0)
    free(entries);
  return failed;
}

int main(int argc, char **argv)
{
  int failed = 0;
  int i;

  for (i = 1; i < argc; ++i) {
    struct stat st;

    if (stat(argv[i], &st) != 0) {
      perror(argv[i]);
      failed = 1;
    } else if (S_ISDIR(st.st_mode)) {
      failed |= replay_directory(argv[i]);
    } else {
      failed |= replay_file(argv[i]);
    }
  }
  (void)printf("%u inputs\n", inputs);
  /* A corpus that is gone must not look like one that passes. */
  return failed != 0 || inputs == 0;
}
