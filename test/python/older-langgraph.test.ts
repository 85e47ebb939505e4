import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRecord } from '../agent/wire/stopping/record.ts';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/*
 * What graphs can't do with a LangGraph older than 1.2: `make test-python LANGGRAPH=1.0`. What they can do is proven by
 * the same tests as for today's.
 */

const GRACE = 4;

describe('with an older LangGraph', () => {
  const record = openRecord();
  let database: TestDatabase;
  let api: AgentProcess;
  let leaving: AgentProcess;

  const start = (slots: number): Promise<AgentProcess> =>
    startPython(database.uri, {
      N_JOBS_PER_WORKER: String(slots),
      GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS: String(GRACE),
    });

  beforeAll(async () => {
    database = await freshDatabase();
    [api, leaving] = await Promise.all([start(0), start(10)]);
  });
  afterAll(async () => {
    await Promise.all([api.kill('SIGKILL'), leaving.kill('SIGKILL')]);
    await database.drop();
    record.remove();
  });

  test('event streaming is refused with a sentence, and makes no run', async () => {
    const thread_id = randomUUID();
    const answer = await fetch(`${api.url}/threads/${thread_id}/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        id: 1,
        method: 'run.start',
        params: { assistant_id: 'echo', input: { question: 'q' } },
      }),
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(/Event streaming needs LangGraph 1\.2 or newer, and this is 1\.[01]\./),
    ]);
    expect(await database.sql('select 1 from gx.thread where thread_id = $1', [thread_id])).toEqual(
      [],
    );
  });

  test('a run whose worker stops has the whole grace, is cut off, and goes on elsewhere from its last step', async () => {
    const { thread_id } = await api.client.threads.create();
    const input = { journal: record.journal, gate: record.gate };
    const { run_id } = await api.client.runs.create(thread_id, 'counting', {
      input,
      config: { recursion_limit: 10_000 },
    });
    await until('it is at work', () => record.of(run_id).length > 2);
    const staying = await start(10);
    try {
      const asked = Date.now();
      expect(await leaving.kill()).toBe(0);
      await until('it goes on', () => new Set(record.of(run_id).map(({ pid }) => pid)).size === 2);
      record.open();
      expect(await api.client.runs.join(thread_id, run_id)).toMatchObject({
        done: expect.any(Number) as number,
      });
      const lines = record.of(run_id);
      const at = lines.findIndex(({ pid }) => pid !== lines[0]!.pid);
      const [from, to] = [lines[at - 1]!, lines[at]!];
      expect(from.at - asked).toBeGreaterThan(GRACE * 1000 - 1000);
      expect([from.step, from.step! + 1]).toContain(to.step);
    } finally {
      await staying.kill('SIGKILL');
    }
  });
});
