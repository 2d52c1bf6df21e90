/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the shipped files of definitions into objects. An object from a file has the
 * file's SHA-256 as an annotation. While that is unchanged, users' changes to the object
 * are kept. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/kube/base/meta.h"
#include "api/kube/crd/crd.h"
#include "api/kube/loops/crd_loop_priv.h"
#include "api/yaml/yaml.h"
#include "engine/base/mem.h"
#include "engine/base/sha256.h"
#include "engine/json/json.h"

/* In one folder. */
#define FILES_MAX 500

/* A definition that is being written. */
struct declared_file {
	struct declared_file *next, **prev;
	struct neap_kube_declared *declared; /* NULL: the loop is freed */
	char name[NEAP_OBJECT_NAME];
};

static void say(const struct neap_kube_declared *declared, enum neap_log_level level,
		const char *name, const char *what)
{
	if (declared->log)
		neap_log_line(declared->log, level, "CustomResourceDefinition %s: %s",
			      name, what);
}

/* --- writing --- */

static void unlink_file(struct declared_file *file)
{
	if (!file->declared)
		return;
	*file->prev = file->next;
	if (file->next)
		file->next->prev = file->prev;
	file->declared = NULL;
}

static void write_done(void *arg, struct neap_object *object,
		       const struct neap_error *err)
{
	struct declared_file *file = arg;

	if (file->declared && !object) {
		say(file->declared, NEAP_LOG_ERROR, file->name, err->msg);
		file->declared->is_short =
			file->declared->is_short || err->code == NEAP_ENOMEM;
	}
	unlink_file(file);
	free(file);
}

void declared_forget_files(struct neap_kube_declared *declared)
{
	while (declared->files)
		unlink_file(declared->files);
}

static int write_take(struct neap_kube_declared *declared, const char *name,
		      json_t *object, int64_t version, struct neap_error *err)
{
	struct declared_file *file = neap_alloc(sizeof(*file));
	struct neap_store_write write = {
		.verb = version ? NEAP_STORE_UPDATE : NEAP_STORE_CREATE,
		.resource = KUBE_DEFINITIONS,
		.ns = "",
		.name = file ? file->name : name,
		.object = object,
		.fields = declared->definition->fields,
		.version = version,
		.done = write_done,
		.arg = file,
	};
	struct neap_error why;

	if (!file) {
		json_decref(object);
		return neap_error_nomem(err);
	}
	(void)neap_strcopy(file->name, sizeof(file->name), name);
	file->declared = declared;
	file->next = declared->files;
	if (file->next)
		file->next->prev = &file->next;
	file->prev = &declared->files;
	declared->files = file;
	if (neap_store_write_take(declared->kube->store, &write, &why) < 0) {
		/* As when the disk refuses it later: the stored definition stays in
		 * use. */
		say(declared, NEAP_LOG_ERROR, file->name, why.msg);
		unlink_file(file);
		free(file);
		if (why.code == NEAP_ENOMEM)
			return neap_error_nomem(err);
	}
	return 0;
}

/* --- from a file to an object --- */

/* Takes the definition; NULL without memory. */
static json_t *make_new_take(struct neap_kube_declared *declared, json_t *definition)
{
	const struct neap_kube_kind *kind = declared->definition;

	(void)json_object_del(definition, "kind");
	(void)json_object_del(definition, "apiVersion");
	if (neap_kube_meta_begin(kind, definition, "", declared->kube->now()) &&
	    neap_schema_prune(kind->schema, definition, NULL, NULL) &&
	    neap_schema_default(kind->schema, definition) &&
	    (!kind->complete || kind->complete(definition)))
		return definition;
	json_decref(definition);
	return NULL;
}

/* Adds the file's annotations and labels to the stored ones. */
static bool merge(json_t *to, const json_t *from, const char *member)
{
	json_t *values = json_object_get(json_object_get(from, "metadata"), member);
	json_t *meta = json_object_get(to, "metadata");

	if (!values)
		return true;
	if (json_is_object(json_object_get(meta, member)))
		return json_object_update(json_object_get(meta, member), values) == 0;
	return json_object_set(meta, member, values) == 0;
}

