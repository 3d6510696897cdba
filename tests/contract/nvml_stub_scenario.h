/* The scenario of nvml_stub.c: the machine it tells of, and how its file is read. */
#ifndef NVML_STUB_SCENARIO_H
#define NVML_STUB_SCENARIO_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPUTE, GRAPHICS, MPS, KINDS };
enum { MOST_GPUS = 64, MOST_INSTANCES = 8, MOST_RULES = 32, MOST_FIELDS = 8, MOST_PROCESSES = 4096, MOST_ACCOUNTED = 256, LINKS = 18 };

typedef unsigned long long u64;

struct process { unsigned kind, pid, gi, ci; u64 used; };
struct rule { char call[64]; int status; int hangs; };
struct field { unsigned id; unsigned value; int status; };
/* `gap` is 0 for an instance, else the status that its place gives: NOT_FOUND for an empty one. */
struct instance { char uuid[96], name[96]; unsigned gi, ci, gap; u64 total, used; };
/* An NVLink: `up` is 2 where there is none, `end` is nvmlIntNvLinkDeviceType_t. */
struct link { unsigned up, end; char bus[32]; };
struct health {
  unsigned ecc_current, ecc_pending, remapped[4], retirement, virtualization, fabric_state, sm_clock, architecture;
  int fabric_status;
  u64 uncorrected;
  struct link link[LINKS];
};
/* `is_gone` is a record that was overwritten after its pid was listed. */
struct accounted { unsigned pid, running, is_gone; u64 peak, started; };
struct gpu {
  char uuid[96], name[96], bus[32];
  unsigned minor, persistence, compute_mode, display, mig_current, mig_pending, utilization, grows, clears;
  u64 total, reserved, used;
  unsigned processes, rules, fields, instances, accounting, accounted_processes;
  struct process process[MOST_PROCESSES];
  struct accounted accounted[MOST_ACCOUNTED];
  struct rule rule[MOST_RULES];
  struct field field[MOST_FIELDS];
  struct instance instance[MOST_INSTANCES];
  struct health health;
};

static char driver[80], library[80];
static int cuda;
static unsigned v3_record, gpus;
static struct gpu gpu[MOST_GPUS];
static struct rule general[MOST_RULES];
static unsigned generals;
/* Survives a new reading: how many more processes each GPU has by now. */
static unsigned grown[MOST_GPUS];

/* Takes \xNN back to the byte; other text stands for itself. */
static void unescape(char *to, size_t size, const char *from) {
  size_t n = 0;
  while (*from && *from != '\n' && n + 1 < size) {
    if (from[0] == '\\' && from[1] == 'x' && from[2] && from[3]) {
      char digits[3] = { from[2], from[3], 0 };
      to[n++] = (char)strtoul(digits, NULL, 16);
      from += 4;
    } else {
      to[n++] = *from++;
    }
  }
  to[n] = 0;
}

static void add_rule(struct rule *rules, unsigned *count, const char *call, int status, int hangs) {
  if (*count == MOST_RULES) abort();
  struct rule *rule = &rules[(*count)++];
  snprintf(rule->call, sizeof rule->call, "%s", call);
  rule->status = status;
  rule->hangs = hangs;
}

static int read_health(struct health *h, const char *word, const char *rest) {
  unsigned *r = h->remapped;
  struct link link;
  unsigned place;
  if (!strcmp(word, "ecc")) return sscanf(rest, "%u %u", &h->ecc_current, &h->ecc_pending) == 2;
  if (!strcmp(word, "uncorrected")) return sscanf(rest, "%llu", &h->uncorrected) == 1;
  if (!strcmp(word, "remapped")) return sscanf(rest, "%u %u %u %u", r, r + 1, r + 2, r + 3) == 4;
  if (!strcmp(word, "retirement")) return sscanf(rest, "%u", &h->retirement) == 1;
  if (!strcmp(word, "virtualization")) return sscanf(rest, "%u", &h->virtualization) == 1;
  if (!strcmp(word, "fabric")) return sscanf(rest, "%u %d", &h->fabric_state, &h->fabric_status) == 2;
  if (!strcmp(word, "smclock")) return sscanf(rest, "%u", &h->sm_clock) == 1;
  if (!strcmp(word, "architecture")) return sscanf(rest, "%u", &h->architecture) == 1;
  if (strcmp(word, "nvlink") || sscanf(rest, "%u %u %u %31s", &place, &link.up, &link.end, link.bus) != 4) return 0;
  if (place >= LINKS) abort();
  h->link[place] = link;
  return 1;
}

