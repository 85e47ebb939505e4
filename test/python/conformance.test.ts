import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, inject, test } from 'vitest';
import { freshDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/* LangGraph's own suite for checkpointers, against the saver of the runner, with the storage of a server behind it. */

type Report = Record<string, { passed: number; failures: string[] }>;

test('the suite for checkpointers passes', async () => {
  const database = await freshDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'gx-conformance-'));
  const file = join(folder, 'report.json');
  const runner = `${inject('python')}/python ${resolve('test/python/conformance.py')}`;
  const agent = await startPython(database.uri, {
    GX_RUNNER: runner,
    PYTHONPATH: resolve('python'),
    CONFORMANCE_REPORT: file,
  });
  const report = await until(
    'the suite is over',
    () => JSON.parse(readFileSync(file, 'utf8')) as Report,
  );
  await agent.kill('SIGKILL');
  await rm(folder, { recursive: true });
  await database.drop();
  const failures = Object.values(report).flatMap((one) => one.failures);
  expect(failures).toEqual([]);
  expect(
    Object.fromEntries(Object.entries(report).map(([name, { passed }]) => [name, passed])),
  ).toEqual({
    put: 17,
    put_writes: 10,
    get_tuple: 10,
    list: 16,
    delete_thread: 5,
    delete_for_runs: 7,
    copy_thread: 8,
    prune: 8,
  });
});
