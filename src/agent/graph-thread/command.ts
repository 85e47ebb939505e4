import { Command, Send } from '@langchain/langgraph';

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
