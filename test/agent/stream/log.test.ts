import { PLAIN } from '../../../src/agent/encryption/codec.ts';
import { expect, test } from 'vitest';
import type { Db, Statement } from '../../../src/agent/db/base/pool.ts';
import { EventLog } from '../../../src/agent/stream/log.ts';
import { createLog } from '../../../src/log.ts';
import { linesOf } from '../../kit/lines.ts';
import { silentLog } from '../../kit/log.ts';

const RUN = { run_id: 'r', thread_id: 't', readers: [], kept: false };
const event = (seq: number) => ({ ms: 1, seq, event: 'custom', json: '{}' });

/** A database that takes a few milliseconds for each batch, and fails when the test says so. */
function slow({ fails = false }: { fails?: boolean } = {}): { db: Db; batches: number[][] } {
  const batches: number[][] = [];
  const query = async ({ values = [] }: Statement): Promise<never[]> => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    batches.push(values[2] as number[]);
    if (fails) throw new Error('no');
    return [];
  };
  return { db: { query, codec: PLAIN }, batches };
}

test('what was appended is written when it says so, however much comes meanwhile', async () => {
  const { db, batches } = slow();
  const log = new EventLog({ db, lifeSeconds: 1, log: silentLog() });
  log.append(RUN, [event(1), event(2)]);
  let more = 3;
  const others = setInterval(() => log.append(RUN, [event(more++)]), 1);
  await log.waitUntilWritten();
  expect(batches.flat().slice(0, 2)).toEqual([1, 2]);
  clearInterval(others);
  const last = more;
  log.append(RUN, [event(last)]);
  await log.waitUntilWritten();
  expect(batches.flat()).toContain(last);
});

test('with nothing to write, or with a database that takes nothing, nobody waits for ever', async () => {
  const log = new EventLog({ db: slow({ fails: true }).db, lifeSeconds: 1, log: silentLog() });
  expect(await log.waitUntilWritten()).toBeUndefined();
  log.append(RUN, [event(1)]);
  expect(await log.waitUntilWritten()).toBeUndefined();
});

test('each run whose events are lost has a line of its own, with its ids', async () => {
  const lines: string[] = [];
  const kept = createLog({
    level: 'error',
    process: 'test',
    destination: { write: (line) => lines.push(line) },
  });
  const log = new EventLog({ db: slow({ fails: true }).db, lifeSeconds: 1, log: kept });
  const kwargs = { config: { configurable: { langgraph_request_id: 'asked-1' } } };
  log.append({ ...RUN, kwargs }, [event(1), event(2)]);
  log.append({ ...RUN, run_id: 'other' }, [event(1)]);
  await log.waitUntilWritten();
  expect(linesOf(lines.join(''))).toMatchObject([
    { run_id: 'r', thread_id: 't', request_id: 'asked-1', events: 2 },
    { run_id: 'other', thread_id: 't', events: 1 },
  ]);
});
