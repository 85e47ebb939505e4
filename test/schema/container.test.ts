import { expect, test } from 'vitest';
import { Container, EnvVar, Volume } from '../../src/schema/platform/spec/container.ts';
import { DNS_LABEL } from '../../src/schema/dns-label.ts';
import { accepts } from './accepts.ts';

test.each(['a', 'a1', 'a-b', '1'])('%s is a DNS label', (text) => {
  expect(text).toMatch(new RegExp(DNS_LABEL));
});

test.each(['', '-a', 'a-', 'A', 'a_b', 'a.b'])('"%s" is no DNS label', (text) => {
  expect(text).not.toMatch(new RegExp(DNS_LABEL));
});

test.each([
  ['a container of name and image', Container, { name: 'main', image: 'x:1' }, true],
  ['a container without an image', Container, { name: 'main' }, false],
  [
    'a container with a field of its own',
    Container,
    { name: 'main', image: 'x:1', hostPath: '/' },
    false,
  ],
  ['a volume from a Secret', Volume, { name: 'v', secret: { secretName: 's' } }, true],
  ['a volume of the host', Volume, { name: 'v', hostPath: { path: '/' } }, false],
  ['a variable', EnvVar, { name: 'A_1', value: 'x' }, true],
  ['a variable that is no C identifier', EnvVar, { name: '1A' }, false],
])('%s: %#', (_situation, schema, value, isGood) => {
  expect(accepts(schema, value)).toBe(isGood);
});
