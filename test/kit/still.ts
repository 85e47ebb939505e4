import { setTimeout as wait } from 'node:timers/promises';
import { until } from './api-server.ts';

/** Two reads so far apart that say the same: Kubernetes' own controllers write within some milliseconds of each other. */
const APART = 500;

/** What is read once it does not change any more, because those who write it have come to an end. */
export async function still<T>(what: string, read: () => Promise<T>): Promise<T> {
  let last = await read();
  await until(`${what} is still`, async () => {
    await wait(APART);
    const before = JSON.stringify(last);
    last = await read();
    return JSON.stringify(last) === before;
  });
  return last;
}
