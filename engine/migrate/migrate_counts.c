/* SPDX-License-Identifier: Apache-2.0
 *
 * One map by text. Its keys separate words by a line end, which no name contains. */
#include "engine/migrate/migrate_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

#define KEY_MAX 900

enum what {
	OF_ALL = 'a',
	OF_NAMESPACE = 's',
	OF_UID = 'u', /* of the job's pod, in one namespace and in all */
	OF_POD = 'p', /* by name, with one uid and with any */
	OF_NODE = 'n',
	OF_OWNER = 'o',
	OF_SERVING = 'r', /* of a controller's pods */
	UNSERVING = 'd'
};

struct count {
	int64_t of[NEAP_JOBS_COUNT];
};

static void key_of(char key[KEY_MAX], enum what what, const char *a, const char *b,
		   const char *c)
{
	(void)snprintf(key, KEY_MAX, "%c%s\n%s\n%s", (char)what, a, b, c);
}

static struct count get(const struct neap_migrate_cluster *cluster, enum what what,
			const char *a, const char *b, const char *c)
{
	char key[KEY_MAX];
	const struct count *one;

	key_of(key, what, a, b, c);
	one = neap_map_find(cluster->counts, key);
	return one ? *one : (struct count){0};
}

/* False without memory, which only more than 0 takes. */
static bool add(struct neap_migrate_cluster *cluster, enum what what, const char *a,
		const char *b, const char *c, struct count by)
{
	char key[KEY_MAX];
	struct count *one;

	if (!by.of[NEAP_JOBS_ACTIVE] && !by.of[NEAP_JOBS_BEGUN])
		return true;
	key_of(key, what, a, b, c);
	one = neap_map_find(cluster->counts, key);
	if (!one) {
		one = neap_alloc(sizeof(*one));
		if (!one || !neap_map_set(cluster->counts, key, one)) {
			free(one);
			return false;
		}
	}
	for (int i = 0; i < NEAP_JOBS_COUNT; i++)
		one->of[i] += by.of[i];
	if (!one->of[NEAP_JOBS_ACTIVE] && !one->of[NEAP_JOBS_BEGUN]) {
		(void)neap_map_remove(cluster->counts, key);
		free(one);
	}
	return true;
}

/* --- loads --- */

static bool add_load(struct neap_migrate_cluster *cluster,
		     const struct neap_migrate_pod *pod, struct count by)
{
	bool is_good = !*pod->node || add(cluster, OF_NODE, pod->node, "", "", by);

	if (!*pod->owner_uid)
		return is_good;
	is_good = add(cluster, OF_OWNER, pod->owner_uid, "", "", by) && is_good;
	return (!pod->is_serving ||
		add(cluster, OF_SERVING, pod->owner_uid, "", "", by)) &&
	       is_good;
}

bool neap_migrate_counts_pod(struct neap_migrate_cluster *cluster,
			     const struct neap_migrate_pod *pod, int sign)
{
	const struct count jobs = get(cluster, OF_POD, pod->ns, pod->name, "");
	struct count by = {0};
	bool is_good = true;

	if (*pod->owner_uid && !pod->is_serving)
		is_good = add(cluster, UNSERVING, pod->owner_uid, "", "",
			      (struct count){{sign, 0}});
	for (int i = 0; i < NEAP_JOBS_COUNT; i++)
		by.of[i] = jobs.of[i] > 0 ? sign : 0;
	return add_load(cluster, pod, by) && is_good;
}

/* --- jobs --- */

static bool counts(const struct neap_migrate_job *job)
{
	return neap_migrate_is_active(job) && *job->pod_name;
}

