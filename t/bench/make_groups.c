/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes and removes groups for the tick's bench: pods with containers below a root of
 * their own, in every cgroup hierarchy that neap reads, named as a kubelet with the
 * cgroupfs driver names them (2 of 5 pods BestEffort, 2 Burstable, 1 Guaranteed). Also
 * lists the files that every tick over them reads, for the programs that neap is measured
 * against: those of the pods, in whose counters the kernel includes their containers. The
 * groups stay empty. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNTS_MAX 8
#define PATH_SIZE  768

static const char help[] =
	"usage: make_groups make|list|remove ROOT [PODS [CONTAINERS]]\n"
	"  ROOT        name of the root group, beginning with \"neap-\"\n"
	"  PODS        pods below it (default 250), each with CONTAINERS (default 2)\n"
	"  make        makes them; list prints the files a tick reads, a line each, and an empty\n"
	"              line at its end; remove removes everything below ROOT, and ROOT\n";

struct mount {
	char path[256];
	bool is_v2, has_cpu, has_cpuacct, has_cpuset, has_memory;
};

struct bench {
	struct mount mounts[MOUNTS_MAX];
	int count;
	const char *root;
	int pods, containers;
};

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	(void)close(fd); /* a cgroup file reports at the write */
	return n >= 0;
}

static bool read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	(void)close(fd); /* only read from */
	buf[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

__attribute__((format(printf, 2, 3))) static const char *join(char *buf, const char *fmt,
							      ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(buf, PATH_SIZE, fmt, args);
	va_end(args);
	if (n >= PATH_SIZE) {
		fprintf(stderr, "make_groups: path too long\n");
		exit(1);
	}
	return buf;
}

static void find_mounts(struct bench *bench)
{
	FILE *file = setmntent("/proc/self/mounts", "r");
	struct mntent *entry;

	while (file && bench->count < MOUNTS_MAX && (entry = getmntent(file))) {
		struct mount mount = {0};
		char path[PATH_SIZE], controllers[512] = "";

		if (strlen(entry->mnt_dir) >= sizeof(mount.path))
			continue;
		strncpy(mount.path, entry->mnt_dir, sizeof(mount.path) - 1);
		if (strcmp(entry->mnt_type, "cgroup2") == 0) {
			join(path, "%s/cgroup.controllers", mount.path);
			if (!read_text(path, controllers, sizeof(controllers)))
				continue;
			mount.is_v2 = true;
			mount.has_cpu = mount.has_cpuacct = strstr(controllers, "cpu ") ||
							    strstr(controllers, "cpu\n");
			mount.has_cpuset = strstr(controllers, "cpuset");
			mount.has_memory = strstr(controllers, "memory");
		} else if (strcmp(entry->mnt_type, "cgroup") == 0) {
			mount.has_cpu = hasmntopt(entry, "cpu");
			mount.has_cpuacct = hasmntopt(entry, "cpuacct");
			mount.has_cpuset = hasmntopt(entry, "cpuset");
			mount.has_memory = hasmntopt(entry, "memory");
		}
		if (mount.has_cpu || mount.has_cpuacct || mount.has_cpuset ||
		    mount.has_memory)
			bench->mounts[bench->count++] = mount;
	}
	if (file)
		endmntent(file);
}

/* A new v1 cpuset group has no CPUs; a v2 parent must pass its controllers down. */
static void prepare(const struct mount *mount, const char *parent, const char *dir)
{
	static const char *const sets[] = {"cpuset.cpus", "cpuset.mems"};
	static const char *const controllers[] = {"+cpu", "+cpuset", "+memory", "+io",
						  "+pids"};
	char path[PATH_SIZE], text[4096];

	for (size_t i = 0; !mount->is_v2 && mount->has_cpuset && i < 2; i++) {
		if (read_text(join(path, "%s/%s", parent, sets[i]), text, sizeof(text)))
			(void)write_text(join(path, "%s/%s", dir, sets[i]),
					 text); /* no task needs it */
	}
	/* One by one: a controller that is not there must not keep the others back. */
	for (size_t i = 0; mount->is_v2 && i < 5; i++)
		(void)write_text(join(path, "%s/cgroup.subtree_control", parent),
				 controllers[i]);
}

static bool make(const struct mount *mount, const char *parent, const char *name,
		 char *dir)
{
	join(dir, "%s/%s", parent, name);
	if (mount->is_v2)
		prepare(mount, parent,
			dir); /* before, so that the files are there at once */
	if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
		fprintf(stderr, "make_groups: %s: %s\n", dir, strerror(errno));
		return false;
	}
	if (!mount->is_v2)
		prepare(mount, parent, dir);
	return true;
}

