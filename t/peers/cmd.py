#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the table that asserts.sh wrote.

cmd.py real TABLE REAL: writes REAL, what a kube-apiserver passes: FUNCTION PASSED ASSERTS FILE:LINE... of those that fail.
cmd.py compare TABLE REAL FAILS DOC [FUNCTION...]: exit status 1 where one of the FUNCTIONs (none: all of REAL) came to no
assert, where an assert fails that is neither in FAILS nor fails in REAL, where one of FAILS passes, where a function comes
to another number of asserts than in REAL, and where a reason of FAILS is no first cell of a row in DOC. FAILS has lines FUNCTION FILE:LINE,LINE...  REASON, and FUNCTION =ASSERTS  REASON where neapd
comes to another number of them; LINE? may pass, too."""
import collections
import re
import sys


def read(path):
    """FUNCTION: {FILE:LINE: [passed, failed]}, and what else was said of it."""
    asserts, said = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0])), []
    with open(path, encoding='utf-8') as file:
        for line in file:
            function, place, word = line.split()
            if word in ('ok', 'fail'):
                asserts[function][place][word == 'fail'] += 1
            else:
                said.append((function, place, word))
    return asserts, said


def count(places):
    return sum(p[0] for p in places.values()), sum(sum(p) for p in places.values())


def order(place):
    file, line = place.split(':')
    return file, int(line)


def read_fails(path, doc):
    fails, counts, faults = {}, {}, []
    with open(doc, encoding='utf-8') as file:
        reasons = {line.split('|')[1].strip() for line in file if line.startswith('| ')}
    with open(path, encoding='utf-8') as file:
        for n, line in enumerate(file, 1):
            if line.startswith('#') or not line.strip():
                continue
            match = re.fullmatch(r'(\S+) (?:(\S+\.sh):([\d,?]+)|=(\d+))  (\S.*)\n', line)
            if not match or match[5] not in reasons:
                faults.append('%s:%d: %s' % (path, n, 'no row of %s begins so: %s' % (doc, match[5]) if match
                    else 'FUNCTION FILE:LINE,...  REASON'))
            elif match[4]:
                counts[match[1]] = int(match[4])
            else:
                for at in match[3].split(','):
                    fails[match[1], '%s:%s' % (match[2], at.rstrip('?'))] = None if at.endswith('?') else match[5]
    return fails, counts, faults


def read_real(path):
    real = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            words = line.split()
            if words and words[0] != '#':
                real[words[0]] = int(words[1]), int(words[2]), set(words[3:])
    return real


def main():
    asserts, said = read(sys.argv[2])
    faults = ['%s: ended after minutes' % function for function, _, word in said if word == '-']
    real_path = sys.argv[3]
    if sys.argv[1] == 'real':
        with open(real_path, 'w', encoding='utf-8') as file:
            file.write('# Of each test function the asserts that a kube-apiserver 1.20.2 passes, all of them, and those that\n'
                '# it fails in these tests. Written by CMD_REAL=1 t/peers/cmd.t.\n')
            for function, places in asserts.items():
                file.write(' '.join([function, '%d %d' % count(places)] +
                    sorted((p for p, n in places.items() if n[1]), key=order)) + '\n')
        total = [sum(n) for n in zip(*(count(places) for places in asserts.values()))]
        print('%d of %d asserts pass on a kube-apiserver' % tuple(total))
        return faults
    real = read_real(real_path)
    fails, counts, told = read_fails(sys.argv[4], sys.argv[5])
    faults += told
    for function in sys.argv[6:] or real:
        if function in real and function not in asserts:
            faults.append('%s: did not run' % function)
    passed = total = real_passed = real_total = purpose = 0
    for function, places in asserts.items():
        theirs = real.get(function, (0, 0, set()))
        n, of = count(places)
        passed, total, real_passed, real_total = passed + n, total + of, real_passed + theirs[0], real_total + theirs[1]
        if of != counts.get(function, theirs[1]):
            faults.append('%s: %d asserts, not %d: did it end before its end?' % (function, of, counts.get(function, theirs[1])))
        for place, (_, failed) in sorted(places.items(), key=lambda row: order(row[0])):
            is_told = (function, place) in fails
            purpose += failed if is_told else 0
            if failed and not is_told and place not in theirs[2]:
                faults.append('%s %s: fails' % (function, place))
            elif is_told and not failed and fails[function, place] is not None:
                faults.append('%s %s: passes, and is on the list: %s' % (function, place, fails[function, place]))
    for function, place in fails:
        if function in asserts and place not in asserts[function]:
            faults.append('%s %s: on the list, and no such assert was seen' % (function, place))
    print('%d of %d asserts pass, %d fail on purpose; a kube-apiserver passes %d of %d' %
        (passed, total, purpose, real_passed, real_total))
    return faults


if __name__ == '__main__':
    found = main()
    for fault in found:
        print(fault)
    sys.exit(1 if found else 0)
