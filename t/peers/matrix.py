# SPDX-License-Identifier: Apache-2.0
"""The matrix of requests: every kind x verbs x bodies x options x wrong types. Rows are generated, none is written
by hand for one kind; kinds.json has one valid body of each kind.

In paths and bodies $NAME is the name of the row's object, $NS the namespace, $UID, $RV and $OLDRV the uid, the
version and the version before of the object that the row's setup made; each server has its own."""
import copy
import json
import os

from tables import (ACCEPTS, APPLY, CREATE_QUERIES, DELETE_BODIES, DELETE_QUERIES, GET_QUERIES, LIST_QUERIES, MERGE,
    META, NS, PATCHES, PATHS, PUT_META, PUT_QUERIES, PUT_TOP, RAW, REVIEWS, STRATEGIC, TOP, WATCH_QUERIES, WATCH_VALUES)

HERE = os.path.dirname(os.path.abspath(__file__))
WRONG = [('number', 5), ('fraction', 1.5), ('text', 'x'), ('bool', True), ('map', {}), ('list', []), ('null', None)]


class Row:
    """One request, what has to be there before (an object, and whether it is changed once), and what is read after."""

    def __init__(self, ident, method, path, body=None, headers=None, setup=None, touched=False, after=None, watch=0):
        self.ident = ident
        self.method = method
        self.path = path
        self.body = body
        self.headers = headers
        self.setup = setup
        self.touched = touched
        self.after = after
        self.watch = watch


class Kind:
    def __init__(self, name, row):
        self.name = name
        self.plural = row.get('plural', name)
        self.at = row['at']
        self.kind = row['kind']
        self.cluster = row.get('cluster', False)
        self.status = row.get('status', False)
        self.scale = row.get('scale', False)
        self.custom = row.get('custom', False)
        self.dry = row.get('dry', False)
        self.api_version = self.at.split('/', 2)[2] if self.at.startswith('/apis/') else 'v1'
        self.body = row['body']
        self.crd = name == 'customresourcedefinitions'

    def collection(self, namespace=NS):
        return self.at + ('' if self.cluster else '/namespaces/' + namespace) + '/' + self.plural

    def object_name(self):
        return '$NAMEs.dry.example.com' if self.crd else '$NAME'

    def object(self):
        body = {'apiVersion': self.api_version, 'kind': self.kind}
        body.update(copy.deepcopy(self.body))
        meta = {'name': self.object_name()}
        if not self.cluster:
            meta['namespace'] = NS
        meta.update(body.get('metadata', {}))
        body['metadata'] = meta
        return body

    def path(self):
        return self.collection() + '/' + self.object_name()


def kinds():
    with open(os.path.join(HERE, 'kinds.json'), encoding='utf-8') as file:
        return [Kind(name, row) for name, row in json.load(file).items()]


def paths_of(value, at=()):
    """Each place in a body, the first item of each list."""
    if at:
        yield at
    if isinstance(value, dict):
        for key, child in value.items():
            yield from paths_of(child, at + (key,))
    elif isinstance(value, list) and value:
        yield from paths_of(value[0], at + (0,))


def text_of(path):
    out = ''
    for step in path:
        out += '[%d]' % step if isinstance(step, int) else ('.' if out else '') + step
    return out


def get(value, path):
    for step in path:
        value = value[step]
    return value


def changed(body, path, value):
    body = copy.deepcopy(body)
    get(body, path[:-1])[path[-1]] = value
    return body


def without(body, path):
    body = copy.deepcopy(body)
    del get(body, path[:-1])[path[-1]]
    return body


def merged(body, extra):
    """body with the members of extra, maps into maps."""
    body = copy.deepcopy(body)
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(body.get(key), dict):
            body[key] = merged(body[key], value)
        else:
            body[key] = value
    return body


def kind_of(value):
    for name, sample in WRONG:
        if type(sample) is type(value):
            return name
    return ''


def values(value):
    """Other values of the same type: (name, value)."""
    if isinstance(value, bool):
        yield 'flipped', not value
    elif isinstance(value, int):
        for n in (-1, 0, 65536, 2147483648, 9223372036854775808):
            yield str(n), n
    elif isinstance(value, str):
        for name, text in (('empty', ''), ('odd', 'A b!'), ('long', 'x' * 300), ('number', '7')):
            yield name, text
    elif isinstance(value, list):
        yield 'twice', value + value
        yield 'null-item', [None]
    elif isinstance(value, dict) and value and all(isinstance(v, str) for v in value.values()):
        yield 'odd-key', {'a b/c': 'x'}
        yield 'empty-key', {'': 'x'}
        yield 'one-more', dict(value, zz='top')


