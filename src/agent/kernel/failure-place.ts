import { Problem } from '../../errors.ts';
import { chooseRefusalName, type RunError } from '../../schema/agent/run.ts';
import type { FailurePlace } from '../../schema/wire/wall/run-in-thread.ts';

/* This file reads values that users' code has thrown: the name, the message, and the place in that code. */

/** Returns name and message. Users' code also throws texts, nothing, and objects that can't even be printed. */
export function describeThrown(thrown: unknown): RunError {
  try {
    if (thrown instanceof Problem)
      return { error: chooseRefusalName(thrown.status), message: thrown.message };
    const { name, message } = Object(thrown) as { name?: unknown; message?: unknown };
    return {
      error: typeof name === 'string' ? name : 'Error',
      message: typeof message === 'string' ? message : String(thrown),
    };
  } catch {
    return { error: 'Error', message: 'The graph threw something that can not be printed.' };
  }
}

/** Frames of a stack that are reported: a recursion without an end has thousands. */
const MOST_FRAMES = 30;
/** Errors below one that are reported. */
const MOST_CAUSES = 5;

/** A frame of V8's stacks whose file has an address: `at f (file:///x.ts:1:2)`. */
const FRAME = /^\s+at (?:async )?(?:.*\()?(?:file:\/\/)?(\/[^\s():]+):(\d+):\d+\)?$/;

const HERE = decodeURIComponent(new URL('.', import.meta.url).pathname);
/** The folder of our own code, whose frames tell users nothing; an image has it in one file. */
const OURS = HERE.replace(/kernel\/$/, '');

/** The loader of a project's files is in each stack. */
const OF_LOADER = /\/node_modules\/(?:tsx|esbuild)\//;

/**
 * Returns where an error comes from: the place in the user's code as `file:line`, the frames of its stack with the
 * user's own ones first, and the errors below it.
 */
export function findFailurePlace(thrown: unknown, ours = OURS): FailurePlace {
  try {
    const causes = listCauses(thrown);
    const frames = parseFrames(thrown).filter(
      ({ file }) => file?.startsWith(ours) !== true && !OF_LOADER.test(file ?? ''),
    );
    const own = frames.filter(isOwn);
    const shown = [...own, ...frames.filter((frame) => !isOwn(frame))].slice(0, MOST_FRAMES);
    // A library may wrap the error of the user's code.
    const first = [...own, ...causes.flatMap(parseFrames).filter(isOwn)][0];
    return {
      ...(first && { at: `${first.file}:${first.line}` }),
      ...(shown.length > 0 && { stack: shown.map(({ text }) => text).join('\n') }),
      causes: causes.map(describeThrown),
    };
  } catch {
    return { causes: [] };
  }
}

type Frame = { text: string; file: string | undefined; line: string | undefined };

function parseFrames(thrown: unknown): Frame[] {
  const { stack } = Object(thrown) as { stack?: unknown };
  const lines =
    typeof stack === 'string' ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : [];
  return lines.map((text) => {
    const [, file, line] = FRAME.exec(text) ?? [];
    return { text, file, line };
  });
}

const isOwn = ({ file }: Frame): boolean => file !== undefined && !file.includes('/node_modules/');

/** Returns the errors below one: its cause, the cause of that, and those of a sum. */
function listCauses(thrown: unknown): unknown[] {
  const found = new Set<unknown>();
  const open = [thrown];
  for (
    let next = open.shift();
    next !== undefined && found.size <= MOST_CAUSES;
    next = open.shift()
  ) {
    const { cause, errors } = Object(next) as { cause?: unknown; errors?: unknown };
    const below = [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])].filter(
      (one) => one !== undefined && one !== null,
    );
    for (const one of below) if (!found.has(one) && one !== thrown) open.push(one);
    found.add(next);
  }
  found.delete(thrown);
  return [...found].slice(0, MOST_CAUSES);
}

/** Returns an error of users' code as the log has it: its stack has the user's own frames first. */
export function toLoggedError(
  { error, message }: RunError,
  { stack, causes = [] }: { stack?: string | undefined; causes?: RunError[] },
): Error {
  const below = causes.map((cause) => `caused by ${cause.error}: ${cause.message}`);
  const logged = new Error(message);
  logged.stack = [`${error}: ${message}`, stack, ...below]
    .filter((part) => part !== undefined)
    .join('\n');
  // The log asks for the class of an error first, and for its name where there is none.
  return Object.defineProperties(logged, {
    name: { value: error },
    constructor: { value: undefined },
  });
}
