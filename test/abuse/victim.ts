import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';

/* Asks as another tenant, from a process of its own, until it is told to stop. Prints its latencies in milliseconds. */

const PAUSE = 25;
/** Requests before the first that counts. */
const WARM = 20;
const [url = '', headers = '{}'] = process.argv.slice(2);
const times: number[] = [];
let failed = 0;
let asked = 0;
const over = new AbortController();
process.once('SIGTERM', () => over.abort());
while (!over.signal.aborted) {
  const started = performance.now();
  const answer = await fetch(url, { headers: JSON.parse(headers) as Record<string, string> }).catch(
    () => undefined,
  );
  await answer?.arrayBuffer();
  if (answer?.ok !== true) failed += 1;
  asked += 1;
  if (asked === WARM) process.stdout.write('ready\n');
  if (asked > WARM) times.push(performance.now() - started);
  await wait(PAUSE);
}
process.stdout.write(JSON.stringify({ times, failed }));
