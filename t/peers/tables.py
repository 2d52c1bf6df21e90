# SPDX-License-Identifier: Apache-2.0
"""What the matrix is made of: bodies, options and patches that every kind is asked with."""
NS = 'rows'
JSON_PATCH = 'application/json-patch+json'
MERGE = 'application/merge-patch+json'
STRATEGIC = 'application/strategic-merge-patch+json'
APPLY = 'application/apply-patch+yaml'

# name, changes of metadata, None for a member that goes
META = [
    ('no name', {'name': None}), ('empty name', {'name': ''}), ('upper name', {'name': 'UPPER'}),
    ('name with blank', {'name': 'a b'}), ('name with slash', {'name': 'a/b'}), ('name of dots', {'name': '..'}),
    ('long name', {'name': 'n' * 254}), ('generateName', {'name': None, 'generateName': 'gen-'}),
    ('odd generateName', {'name': None, 'generateName': 'Gen_'}), ('other namespace', {'namespace': 'default'}),
    ('no namespace', {'namespace': None}), ('uid', {'uid': '11111111-2222-3333-4444-555555555555'}),
    ('resourceVersion', {'resourceVersion': '5'}), ('resourceVersion 0', {'resourceVersion': '0'}),
    ('resourceVersion x', {'resourceVersion': 'x'}),
    ('creationTimestamp', {'creationTimestamp': '2020-01-02T03:04:05Z'}),
    ('creationTimestamp wrong', {'creationTimestamp': 'yesterday'}),
    ('creationTimestamp null', {'creationTimestamp': None}),
    ('deletionTimestamp', {'deletionTimestamp': '2020-01-02T03:04:05Z'}),
    ('deletionGracePeriodSeconds', {'deletionGracePeriodSeconds': 5}), ('generation', {'generation': 7}),
    ('selfLink', {'selfLink': '/x'}), ('clusterName', {'clusterName': 'x'}),
    ('labels', {'labels': {'a': 'b', 'example.com/x': 'y'}}), ('odd label key', {'labels': {'a b': 'b'}}),
    ('odd label value', {'labels': {'a': 'b c'}}), ('long label value', {'labels': {'a': 'x' * 64}}),
    ('label number', {'labels': {'a': 5}}), ('label null', {'labels': {'a': None}}),
    ('annotations', {'annotations': {'a': 'any \n text'}}), ('odd annotation key', {'annotations': {'a b': 'b'}}),
    ('upper annotation key', {'annotations': {'Example.com/X': 'b'}}),
    ('big annotation', {'annotations': {'a': 'x' * 270000}}), ('finalizer', {'finalizers': ['example.com/f']}),
    ('bare finalizer', {'finalizers': ['f']}), ('odd finalizer', {'finalizers': ['a b/c']}),
    ('finalizer orphan', {'finalizers': ['orphan']}),
    ('finalizers twice', {'finalizers': ['example.com/f', 'example.com/f']}),
    ('owner', {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'o', 'uid': 'u'}]}),
    ('owner without uid', {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'o'}]}),
    ('owner empty', {'ownerReferences': [{}]}),
    ('owner of a group', {'ownerReferences': [{'apiVersion': 'a/b/c', 'kind': 'X', 'name': 'o', 'uid': 'u'}]}),
    ('owner event', {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Event', 'name': 'o', 'uid': 'u'}]}),
    ('two controllers',
     {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'X', 'name': 'o', 'uid': 'u', 'controller': True},
                          {'apiVersion': 'v1', 'kind': 'X', 'name': 'p', 'uid': 'w', 'controller': True}]}),
    ('managedFields',
     {'managedFields': [{'manager': 'm', 'operation': 'Update', 'apiVersion': 'v1', 'fieldsType': 'FieldsV1'}]}),
    ('metadata unknown', {'nosuch': 1}),
]

