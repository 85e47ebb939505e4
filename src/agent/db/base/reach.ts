import { setTimeout as wait } from 'node:timers/promises';
import { EXIT, StartError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { isAway, maskPassword, type Database } from './pool.ts';

/** Milliseconds between attempts: few beside the seconds that a Postgres takes to start, and yet no load on it. */
const PAUSE = 500;

/**
 * Connects, so that a wrong address fails the start with a sentence. It tries a database that is not there yet again
 * until the seconds have passed; with 0 there is one attempt. When the signal is aborted meanwhile, it throws the
 * signal's reason and abandons the attempt under way.
 */
export async function waitForDatabase(
  db: Database,
  uri: string,
  seconds: number,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const began = performance.now();
  const measureWait = (): number => Math.round((performance.now() - began) / 100) / 10;
  let waits = false;
  for (;;) {
    const failure = await runUnlessAborted(tryQuery(db), signal);
    if (failure === undefined) break;
    const left = began + seconds * 1000 - performance.now();
    if (left <= 0 || !isAway(failure.cause)) {
      const sentence = `Database ${maskPassword(uri)} can't be reached: ${failure.reason}${waits ? `; waited ${measureWait()} s for it` : ''}.`;
      throw new StartError(sentence, { cause: failure.error, exitCode: EXIT.database });
    }
    if (!waits) log.info({ reason: failure.reason, seconds }, 'waiting for the database');
    waits = true;
    await wait(Math.min(PAUSE, left), undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  if (waits) log.info({ seconds: measureWait() }, 'the database answers');
}

/** `cause` is pg's own error. */
type Failure = { error: unknown; cause: unknown; reason: string };

async function tryQuery(db: Database): Promise<Failure | undefined> {
  try {
    await db.query({ text: 'select 1' });
    return undefined;
  } catch (error) {
    const cause = (error as { cause?: unknown }).cause ?? error;
    const reason =
      cause instanceof AggregateError
        ? (cause.errors[0] as Error).message
        : (cause as Error).message;
    return { error, cause, reason };
  }
}

async function runUnlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const stop = (): void => resolve();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const first = await Promise.race([work, stopped]);
    signal.throwIfAborted();
    return first as T;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
