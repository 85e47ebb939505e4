import { afterEach, expect, test, vi } from 'vitest';
import { LanguageHost } from '../../../src/agent/graphs/language-host.ts';
import type { OpenRunner } from '../../../src/agent/graphs/worker.ts';
import { createLog } from '../../../src/log.ts';
import type { ThreadStart } from '../../../src/schema/wire/wall/graph-start.ts';

/* A call may hold its thread for ever, for one by a function that makes a graph. The next call finds another thread. */

const log = createLog({ level: 'silent', process: 'test' });

const start: ThreadStart = {
  graphs: [],
  partial: false,
  database: { uri: 'postgresql://nowhere', poolSize: 1, statementTimeoutSeconds: 1 },
  logLevel: 'silent',
  env: {},
  sendsLog: false,
};

/** Opens runners of which the first answers no call. `lives`: it goes on giving signs of life. */
function runners(lives: boolean): { open: OpenRunner; killed: number[] } {
  const killed: number[] = [];
  let opened = 0;
  const open: OpenRunner = (listener) => {
    opened += 1;
    const number = opened;
    const beats = setInterval(
      () => (number > 1 || lives) && listener.message({ kind: 'beat', full: false }),
      500,
    );
    return {
      send: (message) => {
        if (message.kind === 'start')
          setImmediate(() => listener.message({ kind: 'ready', version: '1.0', nodes: {} }));
        if (message.kind === 'call' && number > 1)
          setImmediate(() =>
            listener.message({ kind: 'result', call_id: message.call_id, json: '{}' }),
          );
      },
      kill: () => {
        clearInterval(beats);
        killed.push(number);
        listener.ended();
        return Promise.resolve();
      },
    };
  };
  return { open, killed };
}

const call = (host: LanguageHost): Promise<unknown> =>
  host.call('graph', { graph_id: 'held', xray: false });

afterEach(() => vi.useRealTimers());

test('a thread that a call holds is ended, and another one answers', async () => {
  vi.useFakeTimers();
  const { open, killed } = runners(false);
  const host = new LanguageHost({ start, threads: 1, keep: 1, heapMegabytes: 256, log, open });
  const opened = host.open();
  await vi.advanceTimersByTimeAsync(10);
  await opened;
  const held = call(host).catch((error: unknown) => String(error));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await held).toContain('The graph does not answer.');
  expect(killed).toEqual([1]);
  const answered = call(host);
  await vi.advanceTimersByTimeAsync(2000);
  expect(await answered).toBe('{}');
  await host.close();
});

test('a thread that lives while a call is slow goes on', async () => {
  vi.useFakeTimers();
  const { open, killed } = runners(true);
  const host = new LanguageHost({ start, threads: 1, keep: 1, heapMegabytes: 256, log, open });
  const opened = host.open();
  await vi.advanceTimersByTimeAsync(10);
  await opened;
  const slow = call(host).catch((error: unknown) => String(error));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await slow).toContain('The graph does not answer.');
  expect(killed).toEqual([]);
  await host.close();
});
