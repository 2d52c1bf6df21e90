#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the matrix to a kube-apiserver and to neapd, and compares answers and stored objects.

differ.py --real URL,TOKEN,CA --neapd URL,TOKEN [--match REGEX] [--every N] [--table FILE]

A line of the file `differs` beside this program says why a row, or a member of an object, may differ; prints the rows
that no line explains, and last the counts. --save FILE keeps all answers, --load FILE compares those again. Exit
status 1 where more rows differ untold than `open N` of that file allows, or a line explains nothing any more."""
import argparse
import collections
import concurrent.futures
import http.client
import json
import os
import pickle
import re
import sys
import threading
import time

import matrix
import tables
from wire import Server

HERE = os.path.dirname(os.path.abspath(__file__))
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
# Members whose values are each server's own.
OWN = {'uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'selfLink', 'deletionTimestamp'}
TIMES = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d')
UID = re.compile(r'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
# Of a request without an answer. A kube-apiserver breaks off where it panics; at more
# rows than that it is gone.
BROKEN = 'broken'
BROKEN_MAX = 5
CHARS = 'bcdfghjklmnpqrstvwxz2456789'


def prepare(server):
    with open(os.path.join(HERE, 'definitions.json'), encoding='utf-8') as file:
        definitions = json.load(file)
    for definition in definitions:
        code, _ = server.json('POST', CRDS, definition)
        assert code == 201, (server.name, 'definition', code)
    for name in (tables.NS, 'lists', 'other'):
        code, _ = server.json('POST', '/api/v1/namespaces',
            {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': name}})
        assert code == 201, (server.name, 'namespace', code)
    for kind in matrix.kinds():
        if not kind.cluster and not kind.custom:
            body = fill(kind.object(), [('$NAME', 'a'), ('$NS', 'lists'), ('"%s"' % tables.NS, '"lists"')])
            server.json('POST', kind.collection('lists'), body)
    for plural in ('widgets', 'gizmos'):
        at = '/apis/peers.example.com/v1/' + plural
        for _ in range(600):
            if server.json('GET', at)[0] == 200 and server.json('POST', '/apis/peers.example.com/v1/gizmos?dryRun=All', {
                    'apiVersion': 'peers.example.com/v1', 'kind': 'Gizmo', 'metadata': {'name': 'probe'}})[0] == 201:
                server.json('POST', '/apis/peers.example.com/v1/namespaces/lists/widgets', {
                    'apiVersion': 'peers.example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'a'}, 'spec': {'size': 1}})
                break
            threading.Event().wait(0.1)


def fill(value, words):
    """The row's text with this server's own words in it."""
    if value is None:
        return None
    text = value if isinstance(value, (bytes, str)) else json.dumps(value, separators=(',', ':'))
    if isinstance(text, bytes):
        text = text.decode('latin-1')
    for word, into in words:
        text = text.replace(word, into)
    return text


def run_row(server, number, row):
    """What the server says to one row: a dict to be compared."""
    name = 'o%d' % number
    words = [('$NAME', name), ('$NS', tables.NS)]
    out = {}
    if row.setup is not None:
        plural = fill(row.path, words).split('?')[0]
        body = fill(row.setup, words)
        at = collection_of(json.loads(body), row)
        code, made = server.json('POST', at, body)
        if code != 201:
            return {'setup': code, 'said': json.dumps(made)[:300], 'at': plural}
        meta = made['metadata']
        version = old = meta['resourceVersion']
        if row.touched:
            code, made = server.json('PATCH', at + '/' + meta['name'],
                {'metadata': {'annotations': {'touched': 'yes'}}}, {'Content-Type': tables.MERGE})
            if code != 200:
                return {'setup': code, 'said': json.dumps(made)[:300], 'at': plural}
            version = made['metadata']['resourceVersion']
        if server.name == 'neapd' and row.ident.startswith('poddisruptionbudgets '):
            version = counted_version(server, at + '/' + meta['name'], version)
        words += [('$UID', meta['uid']), ('$OLDRV', old), ('$RV', version)]
    path, body = fill(row.path, words), fill(row.body, words)
    if isinstance(row.body, bytes):
        body = body.encode('latin-1')
    if row.watch:
        code, headers, text = server.watch(path, row.headers)
    else:
        code, headers, text = server.ask(row.method, path, body, row.headers)
        # What was just made is in the kube-apiserver's cache a moment later.
        for _ in range(40):
            if code != 404 or row.method != 'GET' or row.setup is None or 'resourceVersion=' not in path:
                break
            time.sleep(0.05)
            code, headers, text = server.ask(row.method, path, body, row.headers)
    out['code'] = code
    out['type'] = headers.get('Content-Type', headers.get('content-type', '')).split(';')[0]
    out['watch'] = row.watch and b'"type":"' in text[:40]
    try:
        out['body'] = json.loads(text.split(b'\n')[0] if row.watch else text)
    except ValueError:
        out['text'] = text.decode('latin-1')[:200]
    if row.after:
        code, stored = server.json('GET', fill(row.after, words))
        out['stored'] = stored if code == 200 else code
    return out


def counted_version(server, path, version):
    """The version of a budget once neapd has counted it, which is a moment after it was made."""
    for _ in range(200):
        code, made = server.json('GET', path)
        if code != 200:
            break
        version = made['metadata']['resourceVersion']
        if made.get('status', {}).get('observedGeneration'):
            break
        time.sleep(0.02)
    return version


def collection_of(body, row):
    version = body['apiVersion']
    at = '/api/v1' if version == 'v1' else '/apis/' + version
    at += '/namespaces/' + body['metadata']['namespace'] if 'namespace' in body['metadata'] else ''
    plural = PLURALS[(version, body['kind'])]
    return at + '/' + plural


PLURALS = {(kind.api_version, kind.kind): kind.plural for kind in matrix.kinds()}


def masked(value, key='', nulls=False):
    """value without what each server makes itself; null is absent, but in kinds that keep what they do not know."""
    if isinstance(value, dict):
        nulls = nulls or 'peers.example.com' in str(value.get('apiVersion'))
        return {k: ('*' if k in OWN and isinstance(v, str) else masked(v, k, nulls)) for k, v in value.items()
                if k not in ('managedFields', 'selfLink', 'continue', 'remainingItemCount') and (nulls or v is not None)
                and not (k == 'creationTimestamp' and v is None)}
    if isinstance(value, list):
        return [masked(v, key, nulls) for v in value]
    # Beyond 64 bits a number is a float to all of them, with as many digits as they like.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        return float(value)
    if isinstance(value, str) and UID.match(value) and value != '11111111-2222-3333-4444-555555555555':
        return '*'
    if isinstance(value, str) and key in ('lastTransitionTime', 'lastUpdateTime', 'startTime') and TIMES.match(value):
        return '*'
    if isinstance(value, str) and key in ('name', 'job-name') and value.startswith('gen-') and all(c in CHARS for c in value[4:]):
        return 'gen-*'
    return value


def is_nothing(value):
    """What Go's encoder may leave out: 0, false, nothing, or a map of such."""
    return not value or isinstance(value, dict) and all(is_nothing(v) for v in value.values())


