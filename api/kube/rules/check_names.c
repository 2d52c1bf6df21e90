/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for names and addresses that only some kinds have. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/rules/check_priv.h"

#define PORT_NAME_MAX 15
#define LABEL_MAX     63
#define KEY_MAX       253

static bool is_made_of(const char *text, const char *others)
{
	for (; *text != '\0'; text++)
		if (!isascii(*text) || (!isalnum(*text) && strchr(others, *text) == NULL))
			return false;
	return true;
}

const char *rule_port_name_fault(const char *text)
{
	size_t len = strlen(text);

	if (len > PORT_NAME_MAX)
		return "must be no more than 15 characters";
	if (strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != len || len == 0)
		return "must contain only alpha-numeric characters (a-z, 0-9), and "
		       "hyphens (-)";
	if (strpbrk(text, "abcdefghijklmnopqrstuvwxyz") == NULL)
		return "must contain at least one letter (a-z)";
	if (strstr(text, "--") != NULL)
		return "must not contain consecutive hyphens";
	if (text[0] == '-' || text[len - 1] == '-')
		return "must not begin or end with a hyphen";
	return NULL;
}

/* A file with this name could lie outside its folder. */
static const char *folder_fault(const char *text)
{
	if (strcmp(text, ".") == 0)
		return "must not be '.'";
	if (strcmp(text, "..") == 0)
		return "must not be '..'";
	return strncmp(text, "..", 2) == 0 ? "must not start with '..'" : NULL;
}

const char *rule_env_name_fault(const char *text)
{
	if (text[0] == '\0' || isdigit((unsigned char)text[0]) ||
	    !is_made_of(text, "-._"))
		return "a valid environment variable name must consist of alphabetic "
		       "characters, digits, '_', '-', or '.', and must not start with a "
		       "digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', "
		       "regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')";
	return folder_fault(text);
}

const char *rule_config_key_fault(const char *text)
{
	if (strlen(text) > KEY_MAX)
		return "must be no more than 253 characters";
	if (text[0] == '\0' || !is_made_of(text, "-._"))
		return "a valid config key must consist of alphanumeric characters, '-', "
		       "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
		       "regex used for validation is '[-._a-zA-Z0-9]+')";
	return folder_fault(text);
}

const char *rule_percent_fault(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (digits > 0 && strcmp(text + digits, "%") == 0)
		return NULL;
	return "a valid percent string must be a numeric string followed by an ending "
	       "'%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
}

const char *rule_service_name_fault(const char *text)
{
	size_t len = strlen(text);

	if (len > LABEL_MAX)
		return "must be no more than 63 characters";
	if (len > 0 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == len &&
	    islower((unsigned char)text[0]) && text[len - 1] != '-')
		return NULL;
	return "a DNS-1035 label must consist of lower case alphanumeric characters or "
	       "'-', start with an alphabetic character, and end with an alphanumeric "
	       "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
	       "'[a-z]([-a-z0-9]*[a-z0-9])?')";
}

static int family(const char *text)
{
	unsigned char raw[16];

	if (inet_pton(AF_INET, text, raw) == 1)
		return 4;
	return inet_pton(AF_INET6, text, raw) == 1 ? 6 : 0;
}

bool rule_is_ip(const char *text)
{
	return family(text) != 0;
}

int rule_cidr_family(const char *text)
{
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t len = slash != NULL ? (size_t)(slash - text) : 0, digits;
	int found, bits;

	if (len == 0 || len >= sizeof(address))
		return 0;
	memcpy(address, text, len);
	address[len] = '\0';
	digits = strspn(slash + 1, "0123456789");
	if (digits == 0 || digits > 3 || slash[1 + digits] != '\0' ||
	    (digits > 1 && slash[1] == '0'))
		return 0;
	found = family(address);
	bits = (int)strtol(slash + 1, NULL, 10);
	return bits <= (found == 4 ? 32 : 128) ? found : 0;
}
