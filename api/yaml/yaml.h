/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads YAML as kubectl does, into JSON. yaml_write.h is the writer. */
#ifndef NEAP_API_YAML_YAML_H
#define NEAP_API_YAML_YAML_H

#include <jansson.h>

#include "engine/base/error.h"

/* A YAML file may contain several documents. */
#define NEAP_YAML_MAX       (4 * 1024 * 1024)
#define NEAP_YAML_DOCUMENTS 1000
#define NEAP_YAML_DEPTH     160 /* nesting of lists and mappings */
/* In all documents, keys too, each alias counted as what it stands for: how many, and
 * bytes of text. */
#define NEAP_YAML_VALUES 500000
#define NEAP_YAML_TEXT   (16 * 1024 * 1024)
/* Size limit for request bodies: YAML costs many times what JSON does, and others wait
 * meanwhile. */
#define NEAP_YAML_BODY_MAX (512 * 1024)

/* YAML as kubectl reads it (YAML 1.1 scalars: yes, no, on, off are booleans, 0777 is
 * octal; anchors, aliases and "<<" within bounds; duplicate keys and tags refused) to
 * JSON: an array with a value a document, empty documents left out. Keys that are
 * numbers or booleans become texts ("80", "true"). Errors name the line: "FILE:12: ...".
 * NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_yaml_parse(const char *text, size_t len, const char *file, json_t **ret,
		    struct neap_error *err);
/* The same of the first document alone, with its own bound of values; *ret is null where
 * there is none. Errors name the line: "line:12: ...". */
int neap_yaml_parse_one(const char *text, size_t len, size_t values_max, json_t **ret,
			struct neap_error *err);
/* In which line of YAML (or JSON) the field of that path ("spec.rules[1].name") begins,
 * or what of the path there is; 0: nobody knows. For messages. */
size_t neap_yaml_line(const char *text, size_t len, const char *path);

#endif
