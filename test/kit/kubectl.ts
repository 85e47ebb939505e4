import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Kubectl = {
  (...args: string[]): Promise<string>;
  json<T>(...args: string[]): Promise<T>;
  apply(manifest: object, ...options: string[]): Promise<string>;
  /** Returns what would change, as a diff. Empty if nothing would. */
  diff(manifest: object, ...options: string[]): Promise<string>;
};

/** Returns kubectl as a person uses it, on one cluster. */
export function kubectlFor({
  kubectl,
  kubeconfig,
}: {
  kubectl: string;
  kubeconfig: string;
}): Kubectl {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const call = async (...args: string[]): Promise<string> =>
    (await run(kubectl, args, { env, maxBuffer: 64 * 1024 * 1024 })).stdout;
  const withInput = (args: string[], manifest: object, fine: number[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const child = spawn(kubectl, [...args, '-f', '-'], { env });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.once('close', (code) =>
        fine.includes(code ?? -1) ? resolve(output) : reject(new Error(output)),
      );
      child.stdin.end(JSON.stringify(manifest));
    });
  const apply = (manifest: object, ...options: string[]): Promise<string> =>
    withInput(['apply', ...options], manifest, [0]);
  const diff = (manifest: object, ...options: string[]): Promise<string> =>
    withInput(['diff', ...options], manifest, [0, 1]);
  const json = async <T>(...args: string[]): Promise<T> =>
    JSON.parse(await call(...args, '-o', 'json')) as T;
  return Object.assign(call, { json, apply, diff });
}
