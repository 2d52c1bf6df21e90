/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories of the managed trees with any names, coming and going between looks: every
 * pod that is found is one that can be gone by, once, and what is gone is found no
 * more. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hw/scan.h"
#include "t/fuzz/lib/fuzz.h"

#define STEPS 40

static const struct neap_tree trees[] = {
	{"neap", NEAP_DRIVER_CGROUPFS, true},
	{"kubepods.slice", NEAP_DRIVER_SYSTEMD, false},
	{"kubepods", NEAP_DRIVER_CGROUPFS, false},
};
static const char *const parents[] = {
	"neap",
	"neap/besteffort",
	"kubepods.slice",
	"kubepods.slice/kubepods-besteffort.slice",
	"kubepods.slice/kubepods-burstable.slice",
	"kubepods",
	"kubepods/burstable",
	"kubepods/besteffort",
};

static char root[96];
static struct neap_cgroup cgroup;

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static void tree_make(void)
{
	char path[256];

	(void)mkdir(root, 0755);
	fuzz_file_put(root, "cgroup.controllers", "cpu cpuset memory\n", 18);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(parents); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, parents[i]);
		FUZZ_CHECK(mkdir(path, 0755) == 0);
	}
}

static void tree_empty(void)
{
	char path[256];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(trees); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, trees[i].root);
		FUZZ_CHECK(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
	}
}

/* One line: a digit for the parent, "-" in front to remove, then the name. */
static void step(const char *line)
{
	char path[1024];
	bool is_removal = *line == '-';
	size_t parent;

	line += is_removal;
	if (!*line)
		return;
	parent = (unsigned char)*line++ % NEAP_ARRAY_LEN(parents);
	if (!*line || strstr(line, "..") || strlen(line) > 600)
		return;
	snprintf(path, sizeof(path), "%s/%s/%s", root, parents[parent], line);
	/* Names that the file system refuses come to nothing. */
	if (is_removal)
		(void)rmdir(path);
	else
		(void)mkdir(path, 0755);
}

static void check(const struct neap_scan *scan)
{
	const struct neap_scan_pod *before = NULL;
	char path[1024];

	for (size_t i = 0; i < neap_scan_pod_count(scan); i++) {
		const struct neap_scan_pod *pod = neap_scan_pod_get(scan, i);
		struct stat st;

		FUZZ_CHECK(neap_path_is_safe(pod->dir) && *pod->uid);
		FUZZ_CHECK(neap_path_is_below(pod->dir, pod->tree->root));
		FUZZ_CHECK(!before || strcmp(before->dir, pod->dir) < 0);
		snprintf(path, sizeof(path), "%s/%s", root, pod->dir);
		FUZZ_CHECK(stat(path, &st) == 0 && S_ISDIR(st.st_mode));
		for (size_t j = 0; j < pod->container_count; j++)
			FUZZ_CHECK(neap_path_is_safe(pod->containers[j].name));
		before = pod;
	}
	FUZZ_CHECK(!neap_scan_pod_get(scan, neap_scan_pod_count(scan)));
}

/* Lines as step takes them; an empty one is a look. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_scan *scan = NULL;
	struct neap_error err;
	struct fuzz_in in;

	if (!*root) {
		snprintf(root, sizeof(root), "%s/cg", fuzz_folder());
		tree_make();
		FUZZ_CHECK(neap_cgroup_probe(root, &cgroup, &err) == 0);
		tree_empty();
	}
	tree_make();
	fuzz_in_init(&in, data, size);
	FUZZ_CHECK(neap_scan_new(&cgroup, trees, NEAP_ARRAY_LEN(trees), &scan, &err) ==
		   0);
	for (int i = 0; i < STEPS && in.left; i++) {
		const char *line = fuzz_line(&in);

		if (*line) {
			step(line);
			continue;
		}
		neap_scan_doubt(scan);
		FUZZ_CHECK(neap_scan_look(scan, &err) >= 0);
		check(scan);
	}
	FUZZ_CHECK(neap_scan_look(scan, &err) >= 0);
	tree_empty();
	neap_scan_doubt(scan);
	FUZZ_CHECK(neap_scan_look(scan, &err) >= 0 && neap_scan_pod_count(scan) == 0);
	neap_scan_free(scan);
	fuzz_in_done(&in);
	return 0;
}
