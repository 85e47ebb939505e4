import type { StudioAgent } from '../agent.ts';

/** Labels that stand directly below a namespace, and the number of the next ones; undefined where there are none. */
export type LabelsBelow = { labels: string[]; next: number | undefined };

const PAGE = 200;

/** Reads the labels directly below a namespace, from the one of this number on. */
export async function labelsBelow(
  agent: StudioAgent,
  namespace: readonly string[],
  { from, signal }: { from: number; signal: AbortSignal },
): Promise<LabelsBelow> {
  const body = { prefix: namespace, max_depth: namespace.length + 1, limit: PAGE, offset: from };
  const json = await agent.scanned('store/namespaces', { method: 'POST', body, signal });
  const list = await json.child(json.root, 'namespaces', signal);
  const { found } = list === undefined ? { found: [] } : await json.children(list, signal);
  const labels = found.map((node) => json.small(node)).map((one) => (Array.isArray(one) ? (one[namespace.length] as unknown) : undefined));
  return { labels: labels.filter((one) => typeof one === 'string'), next: found.length >= PAGE ? from + PAGE : undefined };
}
