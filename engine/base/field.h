/* SPDX-License-Identifier: Apache-2.0
 *
 * Field tables: one row per member of a struct that leaves C. The same table fills Lua
 * tables, JSON and the documented Lua classes, so a field is added in one place. */
#ifndef NEAP_ENGINE_BASE_FIELD_H
#define NEAP_ENGINE_BASE_FIELD_H

#include "engine/base/base.h"

/* C type of the member; what it becomes in Lua and JSON. NEAP_MISSING and NaN become
 * absent. */
enum neap_field_type {
	NEAP_FIELD_INT,  /* int64_t: integer */
	NEAP_FIELD_REAL, /* double: number */
	NEAP_FIELD_BOOL, /* bool */
	NEAP_FIELD_TEXT, /* char[]: string, absent when "" */
	NEAP_FIELD_NAME, /* const char *: string, absent when NULL or "" */
	/* struct neap_cpuset: cpu set object in Lua, list text in JSON */
	NEAP_FIELD_CPUSET,
	/* struct neap_topology *: topology object in Lua, left out in JSON */
	NEAP_FIELD_TOPOLOGY,
	NEAP_FIELD_STRUCT, /* embedded struct with fields of its own */
	/* pointer to an array; the count is the size_t at count_offset */
	NEAP_FIELD_LIST,
	/* uint32_t bit mask by enum neap_key: table of key name = true */
	NEAP_FIELD_KEYS,
};

struct neap_field {
	const char *name; /* NULL ends a table */
	enum neap_field_type type;
	size_t offset;
	const struct neap_field *fields; /* of STRUCT and LIST elements */
	size_t element_size;             /* of LIST */
	size_t count_offset;             /* of LIST */
	/* LIST only: offset of a uint64_t in each element that changes whenever a TEXT or
	 * NAME of the element changes; value 0 means unknown. Offset 0: elements have no
	 * such mark. */
	size_t mark_offset;
	const char *doc; /* one line: meaning and unit */
};

#endif
