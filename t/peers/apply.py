#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Server-side apply on a kube-apiserver and on neapd: the same stories, and who owns what after each step.

apply.py --real URL,TOKEN,CA --neapd URL,TOKEN [--match REGEX]

A step is (how, body) or (how, body, query); how is apply MANAGER, force MANAGER, post MANAGER, merge MANAGER, json MANAGER,
each perhaps with /status or /scale behind it. Compared are the code, of a refusal message and causes, else spec, data, labels
and managedFields without times and subresources, which 1.20 does not tell apart, and without status, which it counts to
whoever sent it."""
import argparse
import json
import re
import sys

import tables
from wire import Server

# Of its own: rows of the matrix end theirs.
NS = 'applies'
TYPES = {'apply': tables.APPLY, 'force': tables.APPLY, 'merge': 'application/merge-patch+json',
         'strategic': 'application/strategic-merge-patch+json', 'json': 'application/json-patch+json'}
WORDS = re.compile('Apply failed|Incorrect version|Operation cannot|metadata.managed|the name|PatchOptions')


def configmap(**data):
    return {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': '$NAME'}, **({'data': data} if data else {})}


def meta(body, **more):
    return {**body, 'metadata': {**body['metadata'], **more}}


def pod(*containers, **spec):
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': '$NAME'},
            'spec': {**({'containers': list(containers)} if containers else {}), **spec}}


def service(*ports, **spec):
    return {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': '$NAME'}, 'spec': {'ports': list(ports), **spec}}


def deployment(spec=None, template=None, **more):
    body = {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': '$NAME'}, 'spec': {**(spec or {})}, **more}
    if template is not None:
        body['spec']['template'] = template
    return body


def widget(**spec):
    return {'apiVersion': 'peers.example.com/v1', 'kind': 'Widget', 'metadata': {'name': '$NAME'}, 'spec': spec}


C = {'name': 'c', 'image': 'i:1'}
TEMPLATE = {'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': [C]}}
WHOLE = deployment({'replicas': 2, 'selector': {'matchLabels': {'a': 'b'}}}, TEMPLATE)
SCALE = {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': '$NAME'}, 'spec': {'replicas': 5}}
LAST = 'kubectl.kubernetes.io/last-applied-configuration'

STORIES = [
    ('apply, the same, less, nothing', [
        ('apply one', configmap(x='1', y='2')), ('apply one', configmap(x='1', y='2')), ('apply one', configmap(y='2')),
        ('apply one', configmap())]),
    ('two owners', [
        ('apply one', configmap(x='1', y='2')), ('apply two', configmap(y='2', z='3')), ('apply one', configmap(w='4')),
        ('apply two', configmap(w='5')), ('force two', configmap(w='5')), ('apply one', configmap(w='6'))]),
    ('three conflicts', [
        ('apply one', configmap(x='1', y='2')), ('apply two', configmap(x='1')), ('apply three', configmap(x='9', y='9'))]),
    ('an update takes', [
        ('apply one', configmap(x='1', y='2')), ('merge ed', {'data': {'x': '3'}}), ('apply one', configmap(x='1', y='2')),
        ('force one', configmap(x='1', y='2')), ('merge ed', {'data': {'x': None}}), ('apply one', configmap(x='1'))]),
    ('made by an update', [
        ('post maker', configmap(x='1')), ('apply one', configmap(x='2')), ('apply one', configmap(x='1')),
        ('apply maker', configmap(x='3')), ('merge maker', {'data': {'y': '1'}})]),
    ('labels', [
        ('apply one', meta(configmap(), labels={'a': 'b'}, annotations={'c': 'd'}, finalizers=['x/x'])),
        ('apply two', meta(configmap(), labels={'e': 'f'}, finalizers=['y/y'])),
        ('apply one', meta(configmap(), labels={'a': 'b'})), ('apply one', configmap()),
        ('merge ed', {'metadata': {'labels': None, 'finalizers': None}})]),
    ('all labels go', [
        ('apply one', meta(configmap(x='1'), labels={'a': 'b'}, annotations={'c': 'd'}, finalizers=['x/y'])),
        ('apply one', configmap(x='1')), ('apply one', configmap())]),
    ('all of a spec goes', [
        ('apply one', meta(pod(C), labels={'a': 'b'})), ('apply one', pod(C)), ('apply one', pod())]),
    ('containers', [
        ('apply one', pod(C, {'name': 'd', 'image': 'j'})), ('apply two', pod({**C, 'image': 'i:2'})),
        ('force two', pod({**C, 'image': 'i:2'})), ('strategic ed', {'spec': {'containers': [{'name': 'd', 'image': 'k'}]}}),
        ('apply one', pod(C, {'name': 'd', 'image': 'j'})), ('apply two', pod())]),
    ('a pod made by an update', [
        ('post maker', meta(pod({**C, 'env': [{'name': 'E', 'value': 'v'}], 'ports': [{'containerPort': 80}],
                                 'resources': {'requests': {'cpu': '1'}}, 'volumeMounts': [{'name': 'v', 'mountPath': '/v'}]},
                                volumes=[{'name': 'v', 'emptyDir': {}}], nodeSelector={'n': 's'},
                                tolerations=[{'key': 'k', 'operator': 'Exists'}]), labels={'a': 'b'})),
        ('apply one', meta(pod(C), labels={'a': 'b'})), ('apply one', meta(pod(C), labels={'a': 'c'}))]),
    ('ports', [
        ('apply one', service({'name': 't', 'port': 53, 'protocol': 'TCP'}, {'name': 'u', 'port': 53, 'protocol': 'UDP'}, selector={'a': 'b'})),
        ('apply two', service({'name': 'h', 'port': 80, 'protocol': 'TCP'})),
        ('apply one', service({'name': 'u', 'port': 53, 'protocol': 'UDP'}, selector={'a': 'b'})),
        ('apply two', service({'name': 'v', 'port': 53, 'protocol': 'UDP'}))]),
    ('a deployment', [
        ('apply one', WHOLE), ('merge ed', {'spec': {'replicas': 4}}), ('apply one', WHOLE), ('force one', WHOLE),
        ('apply two', deployment({}, {'spec': {'containers': [{'name': 'e', 'image': 'j'}]}})), ('apply two', {k: v for k, v in WHOLE.items() if k != 'spec'}),
        ('strategic set', {'spec': {'template': {'spec': {'containers': [{'name': 'c', 'image': 'i:9'}]}}}}),
        ('apply one', WHOLE)]),
    ('a deployment made by an update', [
        ('post maker', WHOLE), ('apply one', deployment({'replicas': 3})), ('force one', deployment({'replicas': 3})),
        ('apply one', {k: v for k, v in WHOLE.items() if k != 'spec'})]),
    ('a declared kind', [
        ('apply one', widget(size=1, list=['x'], map={'a': 'b'}, any={'c': {'d': [1]}})),
        ('apply two', widget(size=1, list=['y'], map={'e': 'f'})), ('force two', widget(size=2, list=['y'], map={'e': 'f'})),
        ('apply one', widget(size=2)), ('apply two', widget(size=2, any={})), ('merge ed', {'spec': {'text': 'a'}}),
        ('apply one', widget(size=2, text='ab'))]),
    ('kubectl takes over its own', [
        ('post kubectl-client-side-apply', meta(configmap(x='1'), annotations={LAST: json.dumps(configmap(x='1'))})),
        ('apply other', configmap(x='2')), ('apply kubectl', configmap(x='2')), ('apply kubectl', configmap(x='3'))]),
    ('written by hand', [
        ('apply one', configmap(x='1')),
        ('json ed', [{'op': 'replace', 'path': '/metadata/managedFields/0/manager', 'value': 'two'}]),
        ('json ed', [{'op': 'replace', 'path': '/metadata/managedFields/0/fieldsType', 'value': 'x'}]),
        ('json ed', [{'op': 'replace', 'path': '/metadata/managedFields', 'value': [{}]}]),
        ('merge ed', {'data': {'y': '1'}}), ('apply one', configmap(x='1', y='2')), ('force one', configmap(x='1', y='2'))]),
    ('options', [
        ('apply ', configmap(x='1')), ('apply one', configmap(x='1'), 'dryRun=All'), ('apply one', configmap(x='1'), 'force=x'),
        ('apply ' + 'm' * 129, configmap()), ('apply two', configmap(x='2'), 'force=false'),
        ('apply two', configmap(x='2'), 'force=true&dryRun=All'), ('merge one', {}, 'force=true')]),
    ('refused', [
        ('apply one', meta(configmap(), managedFields=[])), ('apply one', meta(configmap(), uid='u')),
        ('apply one', {**configmap(), 'frob': 1}), ('apply one', {**configmap(), 'data': {'x': 5}}),
        ('apply one', {**configmap(), 'apiVersion': 'v2'}), ('apply one', {**configmap(), 'kind': 'Pod'}),
        ('apply one', {'metadata': {'name': '$NAME'}}), ('apply one', meta(configmap(), name='other')),
        ('apply one', {'apiVersion': 'v1', 'kind': 'ConfigMap'}), ('apply one', b'[]'), ('apply one', b''), ('apply one', b'a: ['),
        ('apply one', meta(configmap(), namespace='other')), ('apply one', configmap()),
        ('apply one', meta(configmap(), resourceVersion='1')), ('apply one', meta(configmap(), labels={'a': 'not ok'})),
        ('apply one', pod({'image': 'i'})), ('apply one', pod(C, C))]),
]


def collection(body):
    return {'ConfigMap': '/api/v1/namespaces/%s/configmaps', 'Pod': '/api/v1/namespaces/%s/pods',
            'Service': '/api/v1/namespaces/%s/services', 'Deployment': '/apis/apps/v1/namespaces/%s/deployments',
            'Widget': '/apis/peers.example.com/v1/namespaces/%s/widgets'}[body['kind']] % NS


def tree(fields):
    return {k: tree(v) for k, v in sorted(fields.items()) if k not in ('f:status', '.')}


def union(a, b):
    """Of two sets as trees, without the "." that says of a field with fields that it is owned itself."""
    return {k: union(a.get(k, {}), b.get(k, {})) for k in sorted(set(a) | set(b))}


def managers(entries):
    """By who, how and version."""
    out = {}
    for entry in entries or []:
        who = '%s %s %s' % (entry['manager'], entry['operation'], entry['apiVersion'])
        out[who] = union(out.get(who, {}), tree(entry.get('fieldsV1', {})))
    return {who: fields for who, fields in sorted(out.items()) if fields}


def refusal(code, answer):
    """Words where clients act on them, or users read them; what a kube-apiserver calls its own fault is the client's."""
    message = answer.get('message') or ''
    causes = answer.get('details', {}).get('causes') or []
    if code == 500:
        return {'code': 'refused'}
    return {'code': code, 'causes': sorted({(x['reason'], x['field'], code == 409 and x['message']) for x in causes}),
            'message': message if WORDS.match(message) else ''}


