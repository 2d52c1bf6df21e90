/* SPDX-License-Identifier: Apache-2.0
 *
 * String formats that declared kinds can name, judged as a kube-apiserver does. len is
 * the length of text, which ends with a NUL. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_TEXT_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* "node-1.example.com", "a". The last of several labels consists of letters; a single
 * label may have a hyphen in the second place only. */
bool schema_text_is_hostname(const char *text, size_t len);
/* "a@example.com", "A Name <a@example.com>" */
bool schema_text_is_email(const char *text, size_t len);
/* Has a scheme or is an absolute path: "https://example.com/a", "mailto:a", "/a". */
bool schema_text_is_uri(const char *text, size_t len);
/* Numbers with units in words: "1d", "5 days", "3 weeks". */
bool schema_text_is_words_duration(const char *text, size_t len);
bool schema_text_is_uuid(const char *text, size_t len);
bool schema_text_is_uuid3(const char *text, size_t len);
bool schema_text_is_uuid4(const char *text, size_t len);
bool schema_text_is_uuid5(const char *text, size_t len);
/* "#fff", "FFFFFF" */
bool schema_text_is_hex_color(const char *text, size_t len);
/* "rgb(1, 2, 255)" */
bool schema_text_is_rgb_color(const char *text, size_t len);
/* 24 hexadecimal digits. */
bool schema_text_is_bson_id(const char *text, size_t len);
/* "111-22-3333" */
bool schema_text_is_ssn(const char *text, size_t len);

#endif