def differences(a, b, at=''):
    """Each place at which two values differ: (place, text with both values)."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            where = '%s.%s' % (at, key)
            if key not in a or key not in b:
                mark = ' (no value)' if is_nothing(a.get(key)) and is_nothing(b.get(key)) else ''
                yield where, '%s: %s / %s%s' % (where, short(a.get(key, 'absent')), short(b.get(key, 'absent')), mark)
            else:
                yield from differences(a[key], b[key], where)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for x, y in zip(a, b):
            yield from differences(x, y, at + '[]')
    elif isinstance(a, list) and isinstance(b, list):
        yield at, '%s: %d items / %d items' % (at, len(a), len(b))
    elif a != b or isinstance(a, bool) != isinstance(b, bool):
        yield at, '%s: %s / %s' % (at, short(a), short(b))


def short(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + '...'


def said(answer):
    body = answer.get('body')
    if isinstance(body, dict) and body.get('kind') == 'Status':
        return '%d %s: %s' % (answer['code'], body.get('reason', body.get('status')), short2(body.get('message', '')))
    return str(answer['code'])


def short2(text):
    return text if len(text) <= 160 else text[:157] + '...'


def is_write(row):
    return row.method in ('POST', 'PUT', 'PATCH', 'DELETE')


def is_going(value):
    """Whether an object is gone, or goes as soon as whoever has to do something first has done it: of the kube-apiserver
    none of its controllers is there, and neapd does their work at once."""
    if value == 404:
        return True
    return isinstance(value, dict) and 'deletionTimestamp' in value.get('metadata', {})


def is_failure(real, ours):
    """A kube-apiserver says 500 of some of what a client does wrong, or breaks off; what is told instead is as good."""
    return real.get('setup') == BROKEN and 'setup' not in ours or real.get('code') == 500 and 400 <= ours.get('code', 0) < 500


def compare(row, real, ours, excuse):
    """(kind of difference, text), or None. Kinds: taken, refused, code, stored, answer, reason, watch, setup.
    excuse(TEXT) says whether a member may differ so; such members are not looked at."""
    if real.get('setup') == BROKEN and is_failure(real, ours):
        return None
    if 'setup' in real or 'setup' in ours:
        if real.get('setup') == ours.get('setup'):
            return None
        return 'setup', 'real %s %s / neapd %s %s' % (real.get('setup'), real.get('said', ''), ours.get('setup'),
            ours.get('said', ''))
    words = 'real %s / neapd %s' % (said(real), said(ours))
    if (real['code'] < 300) != (ours['code'] < 300) and is_write(row):
        return ('taken' if ours['code'] < 300 else 'refused'), words
    if real['code'] != ours['code'] and not is_failure(real, ours):
        return 'code', words

    of = row.ident.split()[0] + ('/status' if ' status ' in row.ident else '')

    def first(a, b):
        return next((text for _, text in differences(masked(a), masked(b)) if not excuse(of + ' ' + text)), '')

    goes = row.method == 'DELETE' and is_going(real.get('stored')) and is_going(ours.get('stored'))
    if 'stored' in real and not goes:
        where = first(real['stored'], ours['stored'])
        if where:
            return 'stored', where
    if bool(real['watch']) != bool(ours['watch']):
        return 'watch', 'real %s / neapd %s' % tuple('a watch' if x['watch'] else 'none' for x in (real, ours))
    a, b = real.get('body'), ours.get('body')
    if is_failure(real, ours) or goes and (is_going(a) or is_going(b)):
        return None
    if real['code'] >= 300:
        ra, rb = (x.get('reason') if isinstance(x, dict) else None for x in (a, b))
        # Refusals of media types have no Status there.
        return ('reason', words) if ra and ra != rb else None
    if row.ident.startswith('path ') or row.watch:
        # What is listed or watched first depends on the order; who is asked says whether
        # it is JSON.
        return None if (a is None) == (b is None) else ('answer', '%s / %s' % (short(a), short(b)))
    if isinstance(a, dict) and isinstance(b, dict) and 'items' in a and 'items' in b:
        a, b = dict(a, items=[], metadata={}), dict(b, items=[], metadata={})
    for table in (a, b):
        if isinstance(table, dict) and table.get('kind') == 'Table':
            table.update(rows=len(table.get('rows') or []), columnDefinitions=[
                {key: column.get(key) for key in ('name', 'type', 'format',
                    'priority')} for column in table.get('columnDefinitions') or []])
    where = first(a, b)
    return ('answer', where) if where else None


def run_all(server, numbered):
    results = {}

    def quiet(item):
        began = time.monotonic()
        try:
            return item[0], run_row(server, *item)
        except (OSError, http.client.HTTPException) as fault:
            return item[0], {'setup': BROKEN, 'said': str(fault)}
        finally:
            if os.environ.get('SLOW') and time.monotonic() - began > 0.5:
                print('slow', server.name, item[1].ident, '%.1f' % (time.monotonic() - began))

    for item in numbered:
        if not item[1].watch:
            results[item[0]] = quiet(item)[1]
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        results.update(pool.map(quiet, [item for item in numbered if item[1].watch]))
    return results


class Reason:
    """One line of the file `differs`: KIND PATTERN, two blanks or more, the reason. KIND is `member`, `row` or `fault`."""

    def __init__(self, line):
        self.line = line
        self.kind, rest = line.split(' ', 1)
        pattern, self.why = re.split(r' {2,}(?=[^ ])', rest)[:2]
        self.pattern = re.compile(pattern)
        self.used = 0
        if self.kind not in ('member', 'row', 'fault') or not self.why:
            sys.exit('differs: not KIND PATTERN  REASON: ' + line)


def read_reasons(path):
    """The reasons, each of which must be a cell of a table in doc/api.md, but for faults, which are to go."""
    with open(path, encoding='utf-8') as file:
        lines = [line.rstrip('\n') for line in file if line.strip() and not line.startswith('#')]
    allowed = sum(int(line.split()[1]) for line in lines if line.startswith('open '))
    reasons = [Reason(line) for line in lines if not line.startswith('open ')]
    with open(os.path.join(HERE, '..', '..', 'doc', 'api.md'), encoding='utf-8') as file:
        cells = {line.split('|')[1].strip() for line in file if line.startswith('|')}
    for reason in reasons:
        if reason.kind != 'fault' and reason.why not in cells:
            sys.exit('differs: no row of doc/api.md begins with "%s"' % reason.why)
    return reasons, allowed


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--real')
    arguments.add_argument('--neapd')
    arguments.add_argument('--save')
    arguments.add_argument('--load')
    arguments.add_argument('--match')
    arguments.add_argument('--every', type=int, default=1)
    arguments.add_argument('--table')
    arguments.add_argument('--differs', default=os.path.join(HERE, 'differs'))
    args = arguments.parse_args()
    numbered = [(n, row) for n, row in enumerate(matrix.rows())
                if n % args.every == 0 and (not args.match or re.search(args.match, row.ident))]
    if args.load:
        with open(args.load, 'rb') as file:
            of_real, of_ours = pickle.load(file)
    else:
        servers = Server('real', *args.real.split(',')), Server('neapd', *args.neapd.split(','))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(prepare, servers))
            of_real, of_ours = pool.map(lambda server: run_all(server, numbered), servers)
    if args.save:
        with open(args.save, 'wb') as file:
            pickle.dump((of_real, of_ours), file)
    reasons, allowed = read_reasons(args.differs)
    members = [reason for reason in reasons if reason.kind == 'member']
    others = [reason for reason in reasons if reason.kind != 'member']

    def find(text, among):
        for reason in among:
            if reason.pattern.search(text):
                reason.used += 1
                return reason
        return None

    counts = collections.Counter()
    kinds = collections.Counter()
    table = []
    for number, row in numbered:
        excused = []
        difference = compare(row, of_real[number], of_ours[number],
            lambda text: find(text, members) and (excused.append(text) or True))
        if not difference:
            counts['equal'] += 1
            counts['member'] += bool(excused)
            counts['failure'] += is_failure(of_real[number], of_ours[number])
            continue
        reason = find(' | '.join((difference[0], row.ident, difference[1])), others)
        counts[reason.kind if reason else 'untold'] += 1
        kinds[difference[0]] += 1
        table.append((reason.kind if reason else 'untold', difference[0], row.ident, difference[1],
            reason.why if reason else ''))
    broken = sum(of_real[number].get('setup') == BROKEN for number, _ in numbered)
    if broken > BROKEN_MAX:
        sys.exit('the kube-apiserver does not answer %d rows' % broken)
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as file:
            file.writelines('\t'.join(line) + '\n' for line in sorted(table))
    for line in table:
        if line[0] == 'untold':
            print('differs: ' + ' | '.join(line[1:4]))
    whole = not args.match and args.every == 1
    stale = [reason.line for reason in reasons if not reason.used] if whole else []
    for line in stale:
        print('nothing differs so any more: ' + line)
    total = max(1, len(numbered))
    print('%d rows: %s; %d differ untold (%s)' % (len(numbered), ', '.join(
        '%.1f of 100 %s' % (100.0 * counts[name] / total, words) for name, words in (
            ('equal', 'equal'), ('member', 'of them but for members as doc/api.md says'), ('failure', 'of them refused where a kube-apiserver says 500'), ('row', 'differ as doc/api.md says'), ('fault', 'by a fault that is known'))),
        counts['untold'], ', '.join('%s %d' % pair for pair in sorted(kinds.items()))))
    return 1 if counts['untold'] > (allowed if whole else 2 * allowed / args.every) or stale else 0


if __name__ == '__main__':
    sys.exit(main())
