/*
 * Grows a tree of processes on a simulated server from a written plan, and reports each with its start time.
 *
 *     forest PLAN            grows the tree; the root is this process
 *     forest churn SECONDS   until then or the end of standard input starts innocent processes that end soon; reports "killed PID SIGNAL" for who did not
 *                            end by itself, and "wrapped" when the pids have come round
 *     forest init PIDS COMMAND...   is PID 1 of a namespace with that many pids: runs a command and reaps orphans
 *
 * A plan is words. A process does its acts in order, reports itself, comes to its end, and waits there for good:
 *
 *     hold GPU MIB     takes a context, with the device nodes open and mapped as a CUDA process has them
 *     watch            has the nodes open and nothing mapped
 *     setsid nohup stubborn reap subreaper     stubborn: ignores SIGTERM; reap: leaves no zombie children
 *     zombie           starts a child that ends at once
 *     fork ID [ ... ]  starts a child with all that this process has, and goes on when the child stands
 *     exec ID PROGRAM STYLE [ ... ]   starts another program (of FOREST_PROGRAMS) without it; STYLE says how it looks:
 *                      plain, spawn (a worker of multiprocessing), rank (of torchrun), leak (plain, with all descriptors)
 *     stop die lose-leader   the end, else it stays
 *
 * FOREST_SIM is the server's folder, FOREST_GPUS its GPUs, FOREST_REPORT a file for lines "ID PID STARTTICKS".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, LONGEST_LIFE_S = 180, MOST_WORDS = 4096, SLOTS = 16 };

static char *words[MOST_WORDS];
static int ready = -1;
static int serial;
static int has_nodes;
static void *uvm;

static void fail(const char *what) {
  perror(what);
  _exit(99);
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  if (!value) {
    fprintf(stderr, "%s is not set\n", name);
    _exit(99);
  }
  return value;
}

/* Nobody outlives a run that was broken off for long. */
static void begin_life(void) { alarm(LONGEST_LIFE_S); }

static unsigned long long start_ticks(void) {
  char text[1024];
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (length < 0) fail("/proc/self/stat");
  close(file);
  text[length] = 0;
  char *at = strrchr(text, ')');
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void report(const char *line) {
  int file = open(variable("FOREST_REPORT"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line, strlen(line)) < 0) fail("report");
  close(file);
}

static void *use_node(const char *name, int opened, int mapped) {
  char path[512];
  void *last = NULL;
  snprintf(path, sizeof path, "%s/dev/%s", variable("FOREST_SIM"), name);
  for (int count = 0; count < opened; count++) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) fail(path);
    for (int line = 0; count == 0 && line < mapped; line++) {
      /* The kernel joins neighbours only where the file goes on: the same page again stays a line of its own. */
      last = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (last == MAP_FAILED) fail(path);
    }
  }
  return last;
}

/* GRADES of lib/source/sim/nodes.ts */
static void use_nodes(int used_gpu) {
  char name[32];
  int gpus = atoi(variable("FOREST_GPUS"));
  for (int gpu = 0; gpu < gpus; gpu++) {
    int is_used = gpu == used_gpu;
    snprintf(name, sizeof name, "nvidia%d", gpu);
    use_node(name, used_gpu < 0 ? 3 : is_used ? 23 : 7, used_gpu < 0 ? 0 : is_used ? 3 : 2);
  }
  use_node("nvidiactl", used_gpu < 0 ? 1 : 2, used_gpu < 0 ? 0 : 27);
  void *mapping = use_node("nvidia-uvm", used_gpu < 0 ? 2 : 4, used_gpu < 0 ? 0 : 1);
  if (used_gpu >= 0) uvm = mapping;
}

static unsigned long pid_namespace(void) {
  char text[64] = "";
  if (readlink("/proc/self/ns/pid", text, sizeof text - 1) < 0) fail("/proc/self/ns/pid");
  return strtoul(strchr(text, '[') + 1, NULL, 10);
}

