/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand as a loop that was taken over could use it: packets through its real socket,
 * over a tree of plain files (v1 or v2). Nothing outside the managed roots is touched,
 * every answer can be read, and giving back leaves everything as it was found: no process
 * runs in these groups, so none of a pod stays. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"
#include "hw/packet.h"
#include "t/fuzz/lib/fuzz.h"

#define FILES_MAX 256
#define PACKETS   24

/* What stood there at first. */
struct file {
	char path[192];
	char text[96]; /* of a managed file */
	bool is_outside;
	struct stat st; /* of all others */
};

static struct machine {
	char root[96];
	struct neap_cgroup cgroup;
	struct neap_hand_config config;
	struct neap_hand_server *server;
	int sock; /* the daemon's end */
	struct file files[FILES_MAX];
	int file_count, folder_count;
} machines[2]; /* v1, v2 */
static struct machine *m;

/* What the input asked for. */
static bool has_found, has_made, has_removed;

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static int note_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	struct file *file = &m->files[m->file_count];
	const char *below = path + strlen(m->root);

	(void)walk;
	m->folder_count += type == FTW_D;
	file->is_outside = !strstr(below, "/kubepods") && !strstr(below, "/neap");
	/* The places of the roots change when these come and go. */
	if (type != FTW_F && (!file->is_outside || !strstr(below, "system.slice")))
		return 0;
	FUZZ_CHECK(m->file_count < FILES_MAX && strlen(path) < sizeof(file->path));
	snprintf(file->path, sizeof(file->path), "%s", path);
	file->st = *st;
	m->file_count++;
	return 0;
}

static void file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	if (fd >= 0)
		(void)close(fd);
}

static void group_make(const char *group)
{
	struct neap_error err;

	if (neap_cgroup_make(&m->cgroup, group, NULL, &err) < 0)
		fuzz_fail(__FILE__, __LINE__, err.msg);
}

/* Links from inside the managed roots to what lies beside them. */
static void links_make(void)
{
	static const char *const v1[] = {"/cpu", "/cpuset", "/memory", "/cpuacct",
					 "/pids"};
	size_t count = m->cgroup.has_v2 ? 1 : NEAP_ARRAY_LEN(v1);
	char path[256];

	for (size_t i = 0; i < count; i++) {
		const char *below = m->cgroup.has_v2 ? "" : v1[i];

		snprintf(path, sizeof(path), "%s%s/kubepods/link", m->root, below);
		FUZZ_CHECK(symlink("../system.slice", path) == 0);
		snprintf(path, sizeof(path), "%s%s/neap/link", m->root, below);
		FUZZ_CHECK(symlink("../system.slice/a", path) == 0);
	}
}

static void tree_make(bool v2)
{
	static const char *const groups[] = {
		"kubepods", "kubepods/burstable", "kubepods/burstable/pod1", "neap",
		"neap/x",   "system.slice",       "system.slice/a",
	};
	static const char *const v1[] = {"cpu", "cpuset", "memory", "cpuacct", "pids"};
	struct neap_error err;
	char path[256];

	FUZZ_CHECK(mkdir(m->root, 0755) == 0);
	if (v2) {
		fuzz_file_put(m->root, "cgroup.controllers", "cpu cpuset memory pids\n",
			      23);
		fuzz_file_put(m->root, "cgroup.subtree_control",
			      "cpu cpuset memory pids\n", 23);
		fuzz_file_put(m->root, "cpuset.cpus.effective", "0-7\n", 4);
		fuzz_file_put(m->root, "cpuset.mems.effective", "0\n", 2);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(v1) && !v2; i++) {
		snprintf(path, sizeof(path), "%s/%s", m->root, v1[i]);
		FUZZ_CHECK(mkdir(path, 0755) == 0);
		fuzz_file_put(path, "cpuset.cpus", "0-7\n", 4);
		fuzz_file_put(path, "cpuset.mems", "0\n", 2);
	}
	FUZZ_CHECK(neap_cgroup_probe(m->root, &m->cgroup, &err) == 0 &&
		   m->cgroup.is_fake);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(groups); i++)
		group_make(groups[i]);
	links_make();
	neap_cgroup_probe_keys(&m->cgroup, "kubepods");
	m->file_count = m->folder_count = 0;
	FUZZ_CHECK(nftw(m->root, note_entry, 16, FTW_PHYS) == 0);
	for (int i = 0; i < m->file_count; i++)
		file_read(m->files[i].path, m->files[i].text, sizeof(m->files[i].text));
}

