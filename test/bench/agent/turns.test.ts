import { expect, test } from 'vitest';
import type { Contender } from './contenders.ts';
import type { Databases } from './databases.ts';
import { call } from './http.ts';
import { brokenOff, table } from './report.ts';
import type { Scenario, Who } from './scenarios/scenario.ts';
import { freePort, startServer } from './servers.ts';
import { measureInTurns } from './turns.ts';

/** A server that answers `{}`, and dies in the middle of a request after it has answered `requests` others. */
const stub = (who: Who, requests = Number.POSITIVE_INFINITY): Contender => ({
  who,
  name: who,
  about: '',
  forgetful: false,
  install: () => undefined,
  start: async () => {
    const port = await freePort();
    const program = `let left = ${requests};
      require('node:http').createServer((_, answer) => (left-- > 0 ? answer.end('{}') : process.exit(1))).listen(${port}, '127.0.0.1');`;
    return startServer({ command: process.execPath, args: ['-e', program], port });
  },
});

const databases: Databases = { fresh: async () => '', stop: async () => undefined };

const scenario = (id: string): Scenario => ({
  id,
  what: `calls (${id})`,
  unit: 'ms',
  sizes: { gx: 5, js: 5, aegra: 5 },
  limit: { atMost: 100 },
  measure: async ({ url }, size) => {
    for (let index = 0; index < size; index += 1) await call(`${url}/`);
    return 10;
  },
});

const work = { rounds: 2, scale: 1, settle: 0, tell: () => undefined };

test('a peer that dies in a round is named with its reason, the others go on, and it has a new start in the next row', async () => {
  const contenders = [stub('gx'), stub('js', 7), stub('aegra')];

  const rows = await measureInTurns(
    [scenario('first'), scenario('second')],
    contenders,
    databases,
    work,
  );

  expect(rows.map(({ figures }) => figures)).toEqual(
    Array.from({ length: 2 }, () => ({ gx: [10, 10], js: [10], aegra: [10, 10] })),
  );
  expect(brokenOff(rows, contenders)).toEqual(['js in first', 'js in second']);
  expect(table(rows, contenders)).toContain(
    '| calls (first)                      | ms  | 10.0; 10.0 | broke off: socket hang up | 10.0; 10.0 (1.0x) | <= 100 ms: met |',
  );
});

test('a peer that does not start is named, too', async () => {
  const broken: Contender = {
    ...stub('js'),
    start: async () => Promise.reject(new Error('no such | program\nand its log')),
  };

  const rows = await measureInTurns([scenario('only')], [stub('gx'), broken], databases, work);

  expect(table(rows, [stub('gx'), broken])).toContain('| broke off: no such / program |');
});

test('our own server may break off as well, and no ratio is made of its earlier rounds', async () => {
  const contenders = [stub('gx', 7), stub('aegra')];

  const rows = await measureInTurns([scenario('only')], contenders, databases, work);

  expect(table(rows, contenders)).toContain('| broke off: socket hang up | 10.0; 10.0 |      |');
});

test.each(['beside', 'encrypted'] as const)(
  'our own other server (%s) does the same work, and shows the pairs of its rounds',
  async (other) => {
    const contenders = [stub('gx'), stub(other)];
    const figures = { gx: [10, 10, 20], [other]: [11, 9, 24] };

    const rows = await measureInTurns([scenario('only')], contenders, databases, work);

    expect(rows[0]?.figures).toEqual({ gx: [10, 10], [other]: [10, 10] });
    expect(table([{ ...rows[0]!, figures }], contenders)).toContain(
      '| 11.0; 24.0 (1.10x, rounds 0.90-1.20) |',
    );
  },
);

test('a row may have rounds of its own, and a goal for the worst of them', async () => {
  const contenders = [stub('gx')];
  const row: Scenario = {
    ...scenario('only'),
    unit: 'per s',
    rounds: 3,
    limit: { atLeast: 300 },
    worst: { atLeast: 250 },
  };

  const [measured] = await measureInTurns([row], contenders, databases, {
    ...work,
    rounds: undefined,
  });

  expect(measured!.figures).toEqual({ gx: [10, 10, 10] });
  const rows = [{ ...measured!, figures: { gx: [366, 39, 448] } }];
  expect(table(rows, contenders)).toContain(
    '| 366; 39 | >= 300 per s: met; worst >= 250 per s: MISSED |',
  );
});