/* As lib/source/sim/memory.ts: the file gets its name when it is locked. A serial of its own for each life of a pid. */
static void hold(int gpu, long mebibytes) {
  char path[512], early[520];
  if (!has_nodes) use_nodes(gpu);
  has_nodes = 1;
  if (serial == 0) serial = (int)(start_ticks() % 99000) * 10;
  snprintf(path, sizeof path, "%s/mem/gpu%d/%d@%lu.%d.alloc", variable("FOREST_SIM"), gpu, getpid(), pid_namespace(),
           serial++);
  snprintf(early, sizeof early, "%s.new", path);
  int file = open(early, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = getpid(), .l_len = 1};
  if (file < 0 || ftruncate(file, mebibytes << 20) || fcntl(file, F_OFD_SETLK, &lock) || rename(early, path)) fail(path);
}

static char **end_of_block(char **at) {
  int depth = 0;
  do {
    if (!strcmp(*at, "[")) depth++;
    if (!strcmp(*at, "]")) depth--;
    at++;
  } while (depth > 0);
  return at;
}

/* The child's end of a pipe that ends when the child stands, or is gone. */
static pid_t start_child(int *waiting) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  close(ends[child == 0 ? 0 : 1]);
  if (child > 0) {
    *waiting = ends[0];
    return child;
  }
  begin_life();
  if (ready >= 0) close(ready);
  ready = ends[1];
  /* The driver marks this mapping VM_DONTCOPY. */
  if (uvm) munmap(uvm, PAGE);
  uvm = NULL;
  serial = 0;
  return 0;
}

static void await(int waiting) {
  char byte;
  while (read(waiting, &byte, 1) < 0 && errno == EINTR) continue;
  close(waiting);
}

static void become(char **at, const char *id) {
  const char *program = at[0], *style = at[1];
  char path[512], number[16], plan[65536] = "";
  for (char **word = at + 2, **end = end_of_block(word); word < end; word++) {
    strcat(plan, *word);
    strcat(plan, " ");
  }
  snprintf(path, sizeof path, "%s/%s", variable("FOREST_PROGRAMS"), program);
  snprintf(number, sizeof number, "%d", ready);
  setenv("FOREST_READY", number, 1);
  setenv("FOREST_ID", id, 1);
  setenv("FOREST_PLAN", plan, 1);
  fcntl(ready, F_SETFD, 0);
  if (!strcmp(style, "leak")) {
    for (int file = 3; file < 1024; file++) fcntl(file, F_SETFD, 0);
  }
  if (!strcmp(style, "rank")) {
    /* Each launcher is a job of its own. */
    snprintf(number, sizeof number, "%d", getppid());
    setenv("TORCHELASTIC_RUN_ID", number, 1);
    setenv("LOCAL_RANK", id, 1);
  }
  if (!strcmp(style, "spawn")) {
    execl(path, program, "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)",
          "--multiprocessing-fork", NULL);
  }
  execl(path, program, "train.py", NULL);
  fail(path);
}

static void *wait_for_end(void *none) {
  for (;;) pause();
  return none;
}

static void perform(char **at, const char *id);

static char **start(char **at) {
  int is_exec = !strcmp(at[0], "exec"), waiting;
  char **block = at + (is_exec ? 4 : 2);
  if (start_child(&waiting) == 0) {
    if (is_exec) become(at + 2, at[1]);
    perform(block + 1, at[1]);
  }
  await(waiting);
  return end_of_block(block);
}

static void come_to_end(const char *end, const char *id) {
  char line[64];
  pthread_t other;
  snprintf(line, sizeof line, "%s %d %llu\n", id, getpid(), start_ticks());
  report(line);
  if (!strcmp(end, "die")) kill(getpid(), SIGKILL);
  if (ready >= 0) close(ready);
  ready = -1;
  if (!strcmp(end, "stop")) kill(getpid(), SIGSTOP);
  if (!strcmp(end, "lose-leader")) {
    if (pthread_create(&other, NULL, wait_for_end, NULL)) fail("thread");
    pthread_exit(NULL);
  }
  wait_for_end(NULL);
}

