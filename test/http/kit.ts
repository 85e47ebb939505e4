import { Writable } from 'node:stream';
import type { BodyLimits } from '../../src/http/bodies/body.ts';
import { listen } from '../../src/http/server/listen.ts';
import { buildRouteMaker, type Route } from '../../src/http/routes/route.ts';
import { createApp, type AppOptions } from '../../src/http/server/server.ts';
import { createLog } from '../../src/log.ts';

export const route = buildRouteMaker<string>();
const letIn = { seconds: 60, admit: () => () => undefined };
export const plain = {
  id: 'test',
  summary: 'test',
  tag: 'test',
  access: 'open',
  admission: letIn,
  answers: { 200: { description: 'ok' } },
} as const;

/** Returns limits of bodies with this many bytes. */
export const limits = (bytes: number): BodyLimits => ({
  bytes,
  selectionBytes: 100,
  values: 100_000,
  listItems: 10,
});

/** Starts the kernel with some routes on a port of its own. */
export async function serve(
  routes: Route<string>[],
  options: Partial<AppOptions<string>> = {},
  host = '127.0.0.1',
) {
  const lines: string[] = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()),
  });
  const log = createLog({ level: 'debug', process: 'test', destination });
  const app = createApp<string>({
    routes,
    log,
    invalid: 'list',
    authenticate: () => 'somebody',
    body: limits(1000),
    ...options,
  });
  const listener = await listen(app, { host, port: 0 });
  return {
    url: `http://127.0.0.1:${listener.port}`,
    port: listener.port,
    logged: () => lines.join(''),
    stop: (grace = 0) => listener.stop(grace),
  };
}
