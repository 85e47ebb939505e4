import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';

/** Runs the tool until its wire to us is cut: by `kill`, or by our own end, whatever ended us. */
const LEASH = '"$0" "$@" 3<&- & pid=$!; { cat <&3; kill -9 "$pid"; } & exec 3<&-; wait "$pid"';

/**
 * Of Kubernetes' programs, which here have more memory than CPU: the API server takes a sixth less of it for a write
 * than with Go's own 100.
 */
const GOGC = '300';

/** A program that ends, at the latest, when this process does. */
export function leashed(path: string, args: string[], logFile: string): ChildProcess {
  const log = openSync(logFile, 'a');
  return spawn('/bin/sh', ['-c', LEASH, path, ...args], {
    stdio: ['ignore', log, log, 'pipe'],
    env: { PATH: process.env.PATH, GOGC },
  });
}

/** kill -9, by cutting the wire. */
export async function kill(child: ChildProcess): Promise<void> {
  const isRunning = child.exitCode === null && child.signalCode === null;
  const gone = isRunning ? once(child, 'exit') : undefined;
  // The wire of one that ended by itself is still there.
  child.stdio[3]?.destroy();
  await gone;
}

/** Ends when its standard input does: with us, whatever ended us. */
const NODE_LEASH = 'process.stdin.on("end", () => process.exit()).resume(); process.stdin.unref();';

/** Flags for a Node.js program whose standard input is a pipe from this process. */
export const LEASHED = ['--import', `data:text/javascript,${NODE_LEASH}`];