static bool add_job(struct neap_migrate_cluster *cluster,
		    const struct neap_migrate_job *job, struct count by)
{
	const struct neap_migrate_pod *pod = neap_migrate_pod_of(cluster, job);
	const char *ns = job->pod_ns, *name = job->pod_name, *uid = job->pod_uid;
	struct count before = get(cluster, OF_POD, ns, name, ""), after, load;
	bool is_good = add(cluster, OF_ALL, "", "", "", by);

	is_good = add(cluster, OF_NAMESPACE, ns, "", "", by) && is_good;
	is_good = add(cluster, OF_UID, uid, "", "", by) && is_good;
	/* A namespace has a name, so this is not the one before. */
	is_good = add(cluster, OF_UID, uid, ns, "in", by) && is_good;
	is_good = add(cluster, OF_POD, ns, name, "", by) && is_good;
	if (*uid)
		is_good = add(cluster, OF_POD, ns, name, uid, by) && is_good;
	after = get(cluster, OF_POD, ns, name, "");
	for (int i = 0; i < NEAP_JOBS_COUNT; i++)
		load.of[i] = (after.of[i] > 0) - (before.of[i] > 0);
	return (!pod || add_load(cluster, pod, load)) && is_good;
}

bool neap_migrate_counts_job(struct neap_migrate_cluster *cluster,
			     const struct neap_migrate_job *job, int sign)
{
	const struct count by = {{sign, neap_migrate_has_begun(job) ? sign : 0}};

	return !counts(job) || add_job(cluster, job, by);
}

void neap_migrate_counts_begin(struct neap_migrate_cluster *cluster,
			       const struct neap_migrate_job *job)
{
	if (counts(job) && !neap_migrate_has_begun(job))
		(void)add_job(cluster, job, (struct count){{0, 1}});
}

/* --- asking --- */

int64_t neap_migrate_count_others(const struct neap_migrate_cluster *cluster,
				  enum neap_migrate_jobs which,
				  const struct neap_migrate_who *who, bool of_namespace)
{
	if (!of_namespace)
		return get(cluster, OF_ALL, "", "", "").of[which] -
		       get(cluster, OF_UID, who->uid, "", "").of[which];
	return get(cluster, OF_NAMESPACE, who->ns, "", "").of[which] -
	       get(cluster, OF_UID, who->uid, who->ns, "in").of[which];
}

int64_t neap_migrate_count_node(const struct neap_migrate_cluster *cluster,
				enum neap_migrate_jobs which,
				const struct neap_migrate_who *who, const char *node)
{
	const struct neap_migrate_pod *own =
		neap_migrate_find_pod(cluster, who->ns, who->name);
	bool is_among = own && strcmp(own->node, node) == 0 &&
			strcmp(own->uid, who->uid) == 0 &&
			get(cluster, OF_POD, own->ns, own->name, "").of[which] > 0;

	return get(cluster, OF_NODE, node, "", "").of[which] - is_among;
}

int64_t neap_migrate_count_owner(const struct neap_migrate_cluster *cluster,
				 enum neap_migrate_jobs which,
				 const struct neap_migrate_pod *pod, int64_t *ret_serving)
{
	int64_t jobs = get(cluster, OF_POD, pod->ns, pod->name, "").of[which];
	int64_t own =
		*pod->uid ? get(cluster, OF_POD, pod->ns, pod->name, pod->uid).of[which]
			  : 0;
	bool is_left_out = jobs > 0 && jobs == own;

	*ret_serving = get(cluster, OF_SERVING, pod->owner_uid, "", "").of[which] -
		       (is_left_out && pod->is_serving);
	return get(cluster, OF_OWNER, pod->owner_uid, "", "").of[which] - is_left_out;
}

int64_t neap_migrate_count_owned(const struct neap_migrate_cluster *cluster,
				 enum neap_migrate_jobs which, const char *owner_uid)
{
	return get(cluster, OF_OWNER, owner_uid, "", "").of[which];
}

int64_t neap_migrate_count_unserving(const struct neap_migrate_cluster *cluster,
				     const char *owner_uid)
{
	return get(cluster, UNSERVING, owner_uid, "", "").of[NEAP_JOBS_ACTIVE];
}

bool neap_migrate_has_job(const struct neap_migrate_cluster *cluster,
			  const struct neap_migrate_who *who)
{
	return get(cluster, OF_POD, who->ns, who->name, "").of[NEAP_JOBS_ACTIVE] > 0 ||
	       (*who->uid &&
		get(cluster, OF_UID, who->uid, "", "").of[NEAP_JOBS_ACTIVE] > 0);
}
