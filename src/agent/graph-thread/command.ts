import { Command, Send } from '@langchain/langgraph';
import { isComposite } from '../../schema/json.ts';
import type { RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import type { Graph, Snapshot } from './load.ts';

/** Returns a command, as clients write it, in LangGraph's form. */
export function toCommand(command: Record<string, unknown>): Command {
  const { update, resume } = command;
  const goto = [command['goto'] ?? []].flat() as (string | { node: string; input: unknown })[];
  const to = goto.map((target) =>
    typeof target === 'string' ? target : new Send(target.node, target.input),
  );
  return new Command({
    ...(update !== undefined && update !== null && { update: update as Record<string, unknown> }),
    ...(resume !== undefined && { resume }),
    ...(to.length > 0 && { goto: to }),
  });
}

/**
 * Returns the input of the run, or its command. A command that answers questions answers those that still wait; where
 * none does, its content is new input.
 */
export async function resolveInput(
  { kwargs }: RunSpec,
  graph: Graph,
  config: { configurable: Record<string, unknown> },
): Promise<unknown> {
  const { input, command, answers } = kwargs;
  if (command === null) return input ?? null;
  if (answers === undefined) return toCommand(command);
  const { thread_id, __pregel_checkpointer } = config.configurable;
  const state = await graph.getState({
    configurable: { thread_id, checkpoint_ns: '', __pregel_checkpointer },
  });
  return resolveResume({ waiting: listWaitingIds(state), answers }, command);
}

/** Returns the ids of the questions without an answer. One that was answered beside others stays in the state. */
const listWaitingIds = ({ tasks }: Snapshot): string[] =>
  tasks
    .filter((task) => task.result === undefined)
    .flatMap(({ interrupts = [] }) =>
      (interrupts as { id?: string }[]).flatMap(({ id }) => id ?? []),
    );

function resolveResume(
  { waiting, answers }: { waiting: string[]; answers: string[] },
  command: Record<string, unknown>,
): unknown {
  const { resume } = command;
  const open = waiting.filter((id) => answers.includes(id));
  if (open.length === 0) return resume;
  const hasQuestionIds =
    isComposite(resume) && Object.keys(resume).some((key) => waiting.includes(key));
  // Later questions must not get the answer, too.
  const isForSome = open.length < waiting.length && !hasQuestionIds;
  return toCommand(
    isForSome
      ? { ...command, resume: Object.fromEntries(open.map((id) => [id, resume])) }
      : command,
  );
}
