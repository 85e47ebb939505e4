import process from 'node:process';
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { toError, Problem, StartError } from './errors.ts';
import { findNearestName } from './nearest-name.ts';

/** `ended` settles when the process can't go on, for example after it lost its lease. */
export type RunningProcess = { stop(): Promise<void>; ended?: Promise<'stopped' | 'lost'> };

/** Returns the running process, or nothing when the command has done its work. */
export type RunCommand = (args: string[], signal: AbortSignal) => Promise<RunningProcess | void>;

type Commands = { help: string; commands: Record<string, RunCommand> };

/**
 * Milliseconds that a stopped process may linger: all is closed by then, and a socket to a lost host must not hold it.
 */
const LINGER = 2000;
const leave = (): never => process.exit();

/**
 * Runs the command that the arguments name, until SIGTERM or SIGINT. The exit code is 0 after a graceful stop, and one
 * of `EXIT` when the start failed, after a sentence on standard error.
 */
export async function runCommand(program: Commands, args: string[]): Promise<void> {
  try {
    await run(program, args);
  } catch (thrown) {
    const error = toError(thrown);
    // A problem has a sentence for the caller, such as that the account may not do it. Anything else is a bug.
    const isForPeople = error instanceof StartError || error instanceof Problem;
    process.stderr.write(isForPeople ? `${error.message}\n` : `${error.stack ?? error.message}\n`);
    process.exitCode = error instanceof StartError ? error.exitCode : 1;
  }
}

async function run(
  { help, commands }: Commands,
  [name = '--help', ...rest]: string[],
): Promise<void> {
  if (['--help', '-h', 'help'].includes(name)) {
    process.stdout.write(help);
    return;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const nearest = findNearestName(name, Object.keys(commands));
    const meant = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    throw new StartError(
      `"${name}" is not a command; known: ${Object.keys(commands).join(', ')}.${meant}`,
    );
  }
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve());
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => stopping.abort(signal));
  const running = await command(rest, stopping.signal).catch((error: unknown) => {
    // The stop's own reason is no failure: the start was asked to stop, and did.
    if (!stopping.signal.aborted || error !== stopping.signal.reason) throw error;
    setTimeout(leave, LINGER).unref();
  });
  if (running === undefined) return;
  const end = await Promise.race([
    stopped,
    ...(running.ended === undefined ? [] : [running.ended]),
  ]);
  await running.stop();
  if (end === 'lost') process.exitCode = 1;
  setTimeout(leave, LINGER).unref();
}

/** The parts of a command's help. `usage`: the lines below its name. */
export type CommandHelp = { does: string; usage?: string };

const CHART =
  'It takes no options. Its settings come from the environment, where the Helm chart writes them.';

/** Makes the command of a process that takes no options, because its settings come from the environment. */
export const buildPlainCommand =
  (name: string, { does, usage = CHART }: CommandHelp, command: RunCommand): RunCommand =>
  async (args, signal) => {
    const [first] = args;
    if (first === undefined) return command(args, signal);
    const help = `gx-platform ${name}: ${does}\n\nUsage: node src/main.ts ${name}\n\n${usage}\n`;
    if (['--help', '-h'].includes(first)) return void process.stdout.write(help);
    throw new StartError(
      `${name}: "${first}" is not known; it takes no options. See ${name} --help.`,
    );
  };

/** Reads the options of a command. Throws a `StartError` that begins with its name and ends with `hint`. */
export function parseCommandOptions<const O extends ParseArgsOptionsConfig>(
  args: string[],
  options: O,
  { name, hint = '' }: { name: string; hint?: string },
) {
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    const { code } = error as { code?: string };
    // Node's own advice, on arguments that begin with a dash, helps nobody who has misspelt an option.
    const [, given] =
      code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION'
        ? (/'--([^']+)'/.exec(toError(error).message) ?? [])
        : [];
    const nearest = given === undefined ? undefined : findNearestName(given, Object.keys(options));
    const meant = nearest === undefined ? '' : ` Did you mean --${nearest}?`;
    const message =
      given === undefined ? toError(error).message : `Unknown option '--${given}'.${meant}`;
    throw new StartError(
      `${name}: ${hint === '' ? message : `${message.replace(/[.?]?$/, (end) => end || '.')} ${hint}`}`,
      {
        cause: error,
      },
    );
  }
}
