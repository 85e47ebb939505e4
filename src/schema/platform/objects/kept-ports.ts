/*
 * The ports that deployments keep for as long as they exist. They stand in one ConfigMap of the platform's own
 * namespace, which the operator alone writes: who else could would have other deployments' requests come to theirs.
 */

export const PORTS_CONFIG_MAP = 'gx-ports';
export const PORTS_KEY = 'ports';

/** `gateway`: where the gateway answers in its place while it sleeps. `node`: the node port of its Service. */
export type KeptPorts = { gateway?: number; node?: number };

const NONE = '-';

/** Returns the text of all kept ports, by the uid of their deployment: a line of some 45 characters for each. */
export const formatKeptPorts = (all: ReadonlyMap<string, KeptPorts>): string =>
  [...all].map(([uid, { gateway = NONE, node = NONE }]) => `${uid} ${gateway} ${node}\n`).join('');

/** Reads such a text. Of two deployments with the same port of the gateway, the first has it. */
export function parseKeptPorts(text: string): Map<string, KeptPorts> {
  const all = new Map<string, KeptPorts>();
  const taken = new Set<number>();
  for (const line of text.split('\n')) {
    const [uid = '', first = NONE, second = NONE] = line.split(' ');
    if (uid === '') continue;
    const [gateway, node] = [first, second]
      .map(Number)
      .map((port) => (Number.isInteger(port) && port > 0 ? port : undefined));
    const isFree = gateway !== undefined && !taken.has(gateway);
    if (isFree) taken.add(gateway);
    all.set(uid, { ...(isFree && { gateway }), ...(node !== undefined && { node }) });
  }
  return all;
}
