import { setTimeout as sleep } from 'node:timers/promises';

type Waiting = { what: string; seconds: number; every?: number };

/** Asks until the answer is yes; `what` completes "gave up waiting for". */
export async function until(waiting: Waiting, ask: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + waiting.seconds * 1000;
  while (!(await ask())) {
    if (Date.now() > deadline) {
      throw new Error(`Gave up waiting for ${waiting.what} after ${waiting.seconds} s.`);
    }
    await sleep(waiting.every ?? 100);
  }
}
