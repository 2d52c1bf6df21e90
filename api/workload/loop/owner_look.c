/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/owner_look.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/workload/loop/tree.h"

bool neap_look_may_write(struct neap_owner_look *look, const struct neap_object *object)
{
	/* The answers make it due, and the rest follows. */
	look->is_partial = look->is_partial || look->written >= look->kind->piece ||
			   (look->written && !neap_feed_has_steps(look->feed));
	if (look->is_partial)
		return false;
	look->written++;
	neap_feed_spend(look->feed, neap_steps_of_write(object));
	return true;
}

bool neap_look_ask(struct neap_owner_look *look, int what, const char *resource,
		   const char *name, struct neap_client_ask *ret)
{
	const struct neap_round_ask ask = {what, resource, look->owner->ns, name,
					   look->owner->uid};

	return neap_rounds_ask(look->rounds, &ask, ret);
}

void neap_look_again(struct neap_owner_look *look, int64_t after_usec)
{
	if (!look->after_usec || after_usec < look->after_usec)
		look->after_usec = after_usec;
}

bool neap_look_claim(struct neap_owner_look *look, struct neap_claims *claims,
		     const json_t *tree, bool is_deleting)
{
	switch (neap_claims_go(claims, look->owner, tree, is_deleting)) {
	case NEAP_CLAIMS_DONE:
		return true;
	case NEAP_CLAIMS_GOES_ON:
		look->goes_on = true;
		break;
	case NEAP_CLAIMS_SHORT:
		look->is_short = true;
		break;
	case NEAP_CLAIMS_ASKED:
		break;
	}
	return false;
}

int64_t neap_look_result(const struct neap_owner_look *look)
{
	if (look->goes_on)
		return NEAP_FEED_GOES_ON;
	return look->is_short || look->is_failed ? -1 : look->after_usec;
}

struct neap_client_note neap_owner_note(const struct neap_owner_kind *kind,
					const char *ns, const char *name, const char *uid,
					bool is_warning, const char *reason)
{
	return (struct neap_client_note){.api_version = kind->api_version,
					 .kind = kind->kind,
					 .ns = ns,
					 .name = name,
					 .uid = uid,
					 .is_warning = is_warning,
					 .reason = reason,
					 .component = kind->component};
}

void neap_look_note(const struct neap_owner_look *look, bool is_warning,
		    const char *reason, const char *fmt, ...)
{
	const struct neap_client_note note =
		neap_owner_note(look->kind, look->owner->ns, look->owner->name,
				look->owner->uid, is_warning, reason);
	char text[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	neap_client_note(look->client, &note, "%s", text);
}
