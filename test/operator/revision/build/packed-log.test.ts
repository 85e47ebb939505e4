import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { packBuildLog } from '../../../../src/operator/revision/build/keep-log.ts';
import { randomFrom } from '../../../kit/random-changes.ts';

const linesIn = (packed: Buffer): string[] =>
  gunzipSync(packed).toString('utf8').trimEnd().split('\n');
const time = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

test('the log of all stages is one text, in which each line says its stage', () => {
  const packed = packBuildLog([
    { stage: 'clone', text: `${time(1)} cloned in 2 s\n` },
    { stage: 'restore', text: '' },
    { stage: 'build', text: `${time(2)} npm ci\n${time(3)} done` },
  ]);
  expect(linesIn(packed)).toEqual([
    `${time(1)} [clone] cloned in 2 s`,
    `${time(2)} [build] npm ci`,
    `${time(3)} [build] done`,
  ]);
});

test('of a long log the newest lines are kept, whole and as many as fit', () => {
  const random = randomFrom(3);
  const noise = (): string =>
    Array.from({ length: 20 }, () => Math.floor(random() * 2 ** 32).toString(36)).join('');
  const text = Array.from(
    { length: 4000 },
    (_, index) => `${time(index)} line ${index} ${noise()}`,
  ).join('\n');
  const packed = packBuildLog([{ stage: 'build', text }], 64 * 1024);
  const lines = linesIn(packed);
  expect(packed.length).toBeLessThanOrEqual(64 * 1024);
  expect(packed.length).toBeGreaterThan(32 * 1024);
  expect(lines.at(-1)).toContain('[build] line 3999 ');
  const first = Number(/line (\d+) /.exec(lines[0] ?? '')?.[1]);
  expect(lines).toHaveLength(4000 - first);
});
