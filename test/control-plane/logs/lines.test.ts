import { expect, test } from 'vitest';
import {
  toLogEntry,
  parseLinePieces,
  parseLines,
  createLogPage,
} from '../../../src/control-plane/logs/lines.ts';
import { logPage } from './log-page.ts';

const text = [
  '2026-01-01T00:00:00.1Z {"level":"info","msg":"server listens"}',
  '2026-01-01T00:00:00.100000001Z plain text',
  '2026-01-01T00:00:01Z {"level":"error","msg":"run failed","run_id":"55555555-5555-4555-8555-555555555555"}',
  '2026-01-01T00:00:02Z {"level":30,"msg":"no word"}',
  '2026-01-01T00:00:03Z {not json',
  '',
].join('\n');
const lines = parseLines(text, 'pod-a');
const messages = (query: Parameters<typeof logPage>[1]): string[] =>
  logPage(lines, query).logs.map(({ timestamp }) => timestamp.slice(17));

test('each line has a time, a level and an id of its own', () => {
  expect(lines.map(({ level }) => level)).toEqual(['INFO', 'INFO', 'ERROR', 'INFO', 'INFO']);
  expect(new Set(lines.map((line) => toLogEntry(line).id)).size).toBe(5);
});

test.each([
  ['oldest first', {}, ['00.1Z', '00.100000001Z', '01Z', '02Z', '03Z']],
  ['newest first', { order: 'desc' }, ['03Z', '02Z', '01Z', '00.100000001Z', '00.1Z']],
  ['a level', { level: 'WARNING' }, ['01Z']],
  ['a part of the message', { query: 'PLAIN' }, ['00.100000001Z']],
  ['a run', { run_id: '55555555-5555-4555-8555-555555555555' }, ['01Z']],
  ['a time to begin', { start_time: '2026-01-01T00:00:02Z' }, ['02Z', '03Z']],
  ['a time to end', { end_time: '2026-01-01T00:00:01Z' }, ['00.1Z', '00.100000001Z']],
] as const)('by %s', (_, query, expected) => {
  expect(messages(query)).toEqual(expected);
});

test.each(['asc', 'desc'] as const)(
  'pages follow one another without gap or repeat: %s',
  (order) => {
    const seen: string[] = [];
    let offset: string | null = null;
    do {
      const page: ReturnType<typeof logPage> = logPage(lines, { order, limit: 2, offset });
      seen.push(...page.logs.map(({ id }) => id));
      offset = page.next_offset;
    } while (offset !== null);
    expect(seen).toEqual(
      (order === 'asc' ? lines : lines.toReversed()).map((line) => toLogEntry(line).id),
    );
  },
);

test('a line can neither move the cursor of a terminal nor colour, rename or clear it', () => {
  const hostile =
    '\u001b]0;renamed\u0007\u001b[31mred\u001b[0m\u001b[2J over\rwritten\u009b1A\ttab\u0000';
  expect(
    parseLines(`2026-01-01T00:00:00Z ${hostile}`, 'pod-a').map(({ message }) => message),
  ).toEqual(['red overwritten\ttab']);
});

test('lines of several pods are put in the order of their times', () => {
  const other = parseLines('2026-01-01T00:00:01.5Z b', 'pod-b');
  expect(logPage([...other, ...lines], {}).logs.map(({ message }) => message)[3]).toBe('b');
});

test('a long log that is parsed in pieces has the same lines, also where many have one time', () => {
  const long = Array.from(
    { length: 1700 },
    (_, at) => `2026-01-01T00:00:0${Math.floor(at / 600)}Z line ${at}`,
  ).join('\n');
  const inPieces = [...parseLinePieces(long, 'pod-a')].flat();
  expect(inPieces).toEqual(parseLines(long, 'pod-a'));
  expect(new Set(inPieces.map(({ order }) => order)).size).toBe(1700);
});

test.each(['asc', 'desc'] as const)(
  'a page of several logs has the first lines of all of them, read in any sequence: %s',
  (order) => {
    const logs = ['a', 'b', 'c'].map((pod, nth) =>
      parseLines(
        Array.from(
          { length: 40 },
          (_, at) => `2026-01-01T00:00:${String(10 + ((at * 7 + nth * 5) % 50))}Z ${at}`,
        ).join('\n'),
        pod,
      ),
    );
    const whole = logPage(logs.flat(), { order, limit: 1000 }).logs.filter(({ message }) =>
      message.includes('1'),
    );
    for (const sequence of [logs, logs.toReversed()]) {
      const page = createLogPage({ order, limit: 20, query: '1' });
      for (const log of sequence) page.add(log);
      expect(page.lines.map(toLogEntry)).toEqual(whole.slice(0, 20));
      expect(page.isFull).toBe(true);
    }
  },
);