static void read_line(char *line) {
  struct gpu *g = gpus ? &gpu[gpus - 1] : NULL;
  struct process p = { 0 };
  char word[64], call[64];
  unsigned a, b;
  int status, used = 0;
  if (sscanf(line, " %63s %n", word, &used) != 1) return;
  char *rest = line + used;
  rest[strcspn(rest, "\n")] = 0;
#define TEXT(key, field) if (!strcmp(word, key)) { unescape(field, sizeof field, rest); return; }
#define NUMBER(key, field) if (!strcmp(word, key)) { field = strtoull(rest, NULL, 0); return; }
  TEXT("driver", driver) TEXT("library", library) NUMBER("cuda", cuda) NUMBER("v3record", v3_record)
  if (!strcmp(word, "gpu")) {
    if (gpus == MOST_GPUS) abort();
    g = &gpu[gpus++];
    memset(g, 0, sizeof *g);
    for (unsigned link = 0; link < LINKS; link++) g->health.link[link].up = 2;
    return;
  }
  if (!strcmp(word, "fail") && sscanf(rest, "%63s %d", call, &status) == 2) {
    add_rule(g ? g->rule : general, g ? &g->rules : &generals, call, status, 0);
    return;
  }
  if (!strcmp(word, "hang") && sscanf(rest, "%63s", call) == 1) {
    add_rule(g ? g->rule : general, g ? &g->rules : &generals, call, 0, 1);
    return;
  }
  if (!g) abort();
  TEXT("uuid", g->uuid) TEXT("name", g->name) TEXT("bus", g->bus)
  NUMBER("minor", g->minor) NUMBER("persistence", g->persistence) NUMBER("computemode", g->compute_mode)
  NUMBER("display", g->display) NUMBER("utilization", g->utilization) NUMBER("grows", g->grows)
  NUMBER("clears", g->clears) NUMBER("accounting", g->accounting) NUMBER("total", g->total) NUMBER("reserved", g->reserved) NUMBER("used", g->used)
  if (read_health(&g->health, word, rest)) return;
  if (!strcmp(word, "mig") && sscanf(rest, "%u %u", &a, &b) == 2) {
    g->mig_current = a;
    g->mig_pending = b;
    return;
  }
  if (!strcmp(word, "process") && g->processes < MOST_PROCESSES &&
      sscanf(rest, "%u %u %llu %u %u", &p.kind, &p.pid, &p.used, &p.gi, &p.ci) == 5) {
    g->process[g->processes++] = p;
    return;
  }
  if (!strcmp(word, "accounted") && g->accounted_processes < MOST_ACCOUNTED) {
    struct accounted *record = &g->accounted[g->accounted_processes++];
    if (sscanf(rest, "%u %llu %llu %u %u", &record->pid, &record->peak, &record->started, &record->running,
               &record->is_gone) != 5) abort();
    return;
  }
  if (!strcmp(word, "field") && g->fields < MOST_FIELDS && sscanf(rest, "%u %u %d", &a, &b, &status) == 3) {
    g->field[g->fields++] = (struct field){ a, b, status };
    return;
  }
  if (!strcmp(word, "instance") && g->instances < MOST_INSTANCES) {
    struct instance *i = &g->instance[g->instances++];
    memset(i, 0, sizeof *i);
    used = 0;
    if (sscanf(rest, "%u %95s %u %u %llu %llu %n", &i->gap, i->uuid, &i->gi, &i->ci, &i->total, &i->used, &used) != 6) abort();
    unescape(i->name, sizeof i->name, rest + used);
    return;
  }
  fprintf(stderr, "nvml stub: a line of the scenario that means nothing: %s\n", line);
  abort();
}

/* Set by a test that has loaded the library into itself. */
static char chosen[512];

static const char *scenario_path(void) { return *chosen ? chosen : getenv("GPUCTL_NVML_STUB"); }

/* Tells the test that a call has begun never to return. */
static void mark_hanging(void) {
  char path[600];
  snprintf(path, sizeof path, "%s.hanging", scenario_path());
  FILE *file = fopen(path, "w");
  if (file) fclose(file);
}

/* Writes down a call that has changed a GPU. */
static void note_change(const char *uuid, const char *call) {
  char path[600];
  snprintf(path, sizeof path, "%s.changes", scenario_path());
  FILE *file = fopen(path, "a");
  if (!file) return;
  fprintf(file, "%s %s\n", uuid, call);
  fclose(file);
}

static int read_scenario(void) {
  const char *path = scenario_path();
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file) return 0;
  char line[512];
  gpus = generals = 0;
  v3_record = 24;
  while (fgets(line, sizeof line, file)) read_line(line);
  fclose(file);
  return 1;
}

#endif