static void perform(char **at, const char *id) {
  while (*at && strcmp(*at, "]")) {
    const char *act = *at;
    if (!strcmp(act, "fork") || !strcmp(act, "exec")) {
      at = start(at);
      continue;
    }
    at++;
    if (!strcmp(act, "hold")) {
      hold(atoi(at[0]), atol(at[1]));
      at += 2;
    } else if (!strcmp(act, "watch")) use_nodes(-1);
    else if (!strcmp(act, "setsid")) setsid();
    else if (!strcmp(act, "nohup")) signal(SIGHUP, SIG_IGN);
    else if (!strcmp(act, "stubborn")) signal(SIGTERM, SIG_IGN);
    else if (!strcmp(act, "reap")) signal(SIGCHLD, SIG_IGN);
    else if (!strcmp(act, "subreaper")) prctl(PR_SET_CHILD_SUBREAPER, 1);
    else if (!strcmp(act, "zombie")) {
      if (fork() == 0) _exit(0);
    } else come_to_end(act, id);
  }
  come_to_end("stay", id);
}

static void split(char *plan) {
  int count = 0;
  for (char *word = strtok(plan, " "); word && count < MOST_WORDS - 1; word = strtok(NULL, " ")) words[count++] = word;
}

static void live_shortly(unsigned seed) {
  begin_life();
  srand(seed);
  if (rand() % 4 == 0) use_nodes(-1);
  else if (rand() % 3 == 0) hold(rand() % atoi(variable("FOREST_GPUS")), 1);
  /* Most make pids come round; a few are there for both of gpuctl's looks. */
  usleep(rand() % (rand() % 16 == 0 ? 1000000 : 10000));
  _exit(0);
}

static int churn(int seconds) {
  char line[64];
  time_t end = time(NULL) + seconds;
  unsigned seed = 0;
  pid_t last = 0;
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  int running = 0, status;
  while (time(NULL) < end || running > 0) {
    if (time(NULL) < end && running < SLOTS) {
      pid_t child = fork();
      if (child == 0) live_shortly(++seed * 7919u + getpid());
      if (child > 0) running++;
      if (child > 0 && child < last) report("wrapped\n");
      if (child > 0) last = child;
    }
    pid_t ended;
    while ((ended = waitpid(-1, &status, running < SLOTS ? WNOHANG : 0)) > 0) {
      running--;
      if (!WIFSIGNALED(status)) continue;
      snprintf(line, sizeof line, "killed %d %d\n", ended, WTERMSIG(status));
      report(line);
    }
    usleep(1000);
    /* Whoever plays ends its end of standard input when it has seen enough. */
    if (read(STDIN_FILENO, line, 1) == 0) end = 0;
  }
  return 0;
}

static int init(const char *pids, char **command) {
  int status, file = open("/proc/sys/kernel/pid_max", O_WRONLY);
  if (getpid() != 1 || file < 0 || write(file, pids, strlen(pids)) < 0) fail("pid_max");
  close(file);
  pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    fail(command[0]);
  }
  for (pid_t ended; (ended = wait(&status)) != child;) {
    if (ended < 0 && errno != EINTR) fail("wait");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
  if (argc > 3 && !strcmp(argv[1], "init")) return init(argv[2], argv + 3);
  begin_life();
  if (argc > 2 && !strcmp(argv[1], "churn")) return churn(atoi(argv[2]));
  split(strdup(variable("FOREST_PLAN")));
  if (getenv("FOREST_READY")) {
    ready = atoi(getenv("FOREST_READY"));
    fcntl(ready, F_SETFD, FD_CLOEXEC);
  }
  perform(words + 1, variable("FOREST_ID"));
}
