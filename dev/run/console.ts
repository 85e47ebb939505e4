import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import type { Cluster } from '../cluster/cluster.ts';
import { runProcess } from '../commands.ts';
import type { Report } from '../steps.ts';
import { waitUntil } from '../wait.ts';

/** The id of the process that forwards the console. */
const FILE = '.run/console-forward';
/** The port of this machine, if nobody else has it. Browsers trust a page of this machine without https. */
const PORT = 8090;
const FORWARD = join('dev', 'run', 'forward', 'main.ts');

/** Forwards the console to this machine, and returns the address of its page. The process goes on after this one. */
export async function forwardConsole(
  { kubectl, kubeconfig }: Pick<Cluster, 'kubectl' | 'kubeconfig'>,
  report: Report,
): Promise<string> {
  await stopForwarding();
  const port = await chooseFreePort(PORT);
  const child = spawn(process.execPath, [FORWARD, kubectl, kubeconfig, String(port)], {
    detached: true,
    stdio: 'ignore',
  });
  child.unref();
  mkdirSync('.run', { recursive: true });
  writeFileSync(FILE, String(child.pid));
  const url = `http://127.0.0.1:${port}`;
  await waitUntil({ what: 'the console to answer', seconds: 60, every: 200 }, () =>
    isAnswering(`${url}/readyz`),
  );
  report(`${url}/console/`);
  return `${url}/console/`;
}

/** Ends the process that forwards, if there is one. */
export async function stopForwarding(): Promise<void> {
  if (!existsSync(FILE)) return;
  const id = Number(readFileSync(FILE, 'utf8'));
  rmSync(FILE);
  // Another process may have the id by now.
  if ((await readCommandLine(id)).includes(FORWARD)) process.kill(id);
}

/** Returns the command line of a process; empty if there is none. */
async function readCommandLine(id: number): Promise<string> {
  const file = `/proc/${id}/cmdline`;
  return existsSync(file)
    ? readFileSync(file, 'utf8')
    : runProcess('ps', ['-o', 'command=', '-p', String(id)]).catch(() => '');
}

const isAnswering = async (url: string): Promise<boolean> => {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
  return answer?.ok === true;
};

/** Returns the port, or any other if it is taken. */
async function chooseFreePort(wanted: number): Promise<number> {
  const server = createServer();
  const listening = once(server, 'listening');
  server.listen(wanted, '127.0.0.1');
  const isFree = await listening.then(
    () => true,
    () => false,
  );
  if (!isFree) return chooseFreePort(0);
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
