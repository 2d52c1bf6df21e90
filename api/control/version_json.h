/* SPDX-License-Identifier: Apache-2.0
 *
 * What GET /version answers: what neapd is, and beside it the members by which Kubernetes
 * clients tell what they talk to.
 *
 *   { "name": "neapd", "version": "0.1.0",
 *     "major": "1", "minor": "31", "gitVersion": "v1.31.0+neap-0.1.0", "gitCommit": "",
 *     "gitTreeState": "",
 *     "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "gcc 12.2.0",
 *     "platform": "linux/amd64" }
 *
 * The minor is that of the Kubernetes whose fields and rules api/kube has. The build
 * knows neither commit nor date, so that equal sources give equal programs: they are
 * empty, and the date that Kubernetes has for that. goVersion says that there is no Go in
 * it. */
#ifndef NEAP_API_CONTROL_VERSION_JSON_H
#define NEAP_API_CONTROL_VERSION_JSON_H

#include <jansson.h>

/* A new reference, NULL without memory. */
json_t *neap_version_json(void);

#endif
