import type { RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import { commandOf } from './command.ts';
import type { Graph, Snapshot } from './load.ts';
import { isComposite } from '../../schema/json.ts';

/* This file says what a graph is given at the beginning of a run. */

type Config = { configurable: Record<string, unknown> };

/**
 * Returns the input of the run, or its command. A command that answers questions answers those that still wait; where
 * none does, its content is new input.
 */
export async function invokedInput({ kwargs }: RunSpec, graph: Graph, config: Config): Promise<unknown> {
  const { input, command, answers } = kwargs;
  if (command === null) return input ?? null;
  if (answers === undefined) return commandOf(command);
  const { thread_id, __pregel_checkpointer } = config.configurable;
  const state = await graph.getState({ configurable: { thread_id, checkpoint_ns: '', __pregel_checkpointer } });
  return answerTo({ waiting: waitingIn(state), answers }, command);
}

/** Returns the ids of the questions without an answer. One that was answered beside others stays in the state. */
const waitingIn = ({ tasks }: Snapshot): string[] =>
  tasks
    .filter(({ result }) => result === undefined)
    .flatMap(({ interrupts = [] }) => (interrupts as { id?: string }[]).flatMap(({ id }) => id ?? []));

type Questions = { waiting: string[]; answers: string[] };

function answerTo({ waiting, answers }: Questions, command: Record<string, unknown>): unknown {
  const { resume } = command;
  const open = waiting.filter((id) => answers.includes(id));
  if (open.length === 0) return resume;
  // Later questions must not get the answer, too.
  const isForSome = open.length < waiting.length && !namesQuestion(resume, waiting);
  return commandOf(isForSome ? { ...command, resume: Object.fromEntries(open.map((id) => [id, resume])) } : command);
}

/** Returns whether the answer itself says which questions it answers. */
const namesQuestion = (resume: unknown, waiting: string[]): boolean =>
  isComposite(resume) && Object.keys(resume).some((key) => waiting.includes(key));
