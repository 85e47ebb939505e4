import { afterEach, expect, test } from 'vitest';
import type { ExchangeRequest, Replied } from '../../../src/agent/exchange/exchanges.ts';
import { UserCode } from '../../../src/agent/user-code/host.ts';
import type { OpenCodeRunner } from '../../../src/agent/user-code/worker.ts';
import { createLog } from '../../../src/log.ts';
import { WALL_VERSION } from '../../../src/schema/wire/wall/rules.ts';
import type { ForApp, FromUserCode, ToUserCode } from '../../../src/schema/wire/wall/user-code.ts';

/* The user's own code may run in a process, which shares no memory with the server: each pong says how far it is. */

const start = {
  auth: undefined,
  app: undefined,
  encryption: undefined,
  guarded: false,
  env: {},
  logLevel: 'silent',
};
const within = { auth: 20_000, encryption: 20_000, app: 20_000 };

/** One process: the first one never yields once it has begun with a request, and each later one answers. */
type Process = { answers: boolean; begun: number[] };

const processes: Process[] = [];

const openProcess: OpenCodeRunner = (listener) => {
  const process: Process = { answers: processes.length > 0, begun: [] };
  processes.push(process);
  const liveness = { holds: 0, begun: 0 };
  const say = (message: FromUserCode): void => {
    if (message.kind === 'pong')
      Object.assign(liveness, { holds: message.holds, begun: message.begun });
    setImmediate(() => listener.message(message));
  };
  const begin = (exchange: number): void => {
    if (!process.answers && process.begun.length > 0) return;
    process.begun.push(exchange);
    if (process.answers)
      say({
        kind: 'exchange',
        message: { kind: 'answer', exchange, head: { status: 200, headers: [], hasBody: false } },
      });
  };
  const send = (message: ToUserCode): void => {
    const [last = 0] = process.begun.slice(-1);
    if (message.kind === 'start')
      say({
        kind: 'ready',
        version: WALL_VERSION,
        handles: [],
        app: { routes: undefined },
        encrypts: false,
      });
    if (message.kind === 'ping')
      say({ kind: 'pong', holds: process.answers ? 0 : last, begun: last });
    if (message.kind === 'exchange' && message.message.kind === 'ask')
      begin(message.message.exchange);
  };
  return {
    liveness,
    send,
    kill: () => Promise.resolve(setImmediate(() => listener.ended())).then(() => undefined),
  };
};

const code = new UserCode({
  start,
  within,
  open: openProcess,
  log: createLog({ level: 'silent', process: 'test' }),
});
afterEach(() => code.close());

const asking = (): ExchangeRequest<ForApp> => ({
  head: { method: 'GET', url: 'http://localhost/', headers: [] },
  purpose: { user: undefined },
  body: undefined,
  signal: new AbortController().signal,
});

test('a process that never yields is ended, and the next one gets the requests that it had not begun', async () => {
  await code.open();
  const ask = (): Promise<Replied> => code.fetch(asking(), () => undefined);
  const [held, next] = await Promise.allSettled([ask(), ask()]);

  expect(held).toMatchObject({
    status: 'rejected',
    reason: { status: 503, message: expect.stringContaining('does not yield') as string },
  });
  expect(next).toMatchObject({ status: 'fulfilled', value: { head: { status: 200 } } });
  expect(processes.map(({ begun }) => begun.length)).toEqual([1, 1]);
});