# name, members of the object
TOP = [
    ('no kind', {'kind': None}), ('no apiVersion', {'apiVersion': None}),
    ('neither', {'kind': None, 'apiVersion': None}), ('other kind', {'kind': 'Secret'}),
    ('other version', {'apiVersion': 'v9'}), ('kind number', {'kind': 5}), ('list kind', {'kind': 'List'}),
    ('unknown member', {'nosuch': {'a': 1}}), ('status', {'status': {}}),
]

# name, bytes, headers
RAW = [
    ('empty body', b'', None), ('null', b'null', None), ('a list', b'[]', None), ('a text', b'"x"', None),
    ('an empty map', b'{}', None), ('cut off', b'{"kind":', None),
    ('text behind', b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"$NAME"}} x', None),
    ('cbor', b'\xa0', {'Content-Type': 'application/cbor'}), ('plain text', b'{}', {'Content-Type': 'text/plain'}),
]

CREATE_QUERIES = [
    'dryRun=All', 'dryRun=', 'dryRun=x', 'dryRun=All&dryRun=All', 'dryRun=all', 'fieldManager=m',
    'fieldManager=' + 'm' * 200, 'fieldManager=a%0Ab', 'pretty=true', 'pretty=x', 'fieldValidation=Strict',
    'fieldValidation=Ignore', 'timeout=5s', 'nosuch=1', 'timeoutSeconds=x', 'watch=true', 'limit=-1',
]

GET_QUERIES = [
    '', 'resourceVersion=0', 'resourceVersion=1', 'resourceVersion=x', 'resourceVersion=99999999', 'pretty=true',
    'export=true', 'limit=-1', 'watch=true&timeoutSeconds=1', 'timeoutSeconds=x', 'nosuch=1',
]

