import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { readConsoleConfig, type ConsoleConfig } from '../../src/config/platform/console.ts';
import { startConsole, type Console } from '../../src/console/start.ts';
import { silentLog } from '../kit/log.ts';

export const SCRIPT = 'export const hello = "hello";\n'.repeat(20);
export const SECRET = 'a secret of thirty-two bytes, or of more';

/** Writes a page as the build does, with one file. */
export function builtFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gx-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><base href="./"><title>console</title>\n',
  );
  const script = join(folder, 'assets', 'entry-ABC123.js');
  writeFileSync(script, SCRIPT);
  writeFileSync(`${script}.br`, brotliCompressSync(SCRIPT));
  writeFileSync(`${script}.gz`, gzipSync(SCRIPT));
  return folder;
}

/** Returns a file with a secret that seals sessions. */
export function secretFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'gx-console-key-')), 'key');
  writeFileSync(file, SECRET);
  return file;
}

export type RunningConsole = Console & { url: string };

/** Starts a console in front of the control plane at the address. `reach`: where it finds the hosts of agents. */
export async function openConsole(
  controlPlane: string,
  settings: Partial<ConsoleConfig> = {},
  folder?: string,
  reach?: Parameters<typeof startConsole>[0]['reach'],
): Promise<RunningConsole> {
  const config: ConsoleConfig = {
    ...readConsoleConfig({ GX_CONTROL_PLANE_URL: controlPlane }),
    host: '127.0.0.1',
    port: 0,
    healthPort: 0,
    sessionKeyFile: secretFile(),
    shutdownDelaySeconds: 0,
    graceSeconds: 1,
    ...settings,
  };
  const stopping = new AbortController();
  const running = await startConsole({
    config,
    log: silentLog(),
    signal: stopping.signal,
    folder: folder ?? builtFolder(),
    ...(reach && { reach }),
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running.stop();
  };
  return { ...running, url: `http://127.0.0.1:${running.port}`, stop };
}

export type Asked = {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/** A browser with the console's page: it keeps cookies, and says where its requests come from. */
export class Browser {
  readonly #url: string;
  cookies = new Map<string, string>();
  /** The last Set-Cookie header. */
  lastSet = '';

  constructor(url: string) {
    this.#url = url;
  }

  /** Sends what the page sends. */
  async ask(
    path: string,
    { method = 'GET', body, headers = {}, signal }: Asked = {},
  ): Promise<Response> {
    const isRead = ['GET', 'HEAD'].includes(method);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${this.#url}/console/${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'sec-fetch-site': 'same-origin',
        ...(!isRead && { origin: this.#url, 'x-gx-console': '1' }),
        ...(cookie !== '' && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    for (const set of response.headers.getSetCookie()) this.#keep(set);
    return response;
  }

  signIn(key: string): Promise<Response> {
    return this.ask('session', { method: 'POST', body: { api_key: key } });
  }

  #keep(set: string): void {
    this.lastSet = set;
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
    if (/Max-Age=0\b/.test(set)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