def edit(body, extra, top=False):
    body = copy.deepcopy(body)
    into = body if top else body['metadata']
    for key, value in extra.items():
        if value is None:
            into.pop(key, None)
        else:
            into[key] = value
    return body


def creates(kind):
    base, at = kind.object(), kind.collection()
    one = kind.path()
    dry = '?dryRun=All' if kind.dry else ''
    after = None if kind.dry else one

    def row(what, body, query='', headers=None):
        join = '&' if dry and query else ''
        return Row('%s create %s' % (kind.name, what), 'POST',
            at + (dry + join + query if dry else '?' + query if query else ''), body, headers, after=after)

    yield row('as it is', base)
    for query in CREATE_QUERIES:
        yield row('?' + query[:40], base, query)
    for name, extra in META:
        yield row('meta ' + name, edit(base, extra))
    for name, extra in TOP:
        yield row('top ' + name, edit(base, extra, True))
    for name, text, headers in RAW:
        yield row('raw ' + name, text, headers=headers)
    yield row('raw no content type', base, headers={'Content-Type': ''})
    yield row('raw yaml', base, headers={'Content-Type': 'application/yaml'})
    yield row('raw json with charset', base, headers={'Content-Type': 'application/json; charset=utf-8'})
    whole = json.dumps(base)
    yield row('raw member twice', whole[:-1] + ', "kind": %s}' % json.dumps(kind.kind))
    yield row('raw name twice', whole.replace('"metadata": {', '"metadata": {"name": "other", ', 1))
    yield row('raw upper case members', whole.replace('"metadata"', '"Metadata"', 1))
    yield row('accept yaml', base, headers={'Accept': 'application/yaml'})
    yield row('accept nothing known', base, headers={'Accept': 'text/csv'})
    yield row('accept partial', base, headers={'Accept': 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'})
    yield row('accept table', base, headers={'Accept': 'application/json;as=Table;v=v1;g=meta.k8s.io'})
    if not kind.custom or not kind.cluster:
        yield row('unknown field within', changed(base, ('spec',),
            merged(base.get('spec', {}), {'nosuch': 1})) if isinstance(base.get('spec', {}), dict) else base)
    for path in paths_of(base):
        if path[0] in ('apiVersion', 'kind'):
            continue
        here = get(base, path)
        yield row('type %s=absent' % text_of(path), without(base, path))
        for name, value in WRONG:
            if name != kind_of(here) and not (name == 'number' and isinstance(here, float)):
                yield row('type %s=%s' % (text_of(path), name), changed(base, path, value))
        if path[0] == 'metadata' or (kind.name, path[-1]) == ('priorityclasses', 'globalDefault'):
            continue
        for name, value in values(here):
            yield row('value %s=%s' % (text_of(path), name), changed(base, path, value))


def reads(kind):
    base, at, one = kind.object(), kind.collection(), kind.path()
    if kind.crd:
        return
    for query in GET_QUERIES:
        yield Row('%s get ?%s' % (kind.name, query), 'GET', one + '?' + query, setup=base)
    for name, accept in ACCEPTS:
        yield Row('%s get accept %s' % (kind.name, name), 'GET', one, headers={'Accept': accept}, setup=base)
        yield Row('%s list accept %s' % (kind.name, name), 'GET', at + '?limit=1', headers={'Accept': accept}, setup=base)
    yield Row('%s get missing' % kind.name, 'GET', at + '/nosuch')
    yield Row('%s get odd name' % kind.name, 'GET', at + '/A%20b')
    yield Row('%s get slash behind' % kind.name, 'GET', one + '/', setup=base)
    yield Row('%s get part nosuch' % kind.name, 'GET', one + '/nosuch', setup=base)
    yield Row('%s get status' % kind.name, 'GET', one + '/status', setup=base)
    yield Row('%s get scale' % kind.name, 'GET', one + '/scale', setup=base)
    for method in ('HEAD', 'OPTIONS', 'POST', 'TRACE'):
        yield Row('%s %s object' % (kind.name, method), method, one, setup=base)
    for method in ('HEAD', 'OPTIONS', 'PUT', 'PATCH'):
        yield Row('%s %s collection' % (kind.name, method), method, at,
            body=base if method != 'HEAD' and method != 'OPTIONS' else None)


def lists(kind):
    at = kind.collection('lists')
    for query in LIST_QUERIES:
        yield Row('%s list ?%s' % (kind.name, query[:60]), 'GET', at + '?' + query)
        if not kind.cluster and not query.startswith(('label', 'field')):
            yield Row('%s list all ?%s' % (kind.name, query[:60]), 'GET',
                kind.at + '/' + kind.plural + '?fieldSelector=metadata.namespace%3Dlists&' + query)
    for value in WATCH_VALUES:
        yield Row('%s watch=%s' % (kind.name, value), 'GET', at + '?timeoutSeconds=1&watch=' + value, watch=1)
    for query in WATCH_QUERIES:
        yield Row('%s watch ?%s' % (kind.name, query), 'GET', at + '?watch=true&timeoutSeconds=1&' + query, watch=1)
    for name, accept in ACCEPTS:
        yield Row('%s watch accept %s' % (kind.name, name), 'GET', at + '?watch=true&timeoutSeconds=1',
            headers={'Accept': accept}, watch=1)
    yield Row('%s old watch' % kind.name, 'GET', at.replace(kind.at, kind.at + '/watch', 1) + '?timeoutSeconds=1', watch=1)


def updates(kind):
    base, one = kind.object(), kind.path()
    if kind.crd:
        return

    def row(what, body, query='', path=one, headers=None):
        return Row('%s update %s' % (kind.name, what), 'PUT', path + ('?' + query if query else ''), body, headers,
            setup=base, touched=True, after=one)

    with_version = edit(base, {'resourceVersion': '$RV'})
    for name, extra in PUT_META:
        yield row('meta ' + name, edit(base, extra))
    for name, extra in PUT_TOP:
        yield row('top ' + name, edit(with_version, extra, True))
    for query in PUT_QUERIES:
        yield row('?' + query[:40], edit(with_version, {'labels': {'q': 'q'}}), query)
    for name, text, headers in RAW:
        yield row('raw ' + name, text, headers=headers)
    yield Row('%s update missing' % kind.name, 'PUT', one, base, after=one)
    yield Row('%s update missing with version' % kind.name, 'PUT', one, edit(base, {'resourceVersion': '5'}), after=one)
    yield Row('%s update missing with uid' % kind.name, 'PUT', one, edit(base, {'uid': 'u'}), after=one)
    for path in paths_of(with_version):
        if path[0] in ('apiVersion', 'kind', 'metadata'):
            continue
        yield row('field %s=absent' % text_of(path), without(with_version, path))
        here = get(base, path)
        for name, value in list(values(here))[:2]:
            yield row('field %s=%s' % (text_of(path), name), changed(with_version, path, value))
        if isinstance(here, str):
            yield row('field %s=other' % text_of(path), changed(with_version, path, here + '1'))
        elif isinstance(here, int) and not isinstance(here, bool):
            yield row('field %s=other' % text_of(path), changed(with_version, path, here + 1))
    for part in ('status', 'scale'):
        if (part == 'status' and kind.status) or (part == 'scale' and kind.scale):
            yield from part_updates(kind, part, row)


def part_updates(kind, part, row):
    one = kind.path() + '/' + part
    base = edit(kind.object(), {'resourceVersion': '$RV'})
    if part == 'scale':
        base = {'apiVersion': 'autoscaling/v1', 'kind': 'Scale',
            'metadata': {'name': kind.object_name(), 'namespace': NS, 'resourceVersion': '$RV'},
            'spec': {'replicas': 3}}
    for name, extra in PUT_META:
        yield row('%s meta %s' % (part, name), edit(base, extra), path=one)
    for name, extra in PUT_TOP:
        yield row('%s top %s' % (part, name), edit(base, extra, True), path=one)
    if part == 'scale':
        for name, value in WRONG + [('-1', -1), ('0', 0), ('2147483648', 2147483648)]:
            yield row('scale spec.replicas=' + name, changed(base, ('spec', 'replicas'), value), path=one)
            yield row('scale spec=' + name, changed(base, ('spec',), value), path=one)
        yield row('scale spec.replicas=absent', without(base, ('spec', 'replicas')), path=one)
        yield row('scale unknown member', changed(base, ('spec', 'nosuch'), 1), path=one)
    else:
        for name, value in WRONG:
            yield row('status status=' + name, changed(base, ('status',), value), path=one)
        yield row('status unknown', changed(base, ('status',), {'nosuch': 1}), path=one)
        yield row('status conditions', changed(base, ('status',), {'conditions': [{'type': 'X', 'status': 'True'}]}),
            path=one)
        yield row('status odd conditions', changed(base, ('status',), {'conditions': [{'type': 5}]}), path=one)
        yield row('status and spec', changed(changed(base, ('status',), {}), ('metadata', 'labels'), {'st': 'x'}), path=one)


def patches(kind):
    base, one = kind.object(), kind.path()
    if kind.crd:
        return
    for name, media, body in PATCHES:
        if media == APPLY:
            body = base
        yield Row('%s patch %s' % (kind.name, name), 'PATCH', one + ('?fieldManager=m' if media == APPLY else ''), body,
            {'Content-Type': media}, setup=base, touched=True, after=one)
        if kind.status and media in (MERGE, STRATEGIC):
            yield Row('%s patch status %s' % (kind.name, name), 'PATCH', one + '/status', body, {'Content-Type': media},
                setup=base, touched=True, after=one)
        if kind.scale and media == MERGE:
            yield Row('%s patch scale %s' % (kind.name, name), 'PATCH', one + '/scale', body, {'Content-Type': media},
                setup=base, touched=True, after=one)
    for query in PUT_QUERIES + ['force=true', 'force=x']:
        yield Row('%s patch ?%s' % (kind.name, query[:40]), 'PATCH', one + '?' + query,
            {'metadata': {'labels': {'p': 'q'}}}, {'Content-Type': MERGE}, setup=base, after=one)
    yield Row('%s patch missing' % kind.name, 'PATCH', one, {'metadata': {'labels': {'p': 'q'}}},
        {'Content-Type': MERGE}, after=one)
    for path in paths_of(base):
        if path[0] in ('apiVersion', 'kind', 'metadata') or any(isinstance(step, int) for step in path):
            continue
        for name, value in WRONG:
            if name != kind_of(get(base, path)):
                yield Row('%s patch type %s=%s' % (kind.name, text_of(path), name), 'PATCH', one, nested(path, value),
                    {'Content-Type': MERGE}, setup=base, after=one)


def nested(path, value):
    for step in reversed(path):
        value = {step: value}
    return value


def deletes(kind):
    base, one, at = kind.object(), kind.path(), kind.collection()
    if kind.crd:
        return
    yield Row('%s delete' % kind.name, 'DELETE', one, setup=base, after=one)
    for name, body in DELETE_BODIES:
        if isinstance(body, dict):
            body = json.loads(json.dumps(body).replace('$GV', kind.api_version))
        yield Row('%s delete %s' % (kind.name, name), 'DELETE', one, body, setup=base, touched=True, after=one)
        yield Row('%s deletecollection %s' % (kind.name, name), 'DELETE', at + '?fieldSelector=metadata.name%3D$NAME',
            body, setup=base, touched=True, after=one)
    for query in DELETE_QUERIES:
        yield Row('%s delete ?%s' % (kind.name, query), 'DELETE', one + '?' + query, setup=base, after=one)
        yield Row('%s deletecollection ?%s' % (kind.name, query), 'DELETE',
            at + '?fieldSelector=metadata.name%3D$NAME&' + query, setup=base, after=one)
    yield Row('%s delete missing' % kind.name, 'DELETE', one)
    yield Row('%s delete with finalizer' % kind.name, 'DELETE', one,
        setup=edit(base, {'finalizers': ['example.com/f']}), after=one)
    for query in ('labelSelector=a%3D%3D%3D', 'fieldSelector=nosuch%3Da', 'limit=-1', 'limit=x',
            'labelSelector=nosuch%3D$NAME', 'resourceVersion=x', 'timeoutSeconds=x'):
        yield Row('%s deletecollection query %s' % (kind.name, query), 'DELETE',
            at + '?' + (query if 'Selector' in query else 'fieldSelector=metadata.name%3D$NAME&' + query), setup=base,
            after=one)


BINDING = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': '$NAME', 'namespace': NS},
    'target': {'apiVersion': 'v1', 'kind': 'Node', 'name': 'n'}}
EVICTION = {'apiVersion': 'policy/v1beta1', 'kind': 'Eviction', 'metadata': {'name': '$NAME', 'namespace': NS}}
POD = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': '$NAME', 'namespace': NS},
    'spec': {'schedulerName': 'none', 'containers': [{'name': 'c', 'image': 'i'}]}}