# name, what is accepted
ACCEPTS = [
    ('table', 'application/json;as=Table;v=v1;g=meta.k8s.io'),
    ('table beta', 'application/json;as=Table;v=v1beta1;g=meta.k8s.io'),
    ('table wrong', 'application/json;as=Table;v=v9;g=meta.k8s.io'),
    ('partial', 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'),
    ('partial list', 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'), ('yaml', 'application/yaml'),
    ('csv', 'text/csv'), ('any', '*/*'), ('none', None), ('application', 'application/*'),
    ('protobuf or json', 'application/vnd.kubernetes.protobuf, application/json'),
]

LIST_QUERIES = [
    '', 'limit=1', 'limit=0', 'limit=-1', 'limit=x', 'limit=9223372036854775808', 'continue=x', 'continue=',
    'limit=1&continue=x', 'resourceVersion=0', 'resourceVersion=1', 'resourceVersion=x', 'resourceVersion=-1',
    'resourceVersion=0&resourceVersionMatch=Exact', 'resourceVersionMatch=Exact',
    'resourceVersionMatch=x&resourceVersion=1', 'resourceVersion=1&resourceVersionMatch=NotOlderThan',
    'timeoutSeconds=x', 'timeoutSeconds=-1', 'timeoutSeconds=5', 'pretty=true', 'watch=0', 'watch=false',
    'allowWatchBookmarks=x', 'nosuch=1', 'labelSelector=a', 'labelSelector=a%3Db', 'labelSelector=a%3D%3Db',
    'labelSelector=!a', 'labelSelector=a!%3Db', 'labelSelector=a+in+(b,c)', 'labelSelector=a+notin+(b)',
    'labelSelector=a%3E5', 'labelSelector=a%3C5', 'labelSelector=a%3Ex', 'labelSelector=', 'labelSelector=,',
    'labelSelector=a,,b', 'labelSelector=a%3D', 'labelSelector=%3Db', 'labelSelector=a+in+()', 'labelSelector=a+in',
    'labelSelector=a+b', 'labelSelector=a%3Db%3Dc', 'labelSelector=a/b/c', 'labelSelector=' + 'a' * 64,
    'labelSelector=a%3D' + 'v' * 64, 'labelSelector=a%3Db+c', 'labelSelector=a%3Db,c', 'labelSelector=in',
    'labelSelector=in+in+(in)', 'labelSelector=notin+notin+(a)', 'labelSelector=a+in+(b', 'labelSelector=!',
    'labelSelector=!a%3Db', 'labelSelector=a+notin+(b,)', 'fieldSelector=metadata.name%3Da',
    'fieldSelector=metadata.name!%3Da', 'fieldSelector=metadata.name%3D%3Da', 'fieldSelector=metadata.namespace%3Drows',
    'fieldSelector=metadata.namespace%3Dother', 'fieldSelector=metadata.uid%3Da', 'fieldSelector=spec.nodeName%3Da',
    'fieldSelector=status.phase!%3DRunning', 'fieldSelector=spec.unschedulable%3Dtrue',
    'fieldSelector=involvedObject.name%3Da', 'fieldSelector=type%3DNormal', 'fieldSelector=nosuch%3Da',
    'fieldSelector=metadata.name', 'fieldSelector=metadata.name%3Da,metadata.name%3Db', 'fieldSelector=',
    'fieldSelector=%3Da', 'fieldSelector=metadata.name%3Da%5C,b', 'fieldSelector=metadata.name%3Da%5Cx',
    'fieldSelector=status.successful%3D0', 'fieldSelector=status.replicas%3D0', 'fieldSelector=spec.schedulerName%3Dx',
    'fieldSelector=spec.restartPolicy%3DNever', 'fieldSelector=reason%3Dx', 'fieldSelector=source%3Dx',
    'fieldSelector=spec.serviceAccountName%3Dx', 'fieldSelector=status.podIP%3D1', 'fieldSelector=spec.type%3Dx',
    'fieldSelector=spec.clusterIP%3DNone',
]

# of watch=
WATCH_VALUES = [
    'true', 'True', 'TRUE', '1', 't', '2', 'yes', 'x', 'false', 'False', '0', '',
]

WATCH_QUERIES = [
    'resourceVersion=0', 'resourceVersion=x', 'resourceVersion=-1', 'labelSelector=a%3D%3D%3D',
    'fieldSelector=nosuch%3Da', 'allowWatchBookmarks=true', 'limit=1', 'resourceVersionMatch=Exact&resourceVersion=1',
    'sendInitialEvents=true', 'timeoutSeconds=0',
]

# as META, of an object that was changed since
PUT_META = [
    ('resourceVersion', {'resourceVersion': '$RV'}), ('no resourceVersion', {'resourceVersion': None}),
    ('resourceVersion 0', {'resourceVersion': '0'}), ('resourceVersion empty', {'resourceVersion': ''}),
    ('resourceVersion x', {'resourceVersion': 'x'}), ('resourceVersion number', {'resourceVersion': 5}),
    ('stale', {'resourceVersion': '$OLDRV'}), ('future', {'resourceVersion': '99999999'}),
    ('no name', {'resourceVersion': '$RV', 'name': None}), ('other name', {'resourceVersion': '$RV', 'name': 'other'}),
    ('empty name', {'resourceVersion': '$RV', 'name': ''}),
    ('other namespace', {'resourceVersion': '$RV', 'namespace': 'default'}),
    ('no namespace', {'resourceVersion': '$RV', 'namespace': None}), ('uid', {'resourceVersion': '$RV', 'uid': '$UID'}),
    ('other uid', {'resourceVersion': '$RV', 'uid': '11111111-2222-3333-4444-555555555555'}),
    ('uid number', {'resourceVersion': '$RV', 'uid': 5}),
    ('generateName', {'resourceVersion': '$RV', 'generateName': 'x-'}),
    ('creationTimestamp', {'resourceVersion': '$RV', 'creationTimestamp': '2020-01-02T03:04:05Z'}),
    ('creationTimestamp wrong', {'resourceVersion': '$RV', 'creationTimestamp': 'x'}),
    ('deletionTimestamp', {'resourceVersion': '$RV', 'deletionTimestamp': '2020-01-02T03:04:05Z'}),
    ('generation', {'resourceVersion': '$RV', 'generation': 77}),
    ('labels', {'resourceVersion': '$RV', 'labels': {'x': 'y'}}),
    ('odd label', {'resourceVersion': '$RV', 'labels': {'x': 'y z'}}),
    ('finalizer', {'resourceVersion': '$RV', 'finalizers': ['example.com/f']}),
    ('bare finalizer', {'resourceVersion': '$RV', 'finalizers': ['f']}),
]

# as TOP
PUT_TOP = [
    ('no kind', {'kind': None}), ('no apiVersion', {'apiVersion': None}), ('other kind', {'kind': 'Secret'}),
    ('other version', {'apiVersion': 'v9'}), ('unknown member', {'nosuch': 1}), ('no metadata', {'metadata': None}),
    ('no spec', {'spec': None}),
]

PUT_QUERIES = [
    'dryRun=All', 'dryRun=', 'dryRun=x', 'fieldManager=' + 'm' * 200, 'pretty=true', 'nosuch=1',
]

# name, type, body
PATCHES = [
    ('merge label', MERGE, {'metadata': {'labels': {'p': 'q'}}}),
    ('merge label null', MERGE, {'metadata': {'labels': {'p': None}}}),
    ('merge labels null', MERGE, {'metadata': {'labels': None}}),
    ('merge label number', MERGE, {'metadata': {'labels': {'p': 5}}}),
    ('merge labels text', MERGE, {'metadata': {'labels': 'x'}}),
    ('merge metadata null', MERGE, {'metadata': None}),
    ('merge metadata list', MERGE, {'metadata': []}),
    ('merge nothing', MERGE, {}),
    ('merge kind', MERGE, {'kind': 'Secret'}),
    ('merge apiVersion', MERGE, {'apiVersion': 'v9'}),
    ('merge kind null', MERGE, {'kind': None}),
    ('merge name', MERGE, {'metadata': {'name': 'other'}}),
    ('merge name null', MERGE, {'metadata': {'name': None}}),
    ('merge namespace', MERGE, {'metadata': {'namespace': 'default'}}),
    ('merge uid', MERGE, {'metadata': {'uid': 'x'}}),
    ('merge resourceVersion', MERGE, {'metadata': {'resourceVersion': '$RV'}}),
    ('merge stale', MERGE, {'metadata': {'resourceVersion': '$OLDRV'}}),
    ('merge resourceVersion 0', MERGE, {'metadata': {'resourceVersion': '0'}}),
    ('merge resourceVersion x', MERGE, {'metadata': {'resourceVersion': 'x'}}),
    ('merge creationTimestamp', MERGE,
     {'metadata': {'creationTimestamp': '2020-01-02T03:04:05Z'}}),
    ('merge creationTimestamp wrong', MERGE, {'metadata': {'creationTimestamp': 'x'}}),
    ('merge generation', MERGE, {'metadata': {'generation': 9}}),
    ('merge finalizer', MERGE, {'metadata': {'finalizers': ['example.com/f']}}),
    ('merge bare finalizer', MERGE, {'metadata': {'finalizers': ['f']}}),
    ('merge annotation odd', MERGE, {'metadata': {'annotations': {'a b': 'c'}}}),
    ('merge unknown', MERGE, {'nosuch': 1}),
    ('merge spec unknown', MERGE, {'spec': {'nosuch': 1}}),
    ('merge spec null', MERGE, {'spec': None}),
    ('merge spec text', MERGE, {'spec': 'x'}),
    ('merge status', MERGE, {'status': {'nosuch': 1}}),
    ('merge status text', MERGE, {'status': 'x'}),
    ('merge raw list', MERGE, b'[]'),
    ('merge raw null', MERGE, b'null'),
    ('merge raw text', MERGE, b'"x"'), ('merge raw empty', MERGE, b''),
    ('merge raw cut', MERGE, b'{"a":'),
    ('strategic label', STRATEGIC, {'metadata': {'labels': {'p': 'q'}}}),
    ('strategic nothing', STRATEGIC, {}),
    ('strategic kind', STRATEGIC, {'kind': 'Secret'}),
    ('strategic delete', STRATEGIC, {'metadata': {'labels': {'$patch': 'delete'}}}),
    ('strategic replace', STRATEGIC,
     {'metadata': {'labels': {'$patch': 'replace', 'n': 'm'}}}),
    ('strategic odd directive', STRATEGIC, {'metadata': {'labels': {'$patch': 'x'}}}),
    ('strategic finalizer', STRATEGIC, {'metadata': {'finalizers': ['example.com/f']}}),
    ('strategic order', STRATEGIC,
     {'metadata': {'$setElementOrder/finalizers': ['example.com/f'], 'finalizers': ['example.com/f']}}),
    ('strategic primitive', STRATEGIC,
     {'metadata': {'$deleteFromPrimitiveList/finalizers': ['example.com/f']}}),
    ('strategic unknown', STRATEGIC, {'nosuch': 1}),
    ('strategic labels text', STRATEGIC, {'metadata': {'labels': 'x'}}),
    ('strategic list', STRATEGIC, b'[]'),
    ('strategic null', STRATEGIC, b'null'),
    ('strategic cut', STRATEGIC, b'{"a":'),
    ('strategic whole delete', STRATEGIC, {'$patch': 'delete'}),
    ('strategic whole replace', STRATEGIC, {'$patch': 'replace'}),
    ('json add', JSON_PATCH, [{'op': 'add', 'path': '/metadata/labels', 'value': {'j': 'k'}}]),
    ('json add into nothing', JSON_PATCH,
     [{'op': 'add', 'path': '/metadata/nosuch/j', 'value': 'k'}]),
    ('json remove', JSON_PATCH, [{'op': 'remove', 'path': '/metadata/annotations'}]),
    ('json remove missing', JSON_PATCH, [{'op': 'remove', 'path': '/nosuch'}]),
    ('json replace missing', JSON_PATCH, [{'op': 'replace', 'path': '/nosuch', 'value': 1}]),
    ('json replace root', JSON_PATCH, [{'op': 'replace', 'path': '', 'value': {}}]),
    ('json remove metadata', JSON_PATCH, [{'op': 'remove', 'path': '/metadata'}]),
    ('json remove kind', JSON_PATCH, [{'op': 'remove', 'path': '/kind'}]),
    ('json replace kind', JSON_PATCH, [{'op': 'replace', 'path': '/kind', 'value': 'Secret'}]),
    ('json replace name', JSON_PATCH,
     [{'op': 'replace', 'path': '/metadata/name', 'value': 'other'}]),
    ('json test ok', JSON_PATCH, [{'op': 'test', 'path': '/metadata/name', 'value': '$NAME'}]),
    ('json test not', JSON_PATCH, [{'op': 'test', 'path': '/metadata/name', 'value': 'x'}]),
    ('json odd op', JSON_PATCH, [{'op': 'x', 'path': '/a'}]),
    ('json no op', JSON_PATCH, [{'path': '/a'}]),
    ('json no path', JSON_PATCH, [{'op': 'add', 'value': 1}]),
    ('json no value', JSON_PATCH, [{'op': 'add', 'path': '/metadata/labels'}]),
    ('json odd path', JSON_PATCH, [{'op': 'add', 'path': 'metadata', 'value': 1}]),
    ('json move', JSON_PATCH,
     [{'op': 'move', 'from': '/metadata/annotations', 'path': '/metadata/labels'}]),
    ('json copy', JSON_PATCH,
     [{'op': 'copy', 'from': '/metadata/annotations', 'path': '/metadata/labels'}]),
    ('json empty', JSON_PATCH, []), ('json map', JSON_PATCH, b'{}'),
    ('json null', JSON_PATCH, b'null'),
    ('json label number', JSON_PATCH, [{'op': 'add', 'path': '/metadata/labels', 'value': {'a': 5}}]),
    ('json spec text', JSON_PATCH, [{'op': 'add', 'path': '/spec', 'value': 'x'}]),
    ('json resourceVersion', JSON_PATCH,
     [{'op': 'replace', 'path': '/metadata/resourceVersion', 'value': '$OLDRV'}]),
    ('json index', JSON_PATCH, [{'op': 'add', 'path': '/metadata/finalizers/5', 'value': 'x'}]),
    ('apply', APPLY, None),
    ('plain json', 'application/json', {'metadata': {'labels': {'p': 'q'}}}),
    ('no type', '', {'metadata': {'labels': {'p': 'q'}}}), ('odd type', 'text/plain', {}),
    ('merge charset', 'application/merge-patch+json; charset=utf-8', {'metadata': {'labels': {'p': 'q'}}}),
]

# name, options; $GV is the version of the kind
DELETE_BODIES = [
    ('empty map', {}), ('options', {'kind': 'DeleteOptions', 'apiVersion': 'v1'}),
    ('options of the group', {'kind': 'DeleteOptions', 'apiVersion': '$GV'}),
    ('options beta', {'kind': 'DeleteOptions', 'apiVersion': 'v9'}), ('no kind', {'apiVersion': 'v1'}),
    ('kind only', {'kind': 'DeleteOptions'}), ('other kind', {'kind': 'Pod', 'apiVersion': 'v1'}),
    ('odd kind', {'kind': 'Nosuch', 'apiVersion': 'v1'}), ('kind number', {'kind': 5}), ('dryRun', {'dryRun': ['All']}),
    ('dryRun text', {'dryRun': 'All'}), ('dryRun empty', {'dryRun': []}), ('dryRun odd', {'dryRun': ['x']}),
    ('dryRun number', {'dryRun': [5]}), ('dryRun null', {'dryRun': None}), ('dryRun bool', {'dryRun': True}),
    ('uid', {'preconditions': {'uid': '$UID'}}), ('other uid', {'preconditions': {'uid': 'x'}}),
    ('uid number', {'preconditions': {'uid': 5}}), ('uid empty', {'preconditions': {'uid': ''}}),
    ('uid null', {'preconditions': {'uid': None}}), ('preconditions text', {'preconditions': 'x'}),
    ('preconditions list', {'preconditions': []}), ('preconditions null', {'preconditions': None}),
    ('preconditions empty', {'preconditions': {}}), ('preconditions unknown', {'preconditions': {'nosuch': 1}}),
    ('resourceVersion', {'preconditions': {'resourceVersion': '$RV'}}),
    ('stale', {'preconditions': {'resourceVersion': '$OLDRV'}}),
    ('resourceVersion number', {'preconditions': {'resourceVersion': 5}}),
    ('resourceVersion 0', {'preconditions': {'resourceVersion': '0'}}),
    ('resourceVersion empty', {'preconditions': {'resourceVersion': ''}}),
    ('Background', {'propagationPolicy': 'Background'}), ('Orphan', {'propagationPolicy': 'Orphan'}),
    ('odd policy', {'propagationPolicy': 'Foo'}), ('policy number', {'propagationPolicy': 5}),
    ('policy empty', {'propagationPolicy': ''}), ('policy null', {'propagationPolicy': None}),
    ('orphanDependents', {'orphanDependents': False}), ('orphanDependents text', {'orphanDependents': 'false'}),
    ('both', {'orphanDependents': True, 'propagationPolicy': 'Orphan'}), ('grace 0', {'gracePeriodSeconds': 0}),
    ('grace 5', {'gracePeriodSeconds': 5}), ('grace -1', {'gracePeriodSeconds': -1}),
    ('grace text', {'gracePeriodSeconds': '0'}), ('grace fraction', {'gracePeriodSeconds': 1.5}),
    ('grace null', {'gracePeriodSeconds': None}), ('unknown', {'nosuch': 1}), ('list', b'[]'), ('text', b'"x"'),
    ('null', b'null'), ('cut', b'{"a":'), ('number', b'5'),
]

DELETE_QUERIES = [
    'dryRun=All', 'dryRun=', 'dryRun=x', 'dryRun=all', 'propagationPolicy=Background', 'propagationPolicy=x',
    'propagationPolicy=', 'orphanDependents=false', 'orphanDependents=x', 'orphanDependents=1', 'gracePeriodSeconds=0',
    'gracePeriodSeconds=-1', 'gracePeriodSeconds=x', 'gracePeriodSeconds=', 'gracePeriodSeconds=1.5', 'pretty=true',
    'nosuch=1', 'preconditions=x', 'timeout=x',
]

# plural, version, kind, members
REVIEWS = [
    ('selfsubjectaccessreviews', 'authorization.k8s.io/v1', 'SelfSubjectAccessReview',
     {'spec': {'resourceAttributes': {'verb': 'get',
                                      'resource': 'pods',
                                      'namespace': 'default',
                                      'name': 'a',
                                      'group': '',
                                      'version': 'v1',
                                      'subresource': 'log'}}}),
    ('selfsubjectaccessreviews', 'authorization.k8s.io/v1', 'SelfSubjectAccessReview',
     {'spec': {'nonResourceAttributes': {'verb': 'get', 'path': '/metrics'}}}),
    ('selfsubjectrulesreviews', 'authorization.k8s.io/v1', 'SelfSubjectRulesReview', {'spec': {'namespace': 'default'}}),
    ('subjectaccessreviews', 'authorization.k8s.io/v1', 'SubjectAccessReview',
     {'spec': {'user': 'u',
               'groups': ['g'],
               'uid': 'x',
               'extra': {'a': ['b']},
               'resourceAttributes': {'verb': 'create', 'group': 'apps', 'resource': 'deployments'}}}),
    ('localsubjectaccessreviews', 'authorization.k8s.io/v1', 'LocalSubjectAccessReview',
     {'metadata': {'namespace': 'rows'},
      'spec': {'user': 'u', 'resourceAttributes': {'verb': 'get', 'resource': 'pods', 'namespace': 'rows'}}}),
    ('tokenreviews', 'authentication.k8s.io/v1', 'TokenReview', {'spec': {'token': 'x', 'audiences': ['a']}}),
]

# asked with every method
PATHS = [
    '/', '/version', '/version/', '/api', '/api/', '/apis', '/apis/', '/api/v1', '/api/v1/', '/api/v2', '/apis/apps',
    '/apis/apps/', '/apis/apps/v1', '/apis/apps/v1/', '/apis/apps/v9', '/apis/nosuch', '/apis/nosuch/v1',
    '/apis/peers.example.com', '/apis/peers.example.com/v1', '/apis/peers.example.com/v9',
    '/apis/peers.example.com/v1/nosuch', '/healthz', '/healthz/', '/healthz/ping', '/healthz/etcd', '/healthz/nosuch',
    '/livez', '/livez/ping', '/readyz', '/readyz/ping', '/healthz?verbose', '/readyz?verbose', '/livez?exclude=ping',
    '/metrics', '/openapi/v2', '/openapi/v3', '/swagger.json', '/nosuch', '/api/v1/nosuch',
    '/api/v1/namespaces/rows/nosuch', '/api/v1/namespaces/rows/nosuch/x', '/api/v1/namespaces/nosuch/pods',
    '/api/v1/namespaces/rows/nodes', '/api/v1/namespaces/rows/namespaces', '/api/v1/namespaces/rows/',
    '/api/v1/namespaces//pods', '/api/v1//namespaces/rows/pods', '//api/v1/pods', '/api/v1/../v1/pods', '/api/v1/./pods',
    '/api/v1/pods/x', '/api/v1/pods/x/status', '/api/v1/pods', '/api/v1/nodes/nosuch', '/api/v1/nodes/nosuch/status',
    '/api/v1/nodes/nosuch/proxy', '/api/v1/namespaces/rows/finalize', '/api/v1/namespaces/rows/status',
    '/api/v1/watch/pods?timeoutSeconds=1', '/api/v1/watch/nodes?timeoutSeconds=1', '/api/v1/componentstatuses',
    '/apis/events.k8s.io', '/apis/policy', '/apis/batch', '/apis/events.k8s.io/v1/events', '/apis/metrics.k8s.io',
    '/logs', '/ui', '/api/v1/namespaces/rows/pods/x/nosuch', '/api/v1/namespaces/rows/pods/x/log/y',
]
