import { expect, test } from 'vitest';
import { isWanted } from '../../../src/agent/stream/wanted.ts';

test.each([
  ['values of a subgraph', 'values|sub:1', ['values'], true],
  ['tokens', 'messages', ['messages-tuple'], true],
  ['tokens when whole messages are wanted', 'messages', ['messages'], false],
  ['whole messages', 'messages/partial', ['messages'], true],
  ['an error', 'error', ['values'], true],
  ['updates when values are wanted', 'updates', ['values'], false],
  ['everything when nothing is said', 'debug', undefined, true],
] as const)('a reader gets %s as asked', (_, event, modes, expected) => {
  expect(isWanted(event, { modes: modes as never, namespaces: undefined })).toBe(expected);
});

test.each([
  ['of the root graph', 'values', [''], true],
  ['of another graph than the root', 'values|sub:1', [''], false],
  ['of the asked subgraph', 'updates|sub:1', ['sub:1'], true],
  ['of a graph that the asked one started', 'updates|sub:1|deep:2', ['sub:1'], false],
  ['of one of several', 'values|sub:1|deep:2', ['', 'sub:1|deep:2'], true],
  ['about the run itself', 'error', ['sub:1'], true],
] as const)('a reader of namespaces gets what is %s', (_, event, namespaces, expected) => {
  expect(isWanted(event, { modes: undefined, namespaces: [...namespaces] })).toBe(expected);
});
