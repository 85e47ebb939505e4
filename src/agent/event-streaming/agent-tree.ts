import { parseEventName } from '../stream/event-name.ts';

/** The graphs of a run as a tree, each with its status. */
export type TreeNode = {
  namespace: string[];
  status: string;
  graph_name: string;
  children?: TreeNode[];
};

/**
 * Returns the tree of a run's graphs. `events` are those published about them so far, in order; `root` stands for a run
 * without any.
 */
export function buildAgentTree(
  events: { event: string; json: string }[],
  root: { status: string; graph_name: string },
): TreeNode {
  const nodes = new Map<string, TreeNode>([['', { namespace: [], ...root }]]);
  for (const { event, json } of events) {
    const { namespace } = parseEventName(event);
    const key = namespace.join('|');
    const { data } = JSON.parse(json) as { data: { event: string; graph_name?: string } };
    const known = nodes.get(key);
    nodes.set(key, {
      namespace,
      status: data.event,
      graph_name: data.graph_name ?? known?.graph_name ?? '',
    });
  }
  // Events of outer graphs come first, so that each graph finds its parent.
  for (const [key, node] of nodes) {
    if (key === '') continue;
    const parent = nodes.get(findParentKey(node.namespace, nodes))!;
    (parent.children ??= []).push(node);
  }
  return nodes.get('')!;
}

function findParentKey(namespace: string[], nodes: Map<string, TreeNode>): string {
  for (let length = namespace.length - 1; length > 0; length -= 1) {
    const key = namespace.slice(0, length).join('|');
    if (nodes.has(key)) return key;
  }
  return '';
}
