/* SPDX-License-Identifier: Apache-2.0
 *
 * Containers: image and command, probes, ports, mounts; and those that are put into a running pod. */
#include "api/kube/types/types_priv.h"

SHARED_ENUM(neap_kube_protocol, "SCTP", "TCP", "UDP");
SHARED_ENUM(neap_kube_pull_policy, "Always", "IfNotPresent", "Never");
ENUM(termination_policy, "FallbackToLogsOnError", "File");
ENUM(restart_policy, "Always");

/* --- probes and hooks --- */

static const struct neap_schema_field exec_fields[] = {
	FIELD("command", STRS, "The command and its arguments; no shell is involved."),
};
OBJECT(exec, CORE("ExecAction"), "A command in the container; 0 is well.");

ENUM(http_scheme, "HTTP", "HTTPS");

static const struct neap_schema_field http_header_fields[] = {
	NEED("name", STR, "Name of the header."),
	NEED("value", STR, "Its value."),
};
OBJECT(http_header, CORE("HTTPHeader"), "A header of the request.");
LIST(http_header);

static const struct neap_schema_field http_get_fields[] = {
	FIELD("host", STR, "Host to ask; the pod where none is named."),
	FIELD("httpHeaders", &http_header_list, "Headers of the request."),
	FILL("path", STR, "\"/\"", "Path to ask for."),
	NEED("port", INT_STR, "Number or name of the port."),
	FILL("scheme", &http_scheme, "\"HTTP\"", "HTTP or HTTPS."),
};
OBJECT(http_get, CORE("HTTPGetAction"), "A request; 200 to 399 is well.");

static const struct neap_schema_field tcp_socket_fields[] = {
	FIELD("host", STR, "Host to connect to; the pod where none is named."),
	NEED("port", INT_STR, "Number or name of the port."),
};
OBJECT(tcp_socket, CORE("TCPSocketAction"), "A connection; that it opens is well.");

static const struct neap_schema_field grpc_fields[] = {
	NEED("port", I32, "Number of the port."),
	GIVE("service", STR, "\"\"", "Name of the service that is asked about."),
};
OBJECT(grpc, CORE("GRPCAction"), "A call of the health protocol of gRPC.");

static const struct neap_schema_field probe_fields[] = {
	FIELD("exec", &exec, NULL),
	FILL("failureThreshold", I32, "3", "Failures in a row that count as one."),
	FIELD("grpc", &grpc, NULL),
	FIELD("httpGet", &http_get, NULL),
	FIELD("initialDelaySeconds", I32,
	      "Seconds after the start before the first probe."),
	FILL("periodSeconds", I32, "10", "Seconds between probes."),
	FILL("successThreshold", I32, "1", "Successes in a row that count as one."),
	FIELD("tcpSocket", &tcp_socket, NULL),
	PTR("terminationGracePeriodSeconds", I64,
	    "Seconds the container has to end after a failure; those of the pod where none are set."),
	FILL("timeoutSeconds", I32, "1", "Seconds a probe may take."),
};
OBJECT(probe, CORE("Probe"), "How it is found out that a container is well.");

static const struct neap_schema_field sleep_action_fields[] = {
	NEED("seconds", I64, "How long."),
};
OBJECT(sleep_action, CORE("SleepAction"), "A pause.");

static const struct neap_schema_field handler_fields[] = {
	FIELD("exec", &exec, NULL),
	FIELD("httpGet", &http_get, NULL),
	FIELD("sleep", &sleep_action, NULL),
	FIELD("tcpSocket", &tcp_socket, NULL),
};
OBJECT(handler, CORE("LifecycleHandler"), "What is done; one of them.");

static const struct neap_schema_field lifecycle_fields[] = {
	FIELD("postStart", &handler, "Done after the container is made."),
	FIELD("preStop", &handler, "Done before the container is told to end."),
};
OBJECT(lifecycle, CORE("Lifecycle"), "What is done when a container starts and ends.");

