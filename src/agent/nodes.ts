import { Invalid } from '../errors.ts';
import type { JsonObject } from '../schema/agent-types.ts';

/* The nodes that a call names. LangGraph passes over names that its graph does not have; here they are refused. */

/** The parts of a call that name nodes, as it is sent and as it is stored. */
type Call = {
  interrupt_before?: '*' | string[] | null;
  interrupt_after?: '*' | string[] | null;
  command?: JsonObject | null;
};

type NamedNode = { field: string; node: string };

/**
 * LangGraph's own nodes. A graph is entered at the first, which nothing can go to, and left at the second, before which
 * nothing stops.
 */
const START = '__start__';
const END = '__end__';

/**
 * Returns node names as LangGraph takes them: all, some, or none. It knows `'*'` only by itself: in a list it would be
 * a node's name.
 */
export const someNodes = (nodes: '*' | string[] | null | undefined): '*' | string[] | null => {
  if (nodes?.includes('*') === true) return '*';
  return nodes && nodes.length > 0 ? nodes : null;
};

/**
 * Returns the first node that a call names and a graph of these nodes does not have. The nodes of a subgraph do not
 * count, because LangGraph.js does not hand the call's stops on to it.
 */
export function unknownNode(call: Call, nodes: string[]): NamedNode | undefined {
  const known = new Set(nodes);
  return named(call).find(({ field, node }) => !known.has(node) || (field === GOTO && node === START));
}

/** Throws `Invalid` for such a node. A graph whose nodes are not known (undefined) is asked when the run begins. */
export function checkNodes(call: Call, nodes: string[] | undefined): void {
  const unknown = nodes && unknownNode(call, nodes);
  if (unknown) throw new Invalid([{ loc: ['body', ...unknown.field.split('.')], msg: sentence(unknown, nodes), type: 'value_error' }]);
}

/** A graph that a function makes for each call has no nodes to know beforehand: its run fails with this. */
export class UnknownNode extends Error {
  override name = 'UnknownNode';

  constructor(unknown: NamedNode, nodes: string[]) {
    super(`${unknown.field}: ${sentence(unknown, nodes)}`);
  }
}

const sentence = ({ node }: NamedNode, nodes: string[]): string =>
  `the graph has no node "${node}"; it has ${nodes.filter((name) => name !== START).join(', ')}`;

const GOTO = 'command.goto';

function named({ interrupt_before, interrupt_after, command }: Call): NamedNode[] {
  const stops = Object.entries({ interrupt_before, interrupt_after }).flatMap(([field, asked]) => {
    const nodes = someNodes(asked);
    return nodes === null || nodes === '*' ? [] : nodes.map((node) => ({ field, node }));
  });
  const targets = [command?.['goto'] ?? []].flat() as (string | { node: string })[];
  const goals = targets.filter((target) => target !== END).map((target) => (typeof target === 'string' ? target : target.node));
  return [...stops, ...goals.map((node) => ({ field: GOTO, node }))];
}
