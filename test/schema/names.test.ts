import { describe, expect, test } from 'vitest';
import { toLabelValue, names, buildRevisionName } from '../../src/schema/names.ts';

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const uid = '6f1c7d0e-0000-4000-8000-000000000000';

/** Lengths around every limit, and stems that end in a dash where a name is cut. */
const stems = [
  ...Array.from({ length: 63 }, (_, index) => 'a'.repeat(index + 1)),
  `${'a'.repeat(38)}-${'b'.repeat(24)}`,
  'a-'.repeat(31) + 'a',
];

const made: [string, (stem: string) => string][] = [
  ['service', names.service],
  ['database', names.database],
  ['database secret', (stem) => names.databaseSecret(stem, uid)],
  ['database policy', names.databasePolicy],
  ['api workload', (stem) => names.apiWorkload(buildRevisionName(stem, 7))],
  ['queue workload', (stem) => names.queueWorkload(buildRevisionName(stem, 123_456))],
  ['secrets', (stem) => names.secrets(stem, 'nonce')],
  ['copy of a secret', (stem) => names.secretCopy(buildRevisionName(stem, 1))],
];

describe.each(made)('the name of a %s', (_what, nameOf) => {
  test('is a DNS label of at most 52 characters, whatever the deployment is called', () => {
    const wrong = stems.map(nameOf).filter((name) => name.length > 52 || !DNS_LABEL.test(name));
    expect(wrong).toEqual([]);
  });

  test('is the same each time, and another one for another deployment', () => {
    expect(stems.map(nameOf)).toEqual(stems.map(nameOf));
    expect(new Set(stems.map(nameOf)).size).toBe(stems.length);
  });
});

test('no two objects of one deployment share a name', () => {
  const shared = stems.filter((stem) => {
    const own = made
      .filter(([what]) => what !== 'database policy')
      .map(([, nameOf]) => nameOf(stem));
    return new Set(own).size < own.length;
  });
  expect(shared).toEqual([]);
});

test('a short name stays readable', () => {
  expect(names.service('chat')).toBe('chat-agent');
  expect(names.apiWorkload('chat-00007')).toBe('chat-00007-api');
});

test('long names that differ only behind the cut stay apart', () => {
  const [one, other] = ['x'.repeat(62) + 'a', 'x'.repeat(62) + 'b'];
  expect(names.database(one)).not.toBe(names.database(other));
  expect(names.service(one)).not.toBe(names.service(other));
});

test('a revision is named by its generation, and sorts by it', () => {
  expect(buildRevisionName('chat', 7)).toBe('chat-00007');
  expect(buildRevisionName('chat', 123_456)).toBe('chat-123456');
  expect([buildRevisionName('chat', 10), buildRevisionName('chat', 9)].toSorted()).toEqual([
    'chat-00009',
    'chat-00010',
  ]);
});

test('a label value has at most 63 characters, and is the name itself where that fits', () => {
  expect(toLabelValue('chat-00007')).toBe('chat-00007');
  const long = toLabelValue(buildRevisionName('y'.repeat(63), 7));
  expect(long.length).toBeLessThanOrEqual(63);
  expect(long).not.toBe(toLabelValue(buildRevisionName('y'.repeat(63), 8)));
});

test('two changes of the same secrets are two objects; two uids are two volumes and credentials', () => {
  expect(names.secrets('chat', 'a')).not.toBe(names.secrets('chat', 'b'));
  expect(names.databaseVolume('a')).not.toBe(names.databaseVolume('b'));
  expect(names.databaseSecret('chat', 'a')).not.toBe(names.databaseSecret('chat', 'b'));
});

test('a tracing project is named by tenant and project, within a label', () => {
  const name = names.tracingProject('t1', 'p'.repeat(253));
  expect(name.length).toBeLessThanOrEqual(63);
  expect(names.tracingProject('t2', 'p'.repeat(253))).not.toBe(name);
});
