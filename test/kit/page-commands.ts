import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { ensurePathTool } from '../../dev/cluster/path-tools.ts';

/** Returns the blocks of commands of a page. */
export const commandsOf = (page: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) =>
    block.trim(),
  );

/** Returns the block of commands of a page that begins with these words. Fails unless there is exactly one. */
export function commandOf(page: string, words: string): string {
  const blocks = commandsOf(page);
  const found = blocks.filter((block) => block.startsWith(words));
  if (found.length !== 1)
    throw new Error(`${page} has ${found.length} blocks that begin with "${words}"`);
  return found[0]!;
}

type Tools = { kubectl: string; kubeconfig: string };
type Printed = { code: number; output: string };

/** Runs commands in a folder, as somebody pastes them into a shell. Returns the exit code, and what they printed. */
export async function runInShell(
  commands: string,
  { kubectl, kubeconfig }: Tools,
  { cwd, variables = {} }: { cwd: string; variables?: Record<string, string> },
): Promise<Printed> {
  const helm = await ensurePathTool('helm', () => undefined);
  const folders = [dirname(kubectl), dirname(helm), process.env['PATH'] ?? ''];
  const env = {
    ...process.env,
    ...variables,
    PATH: folders.join(delimiter),
    KUBECONFIG: kubeconfig,
  };
  const running = promisify(execFile)('bash', ['-eo', 'pipefail', '-c', commands], {
    env,
    cwd,
    timeout: 600_000,
  });
  running.child.stdin?.end();
  try {
    const { stdout, stderr } = await running;
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: number; stdout: string; stderr: string };
    return { code: code ?? -1, output: stdout + stderr };
  }
}
