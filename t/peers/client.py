# SPDX-License-Identifier: Apache-2.0
"""What Debian's python3-kubernetes does on a server: client.py URL TOKEN [CA] prints a line for each step, without what differs
from server to server (uids, times, versions)."""
import sys

import kubernetes.client as kc
from kubernetes import watch

conf = kc.Configuration()
conf.host = sys.argv[1]
conf.api_key = {"authorization": "Bearer " + sys.argv[2]}
if len(sys.argv) > 3:
    conf.ssl_ca_cert = sys.argv[3]
api = kc.ApiClient(conf)
core, apps, objects = kc.CoreV1Api(api), kc.AppsV1Api(api), kc.CustomObjectsApi(api)
NS = "default"


def say(what, value=""):
    print(what, value, flush=True)


def refused(what, call, *args, **more):
    try:
        call(*args, **more)
        say(what, "taken")
    except kc.ApiException as error:
        say(what, error.status)


def config_map(name, **more):
    return kc.V1ConfigMap(metadata=kc.V1ObjectMeta(name=name, labels={"app": "py"}), data={"a": "1"}, **more)


say("created", core.create_namespaced_config_map(NS, config_map("one")).data)
first = core.list_namespaced_config_map(NS, label_selector="app=py")
say("list", [item.metadata.name for item in first.items])
version = first.metadata.resource_version
refused("twice", core.create_namespaced_config_map, NS, config_map("one"))
refused("none", core.read_namespaced_config_map, "none", NS)
refused("no name", core.create_namespaced_config_map, NS, {"data": {}})
say("dry run", core.create_namespaced_config_map(NS, config_map("dry"), dry_run="All").metadata.name)
refused("which left nothing", core.read_namespaced_config_map, "dry", NS)
say("patched", core.patch_namespaced_config_map("one", NS, {"data": {"b": "2", "a": None}}).data)
say("json patch", core.patch_namespaced_config_map("one", NS, [{"op": "add", "path": "/data/c", "value": "3"}]).data)
read = core.read_namespaced_config_map("one", NS)
stale = read.metadata.resource_version
read.data["d"] = "4"
say("replaced", sorted(core.replace_namespaced_config_map("one", NS, read).data))
read.metadata.resource_version = stale
refused("of an old version", core.replace_namespaced_config_map, "one", NS, read)
core.create_namespaced_config_map(NS, config_map("two", immutable=True))
refused("immutable", core.patch_namespaced_config_map, "two", NS, {"data": {"a": "2"}})
say("deleted", core.delete_namespaced_config_map("two", NS).status)

# Watches: watch=True is in the query; the generator goes on from the version of the last
# event.
seen = []
stream = watch.Watch()
for event in stream.stream(core.list_namespaced_config_map, NS, label_selector="app=py", resource_version=version,
                           timeout_seconds=20):
    seen.append((event["type"], event["object"].metadata.name))
    if len(seen) == 5:
        stream.stop()
say("watched from the list on", seen)
again = watch.Watch()
core.create_namespaced_config_map(NS, config_map("three"))
for event in again.stream(core.list_namespaced_config_map, NS, label_selector="app=py", resource_version=stream.resource_version,
                          timeout_seconds=20):
    say("resumed", (event["type"], event["object"].metadata.name))
    if event["object"].metadata.name == "three":
        again.stop()
later = watch.Watch()
began = [(event["type"], event["object"].metadata.name) for event in later.stream(
    core.list_namespaced_config_map, NS, label_selector="app=py", timeout_seconds=1)]
say("watched without a version", sorted(began))  # a kube-apiserver begins in any order
say("which ends by itself")
core.create_namespaced_config_map(NS, config_map("four"))
names, more = [], None
while True:
    page = core.list_namespaced_config_map(NS, label_selector="app=py", limit=2, _continue=more)
    names.append([item.metadata.name for item in page.items])
    more = page.metadata._continue
    if not more:
        break
say("pages", names)
say("collection", core.delete_collection_namespaced_config_map(NS, label_selector="app=py").kind is not None)
say("is empty", core.list_namespaced_config_map(NS, label_selector="app=py").items)

template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
deployment = apps.create_namespaced_deployment(NS, {"metadata": {"name": "d"}, "spec": {
    "selector": {"matchLabels": {"app": "d"}}, "template": template}})
say("deployment", (deployment.spec.replicas, deployment.spec.strategy.type, deployment.spec.template.spec.restart_policy))
say("scale", apps.patch_namespaced_deployment_scale("d", NS, {"spec": {"replicas": 3}}).spec.replicas)
refused("wrong", apps.patch_namespaced_deployment, "d", NS, {"spec": {"replicas": -1}})
apps.delete_namespaced_deployment("d", NS, propagation_policy="Background")
say("nodes", len(core.list_node().items))
refused("objects of no kind", objects.list_cluster_custom_object, "example.com", "v1", "nothings")