static const char *class_of(int pod)
{
	return pod % 5 < 2 ? "/besteffort" : pod % 5 < 4 ? "/burstable" : "";
}

static void pod_name(char *buf, int pod)
{
	join(buf, "pod%08x-0000-4000-8000-00000000beef", (unsigned)pod);
}

static void container_name(char *buf, int pod, int container)
{
	join(buf, "%032x%032x", (unsigned)pod, (unsigned)container + 1);
}

static bool make_all(const struct bench *bench, const struct mount *mount)
{
	char root[PATH_SIZE], dir[PATH_SIZE], pod_dir[PATH_SIZE], name[PATH_SIZE];

	if (!make(mount, mount->path, bench->root, root) ||
	    !make(mount, root, "besteffort", dir) || !make(mount, root, "burstable", dir))
		return false;
	for (int pod = 0; pod < bench->pods; pod++) {
		char parent[PATH_SIZE];

		join(parent, "%s/%s%s", mount->path, bench->root, class_of(pod));
		pod_name(name, pod);
		if (!make(mount, parent, name, pod_dir))
			return false;
		for (int container = 0; container < bench->containers; container++) {
			container_name(name, pod, container);
			if (!make(mount, pod_dir, name, dir))
				return false;
		}
	}
	return true;
}

static void list_file(const char *mount, const char *group, const char *file)
{
	char path[PATH_SIZE];

	if (access(join(path, "%s/%s/%s", mount, group, file), R_OK) == 0)
		puts(path);
}

static void list_group(const struct bench *bench, const char *group)
{
	for (int i = 0; i < bench->count; i++) {
		const struct mount *mount = &bench->mounts[i];

		if (mount->has_cpuacct && !mount->is_v2)
			list_file(mount->path, group, "cpuacct.usage");
		if (mount->has_cpu)
			list_file(mount->path, group, "cpu.stat");
		if (mount->has_cpu && mount->is_v2)
			list_file(mount->path, group, "cpu.pressure");
		if (!mount->has_memory)
			continue;
		list_file(mount->path, group,
			  mount->is_v2 ? "memory.current" : "memory.usage_in_bytes");
	}
}

static void list_all(const struct bench *bench)
{
	char pod_dir[PATH_SIZE], name[PATH_SIZE];

	puts("/proc/stat");
	puts("/proc/meminfo");
	for (int pod = 0; pod < bench->pods; pod++) {
		pod_name(name, pod);
		join(pod_dir, "%s%s/%s", bench->root, class_of(pod), name);
		list_group(bench, pod_dir);
	}
	puts("");
}

static int remove_dir(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type != FTW_DP)
		return 0; /* the kernel's files go with their directory */
	if (rmdir(path) < 0 && errno != ENOENT) {
		fprintf(stderr, "make_groups: %s: %s\n", path, strerror(errno));
		return 1;
	}
	return 0;
}

static bool remove_all(const struct bench *bench, const struct mount *mount)
{
	char path[PATH_SIZE];

	join(path, "%s/%s", mount->path, bench->root);
	return access(path, F_OK) < 0 ||
	       nftw(path, remove_dir, 32, FTW_DEPTH | FTW_PHYS) == 0;
}

int main(int argc, char **argv)
{
	static struct bench bench = {.pods = 250, .containers = 2};
	bool ok = true;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (argc < 3 || argc > 5 || strncmp(argv[2], "neap-", 5) != 0 ||
	    strchr(argv[2], '/')) {
		fputs(help, stderr);
		return 2;
	}
	bench.root = argv[2];
	if (argc > 3)
		bench.pods = (int)strtol(argv[3], NULL, 10);
	if (argc > 4)
		bench.containers = (int)strtol(argv[4], NULL, 10);
	find_mounts(&bench);
	if (bench.count == 0) {
		fprintf(stderr,
			"make_groups: no cgroup hierarchy with cpu, cpuset or memory\n");
		return 1;
	}
	if (strcmp(argv[1], "list") == 0) {
		list_all(&bench);
		return 0;
	}
	for (int i = 0; i < bench.count && ok; i++) {
		if (strcmp(argv[1], "make") == 0)
			ok = make_all(&bench, &bench.mounts[i]);
		else if (strcmp(argv[1], "remove") == 0)
			ok = remove_all(&bench, &bench.mounts[i]);
		else
			ok = fputs(help, stderr) < 0;
	}
	return ok ? 0 : 1;
}