/* The stored object with the file's content. NULL without memory. */
static json_t *make_changed(struct neap_kube_declared *declared, const json_t *fresh,
			    const json_t *before)
{
	json_t *object = neap_json_deep_copy(before);

	if (object &&
	    json_object_set(object, "spec", json_object_get(fresh, "spec")) == 0 &&
	    merge(object, fresh, "labels") && merge(object, fresh, "annotations") &&
	    neap_kube_meta_keep(declared->definition, object, before))
		return object;
	json_decref(object);
	return NULL;
}

/* fresh: the object that a new file would make. */
static int change(struct neap_kube_declared *declared, const char *name,
		  const json_t *fresh, const struct neap_object *newest,
		  struct neap_error *err)
{
	const struct neap_kube_kind *kind = declared->definition;
	struct neap_causes *causes = neap_alloc(sizeof(*causes));
	json_t *before = neap_object_tree(newest);
	json_t *object = before ? make_changed(declared, fresh, before) : NULL;
	int ret = 0;

	if (!object || !causes) {
		json_decref(object);
		ret = neap_error_nomem(err);
	} else {
		kind->check(object, before, causes);
		if (causes->count) {
			char why[512];

			(void)snprintf(why, sizeof(why),
				       "stays as it is, its file cannot take its place: "
				       "%.100s: %.300s",
				       causes->list[0].field, causes->list[0].message);
			say(declared, NEAP_LOG_WARN, name, why);
			json_decref(object);
		} else {
			say(declared, NEAP_LOG_INFO, name, "changed, as its file is");
			ret = write_take(declared, name, object, newest->version, err);
		}
	}
	json_decref(before);
	free(causes);
	return ret;
}

static const char *sum_of(const json_t *tree)
{
	return json_string_value(
		json_object_get(neap_json_at(tree, "metadata.annotations"),
				NEAP_KUBE_DECLARED_ANNOTATION));
}

/* Takes fresh. */
static int put_take(struct neap_kube_declared *declared, const char *name, json_t *fresh,
		    struct neap_error *err)
{
	struct neap_object *newest =
		neap_store_newest(declared->kube->store, KUBE_DEFINITIONS, "", name);
	json_t *before;
	const char *sum;
	int ret = 0;

	if (!newest)
		return write_take(declared, name, fresh, 0, err);
	before = neap_object_tree(newest);
	sum = sum_of(before);
	if (!before)
		ret = neap_error_nomem(err);
	else if (!sum)
		say(declared, NEAP_LOG_WARN, name,
		    "is not the one that comes with neap, and is left as it is");
	else if (strcmp(sum, sum_of(fresh)) != 0 && !newest->is_deleting)
		ret = change(declared, name, fresh, newest, err);
	json_decref(before);
	json_decref(fresh);
	return ret;
}

/* Processes one definition of a file. */
static int take_one(struct neap_kube_declared *declared, const char *path,
		    const json_t *definition, const char *sum, struct neap_error *err)
{
	struct neap_causes *causes = neap_alloc(sizeof(*causes));
	struct neap_kube_kind *kind = NULL;
	json_t *fresh, *meta, *annotations;
	const char *name;
	int ret = causes ? neap_kube_crd_parse(definition, &kind, causes, err)
			 : neap_error_nomem(err);

	free(causes);
	if (ret < 0) {
		if (err->field[0]) {
			struct neap_error whole = *err;

			(void)neap_error_set(err, whole.code, "%s: %.180s", whole.field,
					     whole.msg);
		}
		return neap_error_wrap(err, "%s", path);
	}
	neap_kube_crd_free(kind);
	fresh = neap_json_deep_copy(definition);
	meta = json_object_get(fresh, "metadata");
	annotations = json_object_get(meta, "annotations");
	if (!json_is_object(annotations)) {
		annotations = json_object();
		if (json_object_set_new(meta, "annotations", annotations) < 0)
			annotations = NULL;
	}
	if (!annotations ||
	    json_object_set_new(annotations, NEAP_KUBE_DECLARED_ANNOTATION,
				json_string(sum)) < 0) {
		json_decref(fresh);
		return neap_error_nomem(err);
	}
	fresh = make_new_take(declared, fresh);
	if (!fresh)
		return neap_error_nomem(err);
	name = neap_kube_meta_text(fresh, "name");
	return put_take(declared, name, fresh, err);
}

