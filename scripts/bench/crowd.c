/*
 * A machine full of processes: PROCESSES of them, each with DESCRIPTORS open files, asleep. Prints `ready`. When its
 * standard input ends it ends them all and waits for each: two thousand zombies would spoil what is measured next.
 *
 *     crowd PROCESSES DESCRIPTORS
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int processes = atoi(argv[1]), descriptors = atoi(argv[2]);
  pid_t *children = calloc(processes, sizeof *children);
  for (int made = 0; made < processes; made++) {
    pid_t child = fork();
    if (child < 0) {
      perror("crowd: fork");
      return 1;
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (int opened = 0; opened < descriptors; opened++) open("/dev/null", O_RDONLY);
      for (;;) pause();
    }
    children[made] = child;
  }
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  for (int made = 0; made < processes; made++) kill(children[made], SIGKILL);
  while (wait(NULL) > 0) continue;
  return 0;
}