def pod_parts():
    at = '/api/v1/namespaces/%s/pods/$NAME' % NS

    def row(what, part, body, path=None, headers=None):
        return Row('pods %s %s' % (part, what), 'POST', path or at + '/' + part, body, headers, setup=POD, touched=True,
            after=at)

    for part, base in (('binding', BINDING), ('eviction', EVICTION)):
        yield row('as it is', part, base)
        for name, extra in META:
            if name not in ('creationTimestamp null',):
                yield row('meta ' + name, part, edit(base, extra))
        yield row('meta other name', part, edit(base, {'name': 'other'}))
        for name, extra in TOP:
            yield row('top ' + name, part, edit(base, extra, True))
        for name, text, headers in RAW:
            yield row('raw ' + name, part, text, headers=headers)
        for query in CREATE_QUERIES:
            yield row('?' + query[:40], part, base, at + '/' + part + '?' + query)
        for path in paths_of(base):
            if path[0] in ('apiVersion', 'kind'):
                continue
            yield row('type %s=absent' % text_of(path), part, without(base, path))
            for name, value in WRONG:
                if name != kind_of(get(base, path)):
                    yield row('type %s=%s' % (text_of(path), name), part, changed(base, path, value))
            if path[0] == 'target':
                for name, value in values(get(base, path)):
                    yield row('value %s=%s' % (text_of(path), name), part, changed(base, path, value))
        for method in ('GET', 'PUT', 'PATCH', 'DELETE'):
            yield Row('pods %s %s' % (part, method), method, at + '/' + part, base if method != 'GET' else None,
                setup=POD, after=at)
    for name, body in DELETE_BODIES:
        if isinstance(body, dict):
            body = json.loads(json.dumps(body).replace('$GV', 'policy/v1beta1'))
            yield row('options ' + name, 'eviction', dict(EVICTION, deleteOptions=body))
    yield row('by collection', 'bindings', BINDING, '/api/v1/namespaces/%s/bindings' % NS)
    yield row('by collection without name', 'bindings', edit(BINDING, {'name': None}), '/api/v1/namespaces/%s/bindings' % NS)
    for part in ('log', 'exec', 'attach', 'portforward', 'proxy', 'ephemeralcontainers', 'resize', 'nosuch'):
        for method in ('GET', 'POST'):
            yield Row('pods part %s %s' % (part, method), method, at + '/' + part, setup=POD, after=at)


