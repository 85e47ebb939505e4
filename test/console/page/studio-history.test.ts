import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { findInJson } from '../../../src/console/page/studio/json/json-search.ts';
import { buildLanes } from '../../../src/console/page/studio/history/lanes.ts';
import { listJsonDifferences } from '../../../src/console/page/studio/json/json-difference.ts';
import type { JsonNode } from '../../../src/console/page/studio/json/json-scan.ts';
import { ScannedJson } from '../../../src/console/page/studio/json/json-text.ts';
import { PiecedText } from '../../../src/console/page/studio/json/pieced-text.ts';
import { testCaseText } from '../../../src/console/page/studio/history/test-case.ts';

test('checkpoints of branches stand in lanes beside each other, and meet where they part', () => {
  const links = [
    ['d', 'b'],
    ['c', 'b'],
    ['b', 'a'],
    ['a', ''],
  ] as const;
  expect(buildLanes(links.map(([id, parent]) => ({ id, parent })))).toEqual([
    { lane: 0, passing: [], joined: [], hasChild: false, isRoot: false },
    { lane: 1, passing: [0], joined: [], hasChild: false, isRoot: false },
    { lane: 0, passing: [], joined: [1], hasChild: true, isRoot: false },
    { lane: 0, passing: [], joined: [], hasChild: true, isRoot: true },
  ]);
});

describe('a JSON that is looked into without being parsed', () => {
  const value = { a: [1, 'x', { b: null }], 'n"\\': 'q"\\', e: {}, t: true, f: [] };

  test('has the parts of the parsed one', async () => {
    for (const text of [JSON.stringify(value), JSON.stringify(value, undefined, 2)]) {
      const json = new ScannedJson(text);
      const { found, left } = await json.listChildren(json.root);
      expect(Object.fromEntries(found.map((one) => [one.name, json.parseSmall(one)]))).toEqual(
        value,
      );
      expect(left).toBe(0);
      const list = await json.listChildren(found[0]!);
      expect(list.found.map((one) => [one.name, json.parseSmall(one)])).toEqual([
        ['0', 1],
        ['1', 'x'],
        ['2', { b: null }],
      ]);
    }
  });

  test.each([[''], ['{'], ['{"a'], ['[1,,2'], ['}'], ['"x'], ['{"a":1}}}'], ['[[[['], ['{a:1}']])(
    'may be none, as %j',
    async (text) => {
      const json = new ScannedJson(text);
      const { found } = await json.listChildren(json.root);
      for (const { end } of found) expect(end).toBeLessThanOrEqual(text.length + 1);
      expect(json.root.start).toBeLessThanOrEqual(text.length);
    },
  );

  test.each([1, 2, 3, 7, 100])('has the same parts in pieces of %d letters', async (size) => {
    const text = ` ${JSON.stringify({ ...value, 'long "name"': [-12.5e3, '\\\\"'] }, undefined, 2)} \n `;
    const [whole, pieced] = [
      new ScannedJson(text),
      new ScannedJson(PiecedText.splitText(text, size)),
    ];
    const partsIn = async (json: ScannedJson, node: JsonNode): Promise<unknown> => {
      const { found } = await json.listChildren(node);
      return Promise.all(
        found.map(async (one) => [
          one.name,
          one.kind,
          json.getSlice(one),
          await partsIn(json, one),
        ]),
      );
    };
    expect(pieced.root).toEqual(whole.root);
    expect(await partsIn(pieced, pieced.root)).toEqual(await partsIn(whole, whole.root));
    expect(pieced.listSlices(pieced.root).join('')).toBe(text.trim());
  });

  test('of 20 MB is looked into a few milliseconds of processor time at once', async () => {
    const json = new ScannedJson(
      JSON.stringify({
        large: Array.from({ length: 200_000 }, (_, at) => ({ at, text: 'x"\\'.repeat(20) })),
      }),
    );
    expect(json.text.length).toBeGreaterThan(20_000_000);
    let longest = 0;
    let since = process.threadCpuUsage();
    const timer = setInterval(() => {
      const { user, system } = process.threadCpuUsage(since);
      longest = Math.max(longest, (user + system) / 1000);
      since = process.threadCpuUsage();
    });
    const large = await json.findChild(json.root, 'large');
    const { found, left } = await json.listChildren(large!);
    clearInterval(timer);
    expect([found.length, left]).toEqual([10_000, 190_000]);
    expect(longest).toBeLessThan(200);
  });
});

test('two states differ at the places at which their texts do', async () => {
  const [before, after] = [
    { a: 1, b: [1, 2], c: { d: 'x' }, gone: 1 },
    { a: 1, b: [1, 3], c: { d: 'y' }, made: [] },
  ].map((one) => new ScannedJson(JSON.stringify(one)));
  const found = await listJsonDifferences(
    { json: before!, node: before!.root },
    { json: after!, node: after!.root },
  );
  expect(
    found.map(({ path, before: was, after: is }) => [
      path,
      was && before!.getSlice(was),
      is && after!.getSlice(is),
    ]),
  ).toEqual([
    ['b[1]', '2', '3'],
    ['c.d', '"x"', '"y"'],
    ['made', undefined, '[]'],
    ['gone', '1', undefined],
  ]);
});

test('a test case has the calls before a checkpoint, the oldest first, and the state to expect', () => {
  const runs = [
    { madeAt: '2026-01-01T00:00:03Z', assistant: 'later', sent: {} },
    { madeAt: '2026-01-01T00:00:02Z', assistant: 'a', sent: { command: '{"resume": "yes"}' } },
    {
      madeAt: '2026-01-01T00:00:01Z',
      assistant: 'a',
      sent: { input: '{"x": 12345678901234567890}', context: 'null' },
    },
  ];
  const names = { graph: 'g', thread: 't', checkpoint: 'c', madeAt: '2026-01-01T00:00:02Z' };
  const text = testCaseText({ ...names, runs, state: ['{"y": ', '"\\u0000"}'] }).join('');
  expect(text).toContain('12345678901234567890');
  expect(JSON.parse(text)).toMatchObject({
    graph_id: 'g',
    thread_id: 't',
    checkpoint_id: 'c',
    runs: [
      { assistant_id: 'a', context: null },
      { assistant_id: 'a', command: { resume: 'yes' } },
    ],
    state: { y: '\0' },
  });
});

test('a state is searched for names and values, in slices that overlap', async () => {
  const value = {
    user: { name: 'Ann', mail: 'ann@x.example' },
    notes: ['about Ann', { by: 'Ben' }],
    long: `${'x'.repeat(499_998)}needle`,
  };
  const json = new ScannedJson(JSON.stringify(value));
  const find = async (word: string): Promise<string[]> =>
    (await findInJson(json, json.root, { word, signal: new AbortController().signal })).map(
      ({ path }) => path,
    );
  expect(await find('ANN')).toEqual(['user.name', 'user.mail', 'notes[0]']);
  expect(await find('user')).toEqual(['user']);
  expect(await find('needle')).toEqual(['long']);
  expect(await find('by')).toEqual(['notes[1].by']);
  expect(await find('nothing like it')).toEqual([]);
});
