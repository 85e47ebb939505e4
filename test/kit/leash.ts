import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';

/** Runs the tool until its pipe to this process closes: by `kill`, or because this process has ended in any way. */
const LEASH = '"$0" "$@" 3<&- & pid=$!; { cat <&3; kill -9 "$pid"; } & exec 3<&-; wait "$pid"';

/**
 * The GOGC of Kubernetes' programs, which here have more memory than CPU. The API server needs a sixth less CPU for a
 * write than with Go's default of 100.
 */
const GOGC = '300';

/** Starts a program that ends, at the latest, when this process does. */
export function leashed(path: string, args: string[], logFile: string): ChildProcess {
  const log = openSync(logFile, 'a');
  return spawn('/bin/sh', ['-c', LEASH, path, ...args], {
    stdio: ['ignore', log, log, 'pipe'],
    env: { PATH: process.env.PATH, GOGC },
  });
}

/** Kills the program with SIGKILL, by closing its pipe. */
export async function kill(child: ChildProcess): Promise<void> {
  const isRunning = child.exitCode === null && child.signalCode === null;
  const gone = isRunning ? once(child, 'exit') : undefined;
  // The pipe of a program that ended by itself is still open.
  child.stdio[3]?.destroy();
  await gone;
}

/** Ends the process when its standard input does, which is when this process ends in any way. */
const NODE_LEASH = 'process.stdin.on("end", () => process.exit()).resume(); process.stdin.unref();';

/** Flags for a Node.js program whose standard input is a pipe from this process. */
export const LEASHED = ['--import', `data:text/javascript,${NODE_LEASH}`];