def reviews():
    for number, (plural, version, kind, spec) in enumerate(REVIEWS):
        at = '/apis/%s/%s%s' % (version, 'namespaces/%s/' % NS if plural.startswith('local') else '', plural)
        base = dict({'apiVersion': version, 'kind': kind}, **copy.deepcopy(spec))
        ident = '%s %d' % (plural, number)
        yield Row(ident + ' as it is', 'POST', at, base)
        for name, extra in TOP:
            yield Row('%s top %s' % (ident, name), 'POST', at, edit(base, extra, True))
        for name, text, headers in RAW:
            yield Row('%s raw %s' % (ident, name), 'POST', at, text, headers)
        for query in CREATE_QUERIES:
            yield Row('%s ?%s' % (ident, query[:40]), 'POST', at + '?' + query, base)
        for path in paths_of(base):
            if path[0] in ('apiVersion', 'kind'):
                continue
            yield Row('%s type %s=absent' % (ident, text_of(path)), 'POST', at, without(base, path))
            for name, value in WRONG:
                if name != kind_of(get(base, path)):
                    yield Row('%s type %s=%s' % (ident, text_of(path), name), 'POST', at, changed(base, path, value))
        for method in ('GET', 'PUT', 'PATCH', 'DELETE'):
            yield Row('%s %s' % (ident, method), method, at)


