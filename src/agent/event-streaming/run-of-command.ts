import { STRATEGIES, type MultitaskStrategy, type RunCreate } from '../../schema/agent/run.ts';
import { CommandError } from './answers.ts';
import { type Json, isObject } from '../../schema/json.ts';

/* This file makes the runs that commands ask for. */

/** The settings that all runs of this protocol share: their thread is made when it is missing. */
const COMMON = { if_not_exists: 'create', stream_resumable: true, stream_subgraphs: true } as const;

/**
 * Returns the run that `run.start` asks for. `waiting` are the interrupts that the thread waits at; a plain input
 * answers them.
 */
export function buildStartedRun(params: Json, waiting: string[]): RunCreate {
  const { assistant_id, input = null } = params;
  if (typeof assistant_id !== 'string' || assistant_id === '')
    throw new CommandError('invalid_argument', 'run.start requires an assistant_id.');
  const shared = {
    ...COMMON,
    assistant_id,
    ...readSettings(params),
    multitask_strategy: readStrategy(params),
  };
  // A fork begins where the client says, whatever the thread waits for now.
  const answers = input !== null && waiting.length > 0 && !isFork(params['config']);
  return answers ? { ...shared, input: null, command: { resume: input } } : { ...shared, input };
}

/** Returns the run that gives one answer, or several together. Throws unless the thread waits for each of them. */
export function buildRespondingRun(
  params: Json,
  { assistant_id, waiting }: { assistant_id: string; waiting: string[] },
): RunCreate {
  const responses = readResponses(params);
  const unknown = [...responses.keys()].find((id) => !waiting.includes(id));
  if (unknown !== undefined)
    throw new CommandError(
      'no_such_interrupt',
      `The thread does not wait at interrupt ${unknown}.`,
    );
  const { update, goto } = params;
  const command: Json = {
    resume: Object.fromEntries(responses),
    ...(update !== undefined && update !== null && { update }),
    ...(goto !== undefined && goto !== null && { goto }),
  };
  // Of two who answer at the same instant, one is heard.
  return {
    ...COMMON,
    assistant_id,
    input: null,
    command,
    strict_resume: true,
    ...readSettings(params),
    multitask_strategy: 'enqueue',
  };
}

function readResponses(params: Json): Map<string, unknown> {
  const entries = Array.isArray(params['responses']) ? params['responses'] : [params];
  const responses = new Map<string, unknown>();
  for (const entry of entries as unknown[]) {
    const id = isObject(entry) ? entry['interrupt_id'] : undefined;
    if (typeof id !== 'string')
      throw new CommandError(
        'invalid_argument',
        'input.respond requires an interrupt_id with each response.',
      );
    responses.set(id, (entry as Json)['response'] ?? null);
  }
  if (responses.size === 0)
    throw new CommandError('invalid_argument', 'input.respond requires at least one response.');
  return responses;
}

const readSettings = ({ config, metadata }: Json): Pick<RunCreate, 'config' | 'metadata'> => ({
  config: isObject(config) ? config : null,
  metadata: isObject(metadata) ? metadata : null,
});

const isFork = (config: unknown): boolean =>
  isObject(config) &&
  isObject(config['configurable']) &&
  typeof config['configurable']['checkpoint_id'] === 'string';

/** Returns the strategy, which clients write either way; the protocol's own spelling takes precedence. */
function readStrategy({ multitask_strategy, multitaskStrategy }: Json): MultitaskStrategy {
  const given = multitask_strategy ?? multitaskStrategy;
  if (given === undefined || given === null) return 'enqueue';
  if (!STRATEGIES.includes(given as MultitaskStrategy))
    throw new CommandError(
      'invalid_argument',
      `multitask_strategy is one of ${STRATEGIES.join(', ')}.`,
    );
  return given as MultitaskStrategy;
}