/* --- files --- */

static int read_file(int folder, const char *name, const char *path, char **ret,
		     size_t *ret_len, struct neap_error *err)
{
	neap_auto_fd int fd =
		openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	neap_auto_free char *text = NULL;
	struct stat st;
	size_t len = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s: not a file", path);
	if (st.st_size > NEAP_YAML_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: over %d bytes", path,
				      NEAP_YAML_MAX);
	text = neap_alloc((size_t)st.st_size + 1);
	if (!text)
		return neap_error_nomem(err);
	while (len < (size_t)st.st_size) {
		ssize_t n = read(fd, text + len, (size_t)st.st_size - len);

		if (n < 0)
			return neap_error_sys(err, "read %s", path);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret = neap_steal(text);
	*ret_len = len;
	return 0;
}

static int take_file(struct neap_kube_declared *declared, int folder, const char *name,
		     const char *path, struct neap_error *err)
{
	char sum[NEAP_SHA256_HEX], *text = NULL;
	const json_t *definition;
	json_t *all = NULL;
	size_t len = 0, i;
	int ret = read_file(folder, name, path, &text, &len, err);

	if (ret < 0)
		return ret;
	neap_sha256_hex(text, len, sum);
	ret = neap_yaml_parse(text, len, path, &all, err);
	free(text);
	json_array_foreach (all, i, definition)
		if (ret == 0)
			ret = take_one(declared, path, definition, sum, err);
	json_decref(all);
	return ret;
}

static int is_yaml(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 &&
	       strcmp(entry->d_name + len - 5, ".yaml") == 0;
}

int declared_take_files(struct neap_kube_declared *declared,
			const struct neap_kube_declared_folder *folder,
			struct neap_error *err)
{
	struct dirent **list = NULL;
	int count, ret = 0;

	if (folder->fd < 0) {
		if (declared->log)
			neap_log_line(declared->log, NEAP_LOG_WARN,
				      "%s is not there: Reservation and the other "
				      "kinds that come with neap are not served, unless "
				      "they are stored",
				      folder->path);
		return 0;
	}
	count = scandirat(folder->fd, ".", &list, is_yaml, alphasort);
	if (count < 0)
		return neap_error_sys(err, "read %s", folder->path);
	if (count > FILES_MAX)
		ret = neap_error_set(err, NEAP_ETOOLARGE, "%s: over %d files",
				     folder->path, FILES_MAX);
	for (int i = 0; i < count; i++) {
		char path[1024];

		(void)snprintf(path, sizeof(path), "%s/%s", folder->path,
			       list[i]->d_name);
		if (ret == 0)
			ret = take_file(declared, folder->fd, list[i]->d_name, path, err);
		free(list[i]);
	}
	free(list);
	return ret;
}

int neap_kube_declared_folder_open(struct neap_kube_declared_folder *folder,
				   const char *path, struct neap_error *err)
{
	if (!neap_strcopy(folder->path, sizeof(folder->path), path)) {
		folder->fd = -1;
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				      path);
	}
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd < 0 && errno != ENOENT)
		return neap_error_sys(err, "read %s", path);
	return 0;
}

int neap_kube_declared_folder_find(struct neap_kube_declared_folder *folder,
				   const char *share_dir, struct neap_error *err)
{
	char path[sizeof(folder->path)];

	(void)snprintf(path, sizeof(path), "%s/crds", share_dir);
	if (neap_kube_declared_folder_open(folder, path, err) < 0)
		return -(int)err->code;
	if (folder->fd >= 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/doc/deploy/crds", share_dir);
	if (neap_kube_declared_folder_open(folder, path, err) < 0)
		return -(int)err->code;
	/* The installation's folder, for the message. */
	if (folder->fd < 0)
		(void)snprintf(folder->path, sizeof(folder->path), "%s/crds", share_dir);
	return 0;
}

void neap_kube_declared_folder_close(struct neap_kube_declared_folder *folder)
{
	neap_cleanup_fd(&folder->fd);
	folder->fd = -1;
}
