# SPDX-License-Identifier: GPL-3.0-or-later
# A strict reader of the text format of OpenMetrics 1.0, as far as gauges, counters and infos go:
# openmetrics.py FILE. Prints a line `NAME{LABELS} VALUE` for each sample; a violation ends it with
# status 1 and a message.
import re
import sys

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r'(%s)(?:\{(%s(?:,%s)*)\})? (-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)' % (NAME, LABEL, LABEL))
META = re.compile(r'# (TYPE|UNIT|HELP) (%s) (.*)' % NAME)
SUFFIX = {'gauge': '', 'counter': '_total', 'info': '_info'}


def fail(number, why):
    sys.exit('line %d: %s' % (number, why))


def check_family(number, family, kind, unit):
    if unit and not family.endswith('_' + unit):
        fail(number, '%s does not end with its unit %s' % (family, unit))
    if kind not in SUFFIX:
        fail(number, '%s: type %s' % (family, kind))
    if kind in ('counter', 'info') and family.endswith(SUFFIX[kind]):
        fail(number, '%s: the suffix is in the family' % family)


def read(data):
    text = data.decode('utf-8')
    if not text.endswith('# EOF\n') or '\n\n' in text or '\r' in text:
        fail(0, 'no EOF, an empty line or a CR')
    seen, samples = set(), set()
    family = kind = unit = None
    meta = set()
    for number, line in enumerate(text.split('\n')[:-2], 1):
        found = META.fullmatch(line)
        if found:
            word, name, rest = found.groups()
            if name != family:
                if name in seen:
                    fail(number, '%s comes twice' % name)
                seen.add(name)
                family, kind, unit, meta = name, 'unknown', None, set()
            if word in meta:
                fail(number, '%s of %s comes twice' % (word, name))
            meta.add(word)
            kind = rest if word == 'TYPE' else kind
            unit = rest if word == 'UNIT' else unit
            continue
        found = SAMPLE.fullmatch(line)
        if not found:
            fail(number, 'no sample: %r' % line)
        name, labels, value = found.groups()
        if not family:
            fail(number, 'a sample without a family')
        check_family(number, family, kind, unit)
        if name != family + SUFFIX[kind]:
            fail(number, '%s is no sample of %s' % (name, family))
        names = [label.split('=')[0] for label in re.findall(LABEL, labels or '')]
        if len(set(names)) != len(names) or (name, labels) in samples:
            fail(number, 'a label or a sample comes twice: %r' % line)
        samples.add((name, labels))
        if kind == 'counter' and float(value) < 0 or kind == 'info' and value != '1':
            fail(number, 'value %s' % value)
        print('%s{%s} %s' % (name, labels or '', value))


with open(sys.argv[1], 'rb') as file:
    read(file.read())
