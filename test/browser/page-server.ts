import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { runProcess } from '../../dev/commands.ts';
import { extendEnvironment } from '../../dev/env.ts';

const HTML =
  '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><main></main><script type="module" src="/page.js"></script>';
const AS_BUILT = [
  '--bundle',
  '--format=esm',
  '--jsx=automatic',
  '--define:process.env.NODE_ENV="production"',
];

/**
 * Serves a page of this folder from another origin than the agent server's. `folder` is where its packages are that are
 * not among the dependencies of this checkout.
 */
export async function servePage(
  folder: string,
  page = 'test/browser/page/page.jsx',
  html = HTML,
): Promise<{ url: string; stop(): void }> {
  const modules = join(folder, 'node_modules');
  const env = extendEnvironment({ NODE_PATH: modules });
  const script = await runProcess(join(modules, '.bin/esbuild'), [page, ...AS_BUILT], { env });
  const server = createServer(({ url }, response) => {
    const [type, body] = url === '/page.js' ? ['text/javascript', script] : ['text/html', html];
    response.setHeader('content-type', type).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}
