import { expect, test } from 'vitest';
import { decidePythonMemory } from '../../../src/agent/graphs/memory.ts';

/* How much memory a process of graphs in Python may take in a pod of two gigabytes. */

const memory = 2048 * 1024 * 1024;

test.each([
  ['what the setting says', { megabytes: 300, processes: 1 }, true, 300],
  ['all but that of the server', { megabytes: 0, processes: 1 }, true, 1798],
  ['the same share as the other processes', { megabytes: 0, processes: 2 }, true, 874],
  ['half of it beside graphs in JavaScript', { megabytes: 0, processes: 1 }, false, 874],
  [
    'as much as LangGraph needs, however many there are',
    { megabytes: 0, processes: 16 },
    false,
    192,
  ],
])('%s', (_, settings, isAlone, expected) => {
  expect(decidePythonMemory(settings, { isAlone, memory })).toBe(expected);
});
