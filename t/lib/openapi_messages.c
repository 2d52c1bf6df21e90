/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of gnostic's OpenAPIv2.proto, with the fields that a document of ours
 * has. */
#include "t/lib/openapi_messages.h"

static const struct proto_entry any_entries[] = {{2, "yaml", PROTO_TEXT}, {0}};
static const struct proto_entry schema_entries[];
static const struct proto_entry additional_entries[] = {
	{1, "schema", PROTO_ONE, schema_entries}, {0}};
static const struct proto_entry type_entries[] = {{1, "value", PROTO_TEXTS}, {0}};
static const struct proto_entry items_entries[] = {
	{1, "schema", PROTO_LIST, schema_entries}, {0}};
static const struct proto_entry names_entries[] = {
	{1, "all", PROTO_NAMED, schema_entries}, {0}};
static const struct proto_entry schema_entries[] = {
	{1, "$ref", PROTO_TEXT},
	{2, "format", PROTO_TEXT},
	{4, "description", PROTO_TEXT},
	{19, "required", PROTO_TEXTS},
	{20, "enum", PROTO_LIST, any_entries},
	{21, "additionalProperties", PROTO_ONE, additional_entries},
	{22, "type", PROTO_ONE, type_entries},
	{23, "items", PROTO_ONE, items_entries},
	{25, "properties", PROTO_ONE, names_entries},
	{31, "x", PROTO_NAMED, any_entries},
	{0}};
static const struct proto_entry query_entries[] = {{2, "in", PROTO_TEXT},
						   {3, "description", PROTO_TEXT},
						   {4, "name", PROTO_TEXT},
						   {6, "type", PROTO_TEXT},
						   {0}};
static const struct proto_entry in_path_entries[] = {
	{1, "required", PROTO_FLAG},    {2, "in", PROTO_TEXT},
	{3, "description", PROTO_TEXT}, {4, "name", PROTO_TEXT},
	{5, "type", PROTO_TEXT},        {0}};
static const struct proto_entry non_body_entries[] = {
	{3, "query", PROTO_ONE, query_entries},
	{4, "path", PROTO_ONE, in_path_entries},
	{0}};
static const struct proto_entry kind_entries[] = {
	{2, "nonBody", PROTO_ONE, non_body_entries}, {0}};
static const struct proto_entry parameter_entries[] = {
	{1, "parameter", PROTO_ONE, kind_entries}, {0}};
static const struct proto_entry response_entries[] = {{1, "description", PROTO_TEXT},
						      {0}};
static const struct proto_entry value_entries[] = {
	{1, "response", PROTO_ONE, response_entries}, {0}};
static const struct proto_entry responses_entries[] = {
	{1, "codes", PROTO_NAMED, value_entries}, {0}};
static const struct proto_entry operation_entries[] = {
	{5, "operationId", PROTO_TEXT},
	{6, "produces", PROTO_TEXTS},
	{7, "consumes", PROTO_TEXTS},
	{8, "parameters", PROTO_LIST, parameter_entries},
	{9, "responses", PROTO_ONE, responses_entries},
	{13, "x", PROTO_NAMED, any_entries},
	{0}};
static const struct proto_entry item_entries[] = {
	{2, "get", PROTO_ONE, operation_entries},
	{3, "put", PROTO_ONE, operation_entries},
	{4, "post", PROTO_ONE, operation_entries},
	{5, "delete", PROTO_ONE, operation_entries},
	{8, "patch", PROTO_ONE, operation_entries},
	{9, "parameters", PROTO_LIST, parameter_entries},
	{0}};
static const struct proto_entry paths_entries[] = {{2, "all", PROTO_NAMED, item_entries},
						   {0}};
static const struct proto_entry info_entries[] = {
	{1, "title", PROTO_TEXT}, {2, "version", PROTO_TEXT}, {0}};
const struct proto_entry openapi_document[] = {
	{1, "swagger", PROTO_TEXT},
	{2, "info", PROTO_ONE, info_entries},
	{8, "paths", PROTO_ONE, paths_entries},
	{9, "definitions", PROTO_ONE, names_entries},
	{0}};
