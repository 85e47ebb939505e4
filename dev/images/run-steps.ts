import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CommandFailed } from '../errors.ts';
import { formatSecondsSince, type Report } from '../steps.ts';

const KEPT_LINES = 40;

/**
 * Runs a build. Reports the lines that announce a step, with the time so far. Throws `CommandFailed` with its last
 * lines.
 */
export async function runSteps(
  [file = '', ...args]: readonly string[],
  {
    step,
    report,
    cwd,
    env,
  }: { step: RegExp; report: Report; cwd: string; env?: NodeJS.ProcessEnv },
): Promise<void> {
  const started = performance.now();
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      printed.push(line);
      if (printed.length > KEPT_LINES) printed.shift();
      if (step.test(line))
        report(`${formatSecondsSince(started)}  ${line.replace(/\s+/g, ' ').trim().slice(0, 110)}`);
    });
  }
  if ((await ended) !== 0)
    throw new CommandFailed(`${file} ${args[0]} failed:\n${printed.join('\n')}`);
}
