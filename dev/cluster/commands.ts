import { execFile, type ExecFileOptions } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs a command to its end; its output, or an error that carries what it said. */
export async function command(file: string, args: readonly string[], options: ExecFileOptions & { input?: string } = {}): Promise<string> {
  const { input, ...rest } = options;
  const running = run(file, [...args], { maxBuffer: 64 * 1024 * 1024, ...rest });
  // A command that ends without reading its input speaks through its exit code.
  running.child.stdin?.on('error', () => {}).end(input);
  try {
    return String((await running).stdout);
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    throw new Error(`${file} ${args.join(' ')}: ${stderr.trim() || message}`, { cause: error });
  }
}

/** Whether the command ended well; for questions, where failing is an answer. */
export async function succeeds(file: string, args: readonly string[]): Promise<boolean> {
  return command(file, args).then(
    () => true,
    () => false,
  );
}

type Flags = Record<string, string | number | boolean>;

export const flags = (values: Flags): string[] => Object.entries(values).map(([name, value]) => `--${name}=${String(value)}`);
