import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { until } from '../kit/until.ts';
import { LEASHED } from '../kit/leash.ts';

export type Ask = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** Runs a control plane in a process of its own, so that the measuring does not take its time. */
export async function plane(
  kubeconfig: string,
  key: string,
): Promise<{ ask: Ask; stop(): Promise<void> }> {
  const env = {
    PATH: '',
    KUBECONFIG: kubeconfig,
    GX_SERVER_HOST: '127.0.0.1',
    GX_SERVER_PORT: '0',
    GX_HEALTH_PORT: '0',
    GX_NAMESPACE: 'default',
    GX_AGENT_NAMESPACES: 'default',
    GX_SHUTDOWN_DELAY_SECONDS: '0',
  };
  const child = spawn(process.execPath, [...LEASHED, 'src/main.ts', 'control-plane'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) =>
    output.length < 10_000 ? (output += chunk.toString()) : undefined,
  );
  const port = (): string | undefined => /"port":(\d+)/.exec(output)?.[1];
  await until('it listens', () => port() !== undefined);
  const url = `http://127.0.0.1:${port()}`;
  await until('it is ready', async () => (await fetch(`${url}/readyz`)).ok);
  const ask: Ask = async (method, path, body) => {
    const headers = {
      'x-api-key': key,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as never;
  };
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { ask, stop };
}