static void server_make(bool v2)
{
	struct neap_error err;
	int pair[2];

	m->config = (struct neap_hand_config){
		.cgroup = &m->cgroup,
		.roots = {"kubepods", "neap"},
		.root_count = 2,
		.own_roots = {"neap"},
		.log = {.fd = -1, .program = "fuzz"},
	};
	snprintf(m->config.run_dir, sizeof(m->config.run_dir), "%s/run%d", fuzz_folder(),
		 v2);
	FUZZ_CHECK(neap_hand_server_new(&m->config, &m->server, &err) == 0);
	FUZZ_CHECK(neap_hand_server_open(m->server, true, &err) == 0);
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	m->server->sock = pair[0];
	m->server->daemon_pid = (int)getpid();
	m->sock = pair[1];
}

static void machine_make(bool v2)
{
	snprintf(m->root, sizeof(m->root), "%s/v%d", fuzz_folder(), v2 + 1);
	tree_make(v2);
	server_make(v2);
}

static void machine_drop(void)
{
	(void)close(m->sock);
	neap_hand_server_free(m->server);
	neap_cgroup_done(&m->cgroup);
	FUZZ_CHECK(nftw(m->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
	memset(m, 0, sizeof(*m));
}

/* Every answer is one that the daemon takes. */
static void answers_read(void)
{
	static unsigned char packet[NEAP_WIRE_MAX];

	for (;;) {
		struct neap_hand_answer answer;
		struct neap_error err;
		ssize_t n;
		size_t part;

		neap_hand_out_flush(m->server);
		n = recv(m->sock, packet, sizeof(packet), MSG_DONTWAIT);
		if (n <= 0)
			break;
		for (size_t at = 0; at < (size_t)n; at += part) {
			part = neap_wire_length(packet + at, (size_t)n - at);
			FUZZ_CHECK(neap_wire_parse_answer(packet + at, part, &answer,
							  &err) == 0);
			FUZZ_CHECK(!answer.errnum || *answer.text);
		}
	}
	FUZZ_CHECK(!m->server->out);
}

static void packet_send(const void *packet, size_t len, int fd)
{
	FUZZ_CHECK(neap_packet_send(m->sock, packet, len, fd) == (ssize_t)len);
	(void)neap_hand_packet_take(m->server);
	answers_read();
}

/* Operation and key by a byte each, then group and value as lines; bit 7 of the key: a
 * third line is what was found. Operation 15: the rest of the line are raw bytes. */
static void packet_make(struct fuzz_in *in)
{
	static unsigned char packet[NEAP_WIRE_MAX];
	unsigned op = fuzz_byte(in) % 16, key = fuzz_byte(in);
	struct neap_hand_request request = {
		.id = 7, .op = (enum neap_hand_op)op, .fd = -1};
	int pair[2] = {-1, -1};
	size_t len = 0;

	if (op == 15) {
		const char *raw = fuzz_text_until(in, '\n', &len);

		if (len && len < NEAP_WIRE_MAX)
			packet_send(raw, len, -1);
		has_found = has_removed = true; /* who knows */
		return;
	}
	request.key = (enum neap_key)((key & 0x7f) % NEAP_KEY_COUNT);
	request.group = fuzz_line(in);
	request.value = fuzz_line(in);
	request.found = key & 0x80 ? fuzz_line(in) : NULL;
	/* Only there it counts, see apply.c. */
	has_found |= request.found && neap_key_get(request.key)->form == NEAP_FORM_CPUSET;
	has_made |= op == NEAP_HAND_MAKE || op == NEAP_HAND_MAKE_POD;
	has_removed |= op == NEAP_HAND_REMOVE;
	if (neap_wire_format_request(&request, packet, sizeof(packet), &len, NULL) < 0)
		return;
	if (op == NEAP_HAND_MOVE)
		FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	packet_send(packet, len, pair[0]);
	neap_cleanup_fd(&pair[0]);
	neap_cleanup_fd(&pair[1]);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static void check_outside(void)
{
	for (int i = 0; i < m->file_count; i++) {
		const struct file *file = &m->files[i];
		struct stat st;

		if (!file->is_outside)
			continue;
		FUZZ_CHECK(lstat(file->path, &st) == 0);
		FUZZ_CHECK(st.st_ino == file->st.st_ino &&
			   st.st_size == file->st.st_size &&
			   is_same_time(&st.st_mtim, &file->st.st_mtim) &&
			   is_same_time(&st.st_ctim, &file->st.st_ctim));
	}
}

/* Controllers that a group which was made needed stay on above it: others may use them by
 * now. What was on is on. */
static bool is_switched_on(const char *path, const char *before, const char *now)
{
	static const char *const names[] = {"", "cpu", "cpu cpuset", "cpu cpuset memory",
					    "cpu cpuset memory pids"};
	const char *name = strrchr(path, '/');
	bool is_known = false;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		is_known |= strcmp(names[i], now) == 0;
	return has_made && name && strcmp(name, "/cgroup.subtree_control") == 0 &&
	       is_known && strncmp(before, now, strlen(before)) == 0;
}

/* A managed file that was written to holds what it held, or, where the input said so
 * itself, gets it again. */
static void check_managed(struct file *file)
{
	char text[sizeof(file->text)];
	struct stat st;

	FUZZ_CHECK(lstat(file->path, &st) == 0);
	if (st.st_size == file->st.st_size &&
	    is_same_time(&st.st_ctim, &file->st.st_ctim))
		return;
	file_read(file->path, text, sizeof(text));
	/* The kernel shows its largest number again where "-1" is written. */
	if (strcmp(text, file->text) != 0 && !has_found &&
	    !is_switched_on(file->path, file->text, text) &&
	    !(strcmp(text, "-1") == 0 && strlen(file->text) == 19)) {
		fprintf(stderr, "%s: '%s', was '%s'\n", file->path, text, file->text);
		abort();
	}
	fuzz_file_put("", file->path, file->text, strlen(file->text));
	FUZZ_CHECK(lstat(file->path, &file->st) == 0);
}

static int folders;

static int count_entry(const char *path, const struct stat *st, int type,
		       struct FTW *walk)
{
	(void)path;
	(void)st;
	(void)walk;
	folders += type == FTW_D;
	return 0;
}

static void give_back(void)
{
	int left = 0, groups;

	(void)neap_hand_values_undo(m->server, &left);
	groups = neap_hand_groups_undo(m->server);
	check_outside();
	FUZZ_CHECK(left == 0 && groups == 0);
	FUZZ_CHECK(neap_journal_count(m->server->journal) == 0);
	folders = m->folder_count;
	if (has_made || has_removed) {
		folders = 0;
		FUZZ_CHECK(nftw(m->root, count_entry, 16, FTW_PHYS) == 0);
		FUZZ_CHECK(has_removed || folders == m->folder_count);
	}
	if (folders != m->folder_count) {
		machine_drop();
		return;
	}
	for (int i = 0; i < m->file_count; i++)
		if (!m->files[i].is_outside)
			check_managed(&m->files[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	bool v2;

	fuzz_in_init(&in, data, size);
	v2 = fuzz_byte(&in) & 1;
	m = &machines[v2];
	if (!*m->root)
		machine_make(v2);
	has_found = has_made = has_removed = false;
	for (int i = 0; i < PACKETS && in.left; i++)
		packet_make(&in);
	(void)unlinkat(m->server->run_dir_fd, "freeze", 0); /* it is mostly not there */
	give_back();
	fuzz_in_done(&in);
	return 0;
}
