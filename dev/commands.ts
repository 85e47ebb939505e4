import { execFile, type ExecFileOptions } from 'node:child_process';
import { promisify } from 'node:util';
import { CommandFailed } from './errors.ts';

const run = promisify(execFile);

type CommandOptions = ExecFileOptions & { input?: string };

/** Runs a command to its end and returns its output. Throws `CommandFailed` with its output. */
export async function runProcess(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { input, ...rest } = options;
  const running = run(file, [...args], { maxBuffer: 64 * 1024 * 1024, ...rest });
  // A command that ends without reading its input reports by its exit code.
  running.child.stdin?.on('error', () => {}).end(input);
  try {
    return String((await running).stdout);
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    throw new CommandFailed(`${file} ${args.join(' ')}: ${stderr.trim() || message}`, {
      cause: error,
    });
  }
}

/** Returns whether the command succeeded, for questions where failing is an answer. */
export const canRun = (file: string, args: readonly string[]): Promise<boolean> =>
  isFulfilled(runProcess(file, args));

/** Returns whether the promise is fulfilled in the end. */
export const isFulfilled = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  );

/** Returns whether Docker is installed and answers. */
export const isDockerRunning = (): Promise<boolean> => canRun('docker', ['info']);

type Flags = Record<string, string | number | boolean>;

export const formatFlags = (values: Flags): string[] =>
  Object.entries(values).map(([name, value]) => `--${name}=${String(value)}`);
