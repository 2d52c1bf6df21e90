/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of a machine for `neapctl doctor`, without conclusions. Everything is read below
 * a root, so that a recorded or made-up tree is examined like this machine; facts that
 * only system calls give are those of this machine. Needs neither root nor a daemon: a
 * fact that cannot be read is missing, which differs from a thing that does not exist.
 *
 * Texts are as the kernel gives them, cut to their arrays. Files of other programs may
 * hold anything, so callers sanitise what they print. */
#ifndef NEAP_HW_DOCTOR_FACTS_H
#define NEAP_HW_DOCTOR_FACTS_H

#include <sys/types.h>

#include "engine/base/error.h"

#define NEAP_FACTS_TEXT       256
#define NEAP_FACTS_PATH       512
#define NEAP_FACTS_MOUNTS     24
#define NEAP_FACTS_GROUPS     48
#define NEAP_FACTS_PARTITIONS 16
#define NEAP_FACTS_PROCESSES  32

/* Yes, no, or cannot be read. */
enum neap_known { NEAP_NO, NEAP_YES, NEAP_UNSEEN };

enum neap_psi_trigger {
	NEAP_PSI_UNTRIED, /* the root is not this machine */
	NEAP_PSI_FINE,    /* half-second windows: we have CAP_SYS_RESOURCE */
	NEAP_PSI_COARSE,  /* only windows that are multiples of 2 s */
	NEAP_PSI_REFUSED, /* errnum says why */
};

struct neap_kernel_facts {
	char release[64]; /* "6.18.44", "" unseen */
	int major, minor;
	char machine[64];            /* hypervisor, "" on bare metal */
	char container[64];          /* "docker", "a container", "" outside of one */
	enum neap_known cgroup_ns;   /* we are in a cgroup namespace of our own */
	enum neap_known pressure[3]; /* files for cpu, memory, io */
	enum neap_psi_trigger trigger;
	int trigger_errnum;
	enum neap_known resource; /* we have CAP_SYS_RESOURCE */
	enum neap_known resctrl;  /* supported by the kernel */
	bool is_resctrl_mounted;
	char resctrl_info[NEAP_FACTS_TEXT]; /* "L3 L3_MON MB" */
	char resctrl_cpu
		[NEAP_FACTS_TEXT]; /* as reported by the processor: "cat_l3 mba" */
	char resctrl_groups[NEAP_FACTS_TEXT];
	enum neap_known core_scheduling;
	enum neap_known autogroup; /* NO: off, or not in this kernel */
	int64_t swap_bytes;        /* NEAP_MISSING unseen */
	enum neap_known seccomp;
	enum neap_known landlock;
	int landlock_abi; /* 0 unseen */
	char online[NEAP_FACTS_TEXT], offline[NEAP_FACTS_TEXT];
	char isolated[NEAP_FACTS_TEXT], nohz_full[NEAP_FACTS_TEXT];
	enum neap_known smt; /* threads share cores, and are enabled */
	int64_t nofile_soft, nofile_hard;
};

struct neap_facts_mount {
	char path[NEAP_FACTS_PATH];
	/* v1: from mount options; v2: from cgroup.controllers */
	char controllers[NEAP_FACTS_TEXT];
	char handed_down[NEAP_FACTS_TEXT]; /* v2: cgroup.subtree_control */
	bool is_v2, is_read_only;
};

struct neap_facts_partition {
	char group[NEAP_FACTS_PATH]; /* below its mount */
	char what[64];               /* "cpuset.cpus.partition root" */
	char cpus[64];
};

struct neap_cgroup_facts {
	struct neap_facts_mount mounts[NEAP_FACTS_MOUNTS];
	int mount_count;
	char groups[NEAP_FACTS_GROUPS]
		   [64]; /* groups at the root of the hierarchy with cpu, sorted */
	int group_count;
	bool has_more_groups;
	struct neap_facts_partition partitions[NEAP_FACTS_PARTITIONS];
	int partition_count;
};

struct neap_facts_process {
	char comm[32];
	int pid;
	char group[NEAP_FACTS_TEXT]; /* its cgroup (cpu or v2), "" unknown */
};

struct neap_agent_facts {
	struct neap_facts_process processes[NEAP_FACTS_PROCESSES];
	int process_count;
	enum neap_known
		systemd;     /* process 1 is systemd, or its directory in /run exists */
	int systemd_version; /* 0 unseen */
	char runtimes[NEAP_FACTS_TEXT]; /* existing sockets, separated by blanks */
	/* "/var/lib/kubelet", "" when it does not exist */
	char kubelet_dir[NEAP_FACTS_PATH];
	char koordlet[NEAP_FACTS_PATH]; /* the first trace of a koordlet, "" without */
};

struct neap_facts {
	struct neap_kernel_facts kernel;
	struct neap_cgroup_facts cgroup;
	struct neap_agent_facts agents;
};

/* The kubelet process; with several, the one with the lowest pid. */
struct neap_kubelet_process {
	int pid;                     /* 0: none found */
	char group[NEAP_FACTS_TEXT]; /* its own */
	char command[8192];          /* arguments separated by newlines, "" unknown */
	char dir[NEAP_FACTS_PATH];   /* --root-dir, else /var/lib/kubelet */
	char file[NEAP_FACTS_PATH];  /* --config, "" without */
	bool is_file_unseen;         /* file is relative to a directory we may not read */
};

/* root "" is this machine. Fills *ret completely, whatever is missing. */
void neap_facts_gather(const char *root, struct neap_facts *ret);

/* Reads a small file below root without its final newline, cut to size. Returns its
 * length, or -errno. */
int neap_facts_read(const char *root, const char *path, char *buf, size_t size);
/* Reads the command line of a process, with newlines between arguments. Like
 * neap_facts_read. */
int neap_facts_command(const char *root, int pid, char *buf, size_t size);
/* Finds the value of "--NAME=VALUE" or "--NAME VALUE" in such a text, "" without. */
void neap_facts_option(const char *command, const char *name, char *buf, size_t size);
/* Uses the processes of facts. Relative paths start at the kubelet's working
 * directory. */
void neap_facts_kubelet(const char *root, const struct neap_agent_facts *facts,
			struct neap_kubelet_process *ret);
/* The same with its own scan of the processes. */
void neap_facts_kubelet_find(const char *root, struct neap_kubelet_process *ret);
/* Returns whether word is one of the words of text. */
bool neap_facts_has_word(const char *text, const char *word);

#endif