def elsewhere():
    for path in PATHS:
        for method in ('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'):
            yield Row('path %s %s' % (method, path), method, path,
                b'{}' if method in ('POST', 'PUT', 'PATCH') else None,
                watch=1 if '/watch/' in path and method == 'GET' else 0)
    for method in ('PUT', 'POST', 'GET'):
        for name, body in (('as it is', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'lists'},
                'spec': {'finalizers': ['kubernetes']}}),
                ('other name', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'x'}}),
                ('wrong', {'spec': 5})):
            yield Row('namespaces finalize %s %s' % (method, name), method, '/api/v1/namespaces/lists/finalize',
                body if method != 'GET' else None)
    for token in ('wrong', ''):
        yield Row('token %s' % (token or 'empty'), 'GET', '/api/v1/pods', headers={'Authorization': 'Bearer ' + token})
    yield Row('token none', 'GET', '/api/v1/pods', headers={'Authorization': None})


def rows(match=None):
    for kind in kinds():
        for part in (creates, reads, lists, updates, patches, deletes):
            yield from part(kind)
    yield from pod_parts()
    yield from reviews()
    yield from elsewhere()


if __name__ == '__main__':
    import collections
    counts = collections.Counter(row.ident.split()[0] for row in rows())
    print(sum(counts.values()), dict(counts))
