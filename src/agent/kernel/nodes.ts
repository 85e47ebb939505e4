import { Invalid } from '../../errors.ts';
import { type Json, isComposite } from '../../schema/json.ts';

/*
 * This file checks the nodes that a call names. LangGraph silently ignores a goal that its graph does not have; here it
 * is refused. A stop at such a node is ignored, as clients expect, because one list of stops serves several graphs.
 */

/** The part of a call that names goals, as it is sent and as it is stored. */
type Call = { command?: Json | null };

/**
 * LangGraph's own nodes. A graph is entered at the first, and nothing can go to it. A graph is left at the second, and
 * nothing stops before it.
 */
const START = '__start__';
const END = '__end__';

/**
 * Returns node names as LangGraph takes them: all, some, or none. It knows `'*'` only by itself: in a list it would be
 * a node's name.
 */
export const toNodeSelection = (
  nodes: '*' | string[] | null | undefined,
): '*' | string[] | null => {
  if (nodes?.includes('*') === true) return '*';
  return nodes && nodes.length > 0 ? nodes : null;
};

const isSend = (target: unknown): target is { node: unknown } =>
  isComposite(target) && 'node' in target;

/** Returns the first node that a call goes to and a graph of these nodes does not have. */
export function findUnknownNode({ command }: Call, nodes: string[]): string | undefined {
  const targets = [command?.['goto'] ?? []].flat() as unknown[];
  const goals = targets.map((target) => String(isSend(target) ? target.node : target));
  return goals.find((goal) => goal !== END && (goal === START || !nodes.includes(goal)));
}

/**
 * Throws `Invalid` when the call goes to a node that the graph lacks. Where the nodes are not known (undefined), the
 * run checks this when it begins.
 */
export function checkNodes(call: Call, nodes: string[] | undefined): void {
  const unknown = nodes && findUnknownNode(call, nodes);
  if (unknown === undefined) return;
  throw new Invalid([
    {
      loc: ['body', 'command', 'goto'],
      msg: describeUnknownNode(unknown, nodes!),
      type: 'value_error',
    },
  ]);
}

/** A run fails with this when its graph, which a function makes for each call, lacks the node that the call goes to. */
export class UnknownNode extends Error {
  override name = 'UnknownNode';

  constructor(unknown: string, nodes: string[]) {
    super(`command.goto: ${describeUnknownNode(unknown, nodes)}`);
  }
}

const describeUnknownNode = (node: string, nodes: string[]): string =>
  `the graph has no node "${node}"; it has ${nodes.filter((name) => name !== START).join(', ')}`;
