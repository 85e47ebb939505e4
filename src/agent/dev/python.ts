import { existsSync } from 'node:fs';
import type { DevelopmentOfPython, PythonSettings } from '../../config/python.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import { interpreterFor } from '../graphs/interpreter.ts';
import type { DevOptions } from './options.ts';

/** Milliseconds for which code may hold the event loop before the log tells of it. */
const BLOCKING = 100;

/** Returns the settings of graphs in Python, as the options of `dev` change them. */
export function pythonForDev(settings: PythonSettings, { interpreter, debugPort, allowBlocking }: DevOptions['python']): PythonSettings {
  // Code that stands at a breakpoint holds the loop, too.
  const isWatched = !allowBlocking && debugPort === undefined;
  const development: DevelopmentOfPython = {
    ...(isWatched && { blockingMilliseconds: BLOCKING }),
    ...(debugPort !== undefined && { debugPort }),
  };
  return { ...settings, ...(interpreter !== undefined && { interpreter, namedBy: '--python' }), development };
}

/** Returns which interpreter runs graphs in Python, and why; undefined where there are none, or no interpreter. */
export function shownPython(settings: PythonSettings, { graphs, folder }: Pick<GraphsFile, 'graphs' | 'folder'>): string | undefined {
  if (!graphs.some(({ language }) => language === 'python')) return undefined;
  const chosen = interpreterFor({ settings, folder, exists: existsSync });
  return 'fault' in chosen ? undefined : `${chosen.program} (${chosen.because})`;
}
