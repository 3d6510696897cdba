/*
 * Runs commands in turn, round after round, and prints a line for each run: its index, wall time in ns, processor time in
 * us and peak memory in KiB (its own and that of the children it waited for), and its exit status, 128 and the signal if
 * one ended it. In C, so that what starts the clock does not weigh more than what is timed.
 *
 *     stopwatch ROUNDS WARMUPS WORDS WORD... [WORDS WORD...]...
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { MOST_COMMANDS = 32 };

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void run(int index, char **command, posix_spawn_file_actions_t *quiet, int counts) {
  struct rusage used;
  pid_t pid;
  int status;
  long long started = now_ns();
  if (posix_spawn(&pid, command[0], quiet, NULL, command, environ) != 0 || wait4(pid, &status, 0, &used) < 0) {
    fprintf(stderr, "stopwatch: cannot run %s\n", command[0]);
    exit(1);
  }
  long long wall = now_ns() - started;
  long long cpu = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (counts) printf("%d %lld %lld %ld %d\n", index, wall, cpu, used.ru_maxrss, code);
}

int main(int argc, char **argv) {
  char **commands[MOST_COMMANDS];
  int count = 0;
  if (argc < 5) return 2;
  int rounds = atoi(argv[1]), warmups = atoi(argv[2]);
  for (int at = 3; at < argc && count < MOST_COMMANDS;) {
    int words = atoi(argv[at]);
    if (words < 1 || at + words >= argc) return 2;
    char **command = calloc(words + 1, sizeof *command);
    for (int word = 0; word < words; word++) command[word] = argv[at + 1 + word];
    commands[count++] = command;
    at += words + 1;
  }

  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  for (int round = -warmups; round < rounds; round++) {
    /* Each round starts with another command, so that none is always the one after the slowest. */
    for (int turn = 0; turn < count; turn++) {
      int index = (turn + round + warmups) % count;
      run(index, commands[index], &quiet, round >= 0);
    }
  }
  return 0;
}
