import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { input } from './api.ts';
import { measureBesideWaits, type Work } from './beside-waits.ts';
import { call, holdOpen } from './http.ts';
import { together } from './load.ts';
import type { Line } from './report.ts';
import { residentMegabytes, type BenchServer } from './servers.ts';

const VERSION = { 'a2a-version': '1.0' };

const requestOf = (method: string): object => {
  const message = {
    messageId: randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text: input.messages[0]!.content }],
  };
  return { jsonrpc: '2.0', id: 1, method, params: { message } };
};

async function called({ url }: BenchServer): Promise<void> {
  const { result } = await call<{ result?: { task?: { status: { state: string } } } }>(
    `${url}/a2a/echo`,
    requestOf('SendMessage'),
    VERSION,
  );
  if (result?.task?.status.state !== 'TASK_STATE_COMPLETED')
    throw new Error('the task has not been done');
}

/** Measures what a task takes beside a wait for the same run, in turns. */
export const measureA2a = (work: Work): Promise<Line[]> =>
  measureBesideWaits(work, { what: 'SendMessage', called });

const STREAMS = 1000;
/** The megabytes that they may add. */
const GOAL = 100;
/** The seconds in which memory settles. */
const SETTLE = 5;

/** Measures what streams of tasks cost that wait for a worker, on a process that only answers, as an api pod does. */
export async function measureA2aStreams({ checkout, databases }: Work): Promise<Line[]> {
  const server = await checkout.start({
    database: await databases.fresh(),
    env: { N_JOBS_PER_WORKER: '0' },
  });
  const open = (): Promise<() => void> =>
    holdOpen(`${server.url}/a2a/echo`, requestOf('SendStreamingMessage'), VERSION);
  try {
    // The first ones load the package and the code that serves them. That memory is not theirs.
    const first = await Promise.all(Array.from({ length: 20 }, open));
    for (const close of first) close();
    await pause(SETTLE * 1000);
    const before = residentMegabytes(server.pid);
    const closes: (() => void)[] = [];
    await together(20, STREAMS, async () => closes.push(await open()));
    await pause(SETTLE * 1000);
    const megabytes = residentMegabytes(server.pid) - before;
    for (const close of closes) close();
    return [
      {
        what: 'RSS of 1,000 open streams of tasks',
        figure: `${megabytes.toFixed(0)} MB`,
        verdict: { goal: `<= ${GOAL} MB`, met: megabytes <= GOAL },
      },
    ];
  } finally {
    await server.stop();
  }
}
