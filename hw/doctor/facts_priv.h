/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files that gather facts. */
#ifndef NEAP_HW_DOCTOR_FACTS_PRIV_H
#define NEAP_HW_DOCTOR_FACTS_PRIV_H

#include <stdio.h>

#include "hw/doctor/facts.h"

/* Joins root and path; false when the result does not fit. */
bool neap_facts_path(const char *root, const char *path, char *buf, size_t size);
/* YES, NO, or UNSEEN when a directory on the way may not be searched. */
enum neap_known neap_facts_is_there(const char *root, const char *path);
/* NULL when it cannot be opened. */
FILE *neap_facts_open(const char *root, const char *path);
/* Appends a word after a blank. */
void neap_facts_add_word(char *text, size_t size, const char *word);

void neap_facts_kernel(const char *root, struct neap_kernel_facts *ret);
void neap_facts_cgroup(const char *root, struct neap_cgroup_facts *ret);
void neap_facts_agents(const char *root, struct neap_agent_facts *ret);

#endif
