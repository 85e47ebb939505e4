import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../kit/until.ts';
import type { Verdicts } from './report.ts';

const VICTIM = path.join(import.meta.dirname, 'victim.ts');
/** Milliseconds: the figure to hold, and with the margin for a machine that has other work. */
const GOAL = 100;
const LIMIT = 150;
/** Milliseconds that the other tenant asks at least. */
const LEAST = 10_000;

/** Does something while another tenant asks, and judges how long that one waits. */
export async function besideNeighbour(
  verdicts: Verdicts,
  { name, url, headers = {} }: { name: string; url: string; headers?: Record<string, string> },
  attack: () => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [VICTIM, url, JSON.stringify(headers)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  await until('the other tenant asks', () => output.startsWith('ready'), 60);
  // A figure needs a few hundred requests, also beside an attack that is over at once.
  await Promise.all([attack(), wait(LEAST)]);
  child.kill('SIGTERM');
  await closed;
  const { times, failed } = JSON.parse(output.replace('ready\n', '')) as {
    times: number[];
    failed: number;
  };
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
  const figure = `another tenant's GET p99 ${p99.toFixed(0)} ms of ${GOAL} in ${times.length} requests, ${failed} failed`;
  verdicts.check(name, figure, p99 <= LIMIT && failed === 0);
}