/* --- ports and mounts --- */

static const struct neap_schema_field container_port_fields[] = {
	NEED("containerPort", I32, "Number of the port, 1 to 65535."),
	FIELD("hostIP", STR, "Address of the host that the port is bound to."),
	FIELD("hostPort", I32, "Port of the host that leads to it."),
	FIELD("name", STR, "Name, by which services refer to it."),
	FILL("protocol", &neap_kube_protocol, "\"TCP\"", "TCP, UDP or SCTP."),
};
OBJECT(container_port, CORE("ContainerPort"), "A port that the container listens on.");
LIST(container_port);

ENUM(propagation, "Bidirectional", "HostToContainer", "None");
ENUM(recursive_read_only, "Disabled", "Enabled", "IfPossible");

static const struct neap_schema_field volume_mount_fields[] = {
	NEED("mountPath", STR, "Path in the container."),
	PTR("mountPropagation", &propagation,
	    "Whether later mounts are seen: None, HostToContainer, Bidirectional."),
	NEED("name", STR, "Name of the volume."),
	FIELD("readOnly", BOOL, "The container may not write."),
	PTR("recursiveReadOnly", &recursive_read_only,
	    "Nor below mounts in it: Disabled, IfPossible, Enabled."),
	FIELD("subPath", STR, "Path within the volume that is mounted."),
	FIELD("subPathExpr", STR,
	      "The same with $(NAME) for variables of the environment."),
};
OBJECT(volume_mount, CORE("VolumeMount"), "Where a volume is in the container.");
LIST(volume_mount);

static const struct neap_schema_field volume_device_fields[] = {
	NEED("devicePath", STR, "Path of the device in the container."),
	NEED("name", STR, "Name of the volume, that of a claim."),
};
OBJECT(volume_device, CORE("VolumeDevice"), "A volume as a block device.");
LIST(volume_device);

/* --- resources that change --- */

ENUM(resize_resource, "cpu", "memory");
ENUM(resize_restart, "NotRequired", "RestartContainer");

static const struct neap_schema_field resize_policy_fields[] = {
	NEED("resourceName", &resize_resource, "cpu or memory."),
	NEED("restartPolicy", &resize_restart, "NotRequired or RestartContainer."),
};
OBJECT(resize_policy, CORE("ContainerResizePolicy"),
       "What a change of a resource does to the container.");
LIST(resize_policy);

/* --- security --- */

static const struct neap_schema_field capabilities_fields[] = {
	FIELD("add", STRS, "Capabilities it gets."),
	FIELD("drop", STRS, "Capabilities it loses."),
};
OBJECT(capabilities, CORE("Capabilities"),
       "Capabilities of Linux, beside those of the runtime.");

ENUM(proc_mount, "Default", "Unmasked");

static const struct neap_schema_field security_fields[] = {
	PTR("allowPrivilegeEscalation", BOOL,
	    "A process may gain more rights than its parent has."),
	FIELD("appArmorProfile", &neap_kube_apparmor, NULL),
	FIELD("capabilities", &capabilities, NULL),
	PTR("privileged", BOOL, "Has all rights on the host."),
	PTR("procMount", &proc_mount, "How /proc is mounted: Default or Unmasked."),
	PTR("readOnlyRootFilesystem", BOOL, "The image's files cannot be written."),
	PTR("runAsGroup", I64, "Group of the processes."),
	PTR("runAsNonRoot", BOOL, "A container that would run as user 0 is not started."),
	PTR("runAsUser", I64,
	    "User of the processes; that of the image where none is set."),
	FIELD("seLinuxOptions", &neap_kube_selinux, NULL),
	FIELD("seccompProfile", &neap_kube_seccomp, NULL),
	FIELD("windowsOptions", &neap_kube_windows_options, NULL),
};
OBJECT(security, CORE("SecurityContext"),
       "What the processes of a container may do; goes before that of the pod.");

