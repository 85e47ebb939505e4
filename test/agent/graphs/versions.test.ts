import { expect, test } from 'vitest';
import { LanguageHost } from '../../../src/agent/graphs/language-host.ts';
import { openWorker, type OpenRunner } from '../../../src/agent/graphs/worker.ts';
import { UserCode } from '../../../src/agent/user-code/host.ts';
import { openCodeWorker, type OpenCodeRunner } from '../../../src/agent/user-code/worker.ts';
import { createLog } from '../../../src/log.ts';
import type { ThreadStart } from '../../../src/schema/wire/wall/graph-start.ts';

/* A server and a runner whose protocols have other major versions do not work with each other, and say why. */

const log = createLog({ level: 'silent', process: 'test' });

const start: ThreadStart = {
  graphs: [],
  partial: false,
  database: { uri: 'postgresql://nowhere', poolSize: 1, statementTimeoutSeconds: 1 },
  logLevel: 'silent',
  env: {},
  sendsLog: false,
};
const codeStart = {
  auth: undefined,
  app: undefined,
  encryption: undefined,
  guarded: false,
  env: {},
  logLevel: 'silent',
};
const within = { auth: 1000, encryption: 1000, app: 1000 };

/** Runners that answer with another version. */
const openNewer: OpenRunner = (listener) => ({
  send: () => setImmediate(() => listener.message({ kind: 'ready', version: '2.0', nodes: {} })),
  kill: () => Promise.resolve(listener.ended()),
});
const openNewerCode: OpenCodeRunner = (listener) => ({
  liveness: { holds: 0, begun: 0 },
  send: () =>
    setImmediate(() =>
      listener.message({
        kind: 'ready',
        version: '2.0',
        handles: [],
        app: undefined,
        encrypts: false,
      }),
    ),
  kill: () => Promise.resolve(listener.ended()),
});

const graphHost = (open: OpenRunner): LanguageHost =>
  new LanguageHost({ start, threads: 1, keep: 1, heapMegabytes: 256, log, open });
const codeHost = (open: OpenCodeRunner): UserCode =>
  new UserCode({ start: codeStart, within, log, open });

test('the server refuses a runner of another major version', async () => {
  const host = graphHost(openNewer);
  await expect(host.open()).rejects.toThrow(
    'The runner of the graphs speaks version 2.0 of the protocol, and this side speaks 1.0: the first numbers must be equal.',
  );
  await host.close();

  const code = codeHost(openNewerCode);
  await expect(code.open()).rejects.toThrow(
    "The runner of the user's own code speaks version 2.0 of the protocol",
  );
  await code.close();
});

/** Hosts whose worker threads hear that the server has another version. */
const hostsOf = (version: string): (LanguageHost | UserCode)[] => [
  graphHost((listener, limits) => {
    const runner = openWorker(listener, limits);
    return {
      ...runner,
      send: (message) => runner.send(message.kind === 'start' ? { ...message, version } : message),
    };
  }),
  codeHost((listener) => {
    const runner = openCodeWorker(listener);
    return {
      ...runner,
      send: (message) => runner.send(message.kind === 'start' ? { ...message, version } : message),
    };
  }),
];

test('a runner refuses a server of another major version', async () => {
  for (const host of hostsOf('2.0')) {
    await expect(host.open()).rejects.toThrow(
      'The server speaks version 2.0 of the protocol, and this side speaks 1.0',
    );
    await host.close();
  }
});

test('a runner works with a server of another minor version', async () => {
  for (const host of hostsOf('1.9')) {
    await expect(host.open().then(() => 'works')).resolves.toBe('works');
    await host.close();
  }
});