def seen(code, answer, name):
    """What is compared."""
    if code >= 300 or not isinstance(answer, dict):
        text = refusal(code, answer or {})
    else:
        at = answer.get('metadata', {})
        text = {'code': code, 'managers': managers(at.get('managedFields')), 'data': answer.get('data'),
                'labels': at.get('labels'), 'finalizers': at.get('finalizers'), 'annotations': at.get('annotations'),
                'images': [c.get('image') for c in answer.get('spec', {}).get('containers', [])]}
    return json.loads(json.dumps(text).replace(name, '$NAME'))


def tell(server, story, number):
    name = 'story-%d' % number
    path = None
    for step in story:
        how, body, query = (step + ('',))[:3]
        verb, who = how.split(' ', 1)
        who, _, part = who.partition('/')
        path = path or collection(body) + '/' + name
        query = '&'.join(x for x in (query, who and 'fieldManager=' + who, 'force=true' if verb == 'force' else '') if x)
        if not isinstance(body, bytes):
            body = json.dumps(body).replace('$NAME', name).encode()
        at = path.rsplit('/', 1)[0] if verb == 'post' else path + ('/' + part if part else '')
        headers = {'Content-Type': TYPES.get(verb, 'application/json'), 'User-Agent': 'story/1'}
        yield how, seen(*server.json('POST' if verb == 'post' else 'PATCH', at + '?' + query, body, headers), name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--real', required=True)
    parser.add_argument('--neapd', required=True)
    parser.add_argument('--match', default='')
    args = parser.parse_args()
    real, neapd = Server('real', *args.real.split(',')), Server('neapd', *args.neapd.split(','))
    steps = differ = 0
    for server in (real, neapd):
        server.json('POST', '/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': NS}})
    for number, (name, story) in enumerate(STORIES):
        if not re.search(args.match, name):
            continue
        for at, (left, right) in enumerate(zip(tell(real, story, number), tell(neapd, story, number)), 1):
            steps += 1
            if left == right or (left[1]['code'] == 'refused' and right[1]['code'] in (400, 422)):
                continue
            differ += 1
            print('%s, step %d, %s:' % (name, at, left[0]))
            for key in sorted(set(left[1]) | set(right[1])):
                if left[1].get(key) != right[1].get(key):
                    print('  %s\n    real  %s\n    neapd %s' % (key, json.dumps(left[1].get(key)), json.dumps(right[1].get(key))))
    print('%d of %d steps are the same' % (steps - differ, steps))
    return 1 if differ else 0


sys.exit(main())