/* --- containers --- */

#define CONTAINER_FIELDS                                                                                                                  \
	FIELD("args", STRS, "Arguments; those of the image where none are given."),                                                       \
		FIELD("command", STRS,                                                                                                    \
		      "Command; that of the image where none is given."),                                                                 \
		KEYED("env", &neap_kube_env_list, "name",                                                                                 \
		      "Variables of the environment."),                                                                                   \
		FIELD("envFrom", &neap_kube_env_from_list,                                                                                \
		      "Objects whose keys are variables."),                                                                               \
		FIELD("image", STR, "Name of the image."),                                                                                \
		FIELD("imagePullPolicy", &neap_kube_pull_policy,                                                                          \
		      "When the image is pulled: Always, Never, IfNotPresent; by default Always for the tag latest, else IfNotPresent."), \
		FIELD("lifecycle", &lifecycle, NULL),                                                                                     \
		FIELD("livenessProbe", &probe,                                                                                            \
		      "A container that fails it is started anew."),                                                                      \
		PAIRED("ports", &container_port_list, "containerPort", "protocol",                                                        \
		       "Ports that the container listens on."),                                                                           \
		FIELD("readinessProbe", &probe,                                                                                           \
		      "A container that fails it gets no requests from services."),                                                       \
		FIELD("resizePolicy", &resize_policy_list,                                                                                \
		      "What changes of resources do to the container."),                                                                  \
		GIVE("resources", &neap_kube_resources, "{}", NULL),                                                                      \
		PTR("restartPolicy", &restart_policy,                                                                                     \
		    "Always makes an init container one that runs beside the others."),                                                   \
		FIELD("securityContext", &security, NULL),                                                                                \
		FIELD("startupProbe", &probe,                                                                                             \
		      "The other probes begin when it has succeeded."),                                                                   \
		FIELD("stdin", BOOL, "Has a standard input."),                                                                            \
		FIELD("stdinOnce", BOOL,                                                                                                  \
		      "The standard input is closed after the first client."),                                                            \
		FILL("terminationMessagePath", STR, "\"/dev/termination-log\"",                                                           \
		     "File whose contents tell why the container ended."),                                                                \
		FILL("terminationMessagePolicy", &termination_policy, "\"File\"",                                                         \
		     "File, or FallbackToLogsOnError: the end of the log when that file is empty."),                                      \
		FIELD("tty", BOOL, "Has a terminal; needs stdin."),                                                                       \
		KEYED("volumeDevices", &volume_device_list, "devicePath",                                                                 \
		      "Volumes as block devices."),                                                                                       \
		KEYED("volumeMounts", &volume_mount_list, "mountPath",                                                                    \
		      "Where volumes are in the container."),                                                                             \
		FIELD("workingDir", STR,                                                                                                  \
		      "Folder it starts in; that of the image where none is set.")

static const struct neap_schema_field neap_kube_container_fields[] = {
	NEED("name", STR, "Name, unique in the pod."),
	CONTAINER_FIELDS,
};
static const struct neap_schema neap_kube_container = {
	.name = CORE("Container"),
	.doc = "One container of a pod.",
	NEAP_SCHEMA_FIELDS(neap_kube_container_fields),
};
SHARED_LIST(neap_kube_container);

static const struct neap_schema_field neap_kube_ephemeral_container_fields[] = {
	NEED("name", STR, "Name, unique in the pod."),
	CONTAINER_FIELDS,
	FIELD("targetContainerName", STR, "Container whose namespaces it shares."),
};
static const struct neap_schema neap_kube_ephemeral_container = {
	.name = CORE("EphemeralContainer"),
	.doc = "A container that is put into a running pod, for looking at it.",
	NEAP_SCHEMA_FIELDS(neap_kube_ephemeral_container_fields),
};
SHARED_LIST(neap_kube_ephemeral_container);
