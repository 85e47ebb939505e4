import { isIPv6 } from 'node:net';
import { podsOf, selects } from './selectors.ts';
import type { NamedPort, Peer, Pod, Policy, PolicyPort, World } from './world.ts';

/*
 * Turns NetworkPolicies into rules of nftables. A pod that some policy selects for a direction gets a chain for that
 * direction: a connection returns from it if one rule of one of those policies admits it, and is refused at its end. A
 * connection between two pods passes the first one's chain for egress, then the second one's chain for ingress.
 */

export const TABLE = 'gx_policies';

/** Characters of a comment on a rule. */
const COMMENT = 128;

type Direction = 'egress' | 'ingress';
type Rule = { peers: Peer[] | undefined; ports: PolicyPort[] | undefined };
/** The pod and direction of a chain. */
type Side = { pod: Pod; direction: Direction; world: World };

/** Returns the text that `nft -f` reads. It replaces the whole table at once. */
export function ruleset(world: World): string {
  const chains = (['egress', 'ingress'] as const).flatMap((direction) => chainsOf(direction, world));
  return [`add table inet ${TABLE}`, `delete table inet ${TABLE}`, `table inet ${TABLE} {`, ...chains, ...HOOKS, '}', ''].join('\n');
}

/**
 * Packets that the node sends itself pass neither hook: a kubelet reaches every pod. Packets from a pod to the node, as
 * to an API server there, pass `input`. Routers of IPv6 are found by messages that no policy is about.
 */
const HOOKS = [
  '  chain forward {',
  '    type filter hook forward priority filter; policy accept;',
  '    ct state established,related accept',
  '    jump egress',
  '    jump ingress',
  '  }',
  '  chain input {',
  '    type filter hook input priority filter; policy accept;',
  '    ct state established,related accept',
  '    icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept',
  '    jump egress',
  '  }',
];

/** Returns a chain for each pod that policies select for this direction, and one that leads each pod to its own. */
function chainsOf(direction: Direction, world: World): string[] {
  const isolated = world.pods.flatMap((pod) => {
    const policies = world.policies.filter((policy) => concerns(policy, pod, direction));
    return policies.length === 0 ? [] : [{ pod, policies }];
  });
  const own = direction === 'egress' ? 'saddr' : 'daddr';
  const chains = isolated.flatMap(({ pod, policies }, index) => [
    `  chain ${direction}-${index} {`,
    ...admitted({ pod, direction, world }, policies).map((match) => `    ${match} return`),
    `    meta l4proto tcp reject with tcp reset comment "${`${pod.namespace}/${pod.name}`.slice(0, COMMENT)}"`,
    '    reject with icmpx type admin-prohibited',
    '  }',
  ]);
  const jumps = isolated.flatMap(({ pod }, index) =>
    pod.addresses.map((address) => `    ${familyOf(address)} ${own} ${address} jump ${direction}-${index}`),
  );
  return [...chains, `  chain ${direction} {`, ...jumps, '  }'];
}

function concerns({ namespace, spec }: Policy, pod: Pod, direction: Direction): boolean {
  const types = spec.policyTypes ?? ['Ingress', ...(spec.egress === undefined ? [] : ['Egress'])];
  return namespace === pod.namespace && types.includes(NAMES[direction]) && selects(spec.podSelector ?? {}, pod.labels);
}

const NAMES = { ingress: 'Ingress', egress: 'Egress' } as const;

/** A condition on a packet. One on an address is about its family alone. */
type Match = { text: string; family?: 'ip' | 'ip6' };

const ANYBODY: Match = { text: '' };

/** Returns both conditions as one, unless no packet has both. */
const both = (one: Match, other: Match): Match[] =>
  one.family !== undefined && other.family !== undefined && one.family !== other.family
    ? []
    : [{ ...one, ...other, text: [one.text, other.text].filter(Boolean).join(' ') }];

/** Returns the conditions that admit a connection: one for each way in which a rule of a policy may do it. */
function admitted(side: Side, policies: Policy[]): string[] {
  // No policy keeps a pod from itself. Through a Service it reaches itself by way of the node.
  const itself = side.pod.addresses.map((address) => at(side.direction, address));
  const matches = policies.flatMap((policy) =>
    rulesOf(policy, side.direction).flatMap(({ peers, ports }) =>
      peerMatches(side, policy, peers).flatMap((peer) => portMatches(side, ports).flatMap((port) => both(peer, port))),
    ),
  );
  return [...new Set([...itself, ...matches].map(({ text }) => text))];
}

const rulesOf = ({ spec }: Policy, direction: Direction): Rule[] =>
  direction === 'ingress'
    ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
    : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));

/** Returns a condition for each peer and family of addresses. A rule without peers is about everybody. */
function peerMatches({ direction, world }: Side, { namespace }: Policy, peers: Peer[] | undefined): Match[] {
  if (peers === undefined || peers.length === 0) return [ANYBODY];
  return peers.flatMap((peer) => {
    if (peer.ipBlock === undefined)
      return inFamilies(podsOf(peer, namespace, world)).map((addresses) => at(direction, `{ ${addresses.join(', ')} }`));
    const { cidr, except = [] } = peer.ipBlock;
    return except.reduce<Match[]>(
      (matches, part) => matches.flatMap((match) => both(match, at(direction, `!= ${part}`))),
      [at(direction, cidr)],
    );
  });
}

/** Returns the addresses of IPv4 and those of IPv6, as far as there are any. */
function inFamilies(pods: Pod[]): string[][] {
  const addresses = pods.flatMap((pod) => pod.addresses);
  return [addresses.filter((address) => !isIPv6(address)), addresses.filter(isIPv6)].filter((some) => some.length > 0);
}

/** Returns the condition on the other side's address: one, several in braces, or all but some (`!= 10.0.0.0/8`). */
function at(direction: Direction, addresses: string): Match {
  const family = familyOf(addresses);
  return { family, text: `${family} ${direction === 'egress' ? 'daddr' : 'saddr'} ${addresses}` };
}

const familyOf = (addresses: string): 'ip' | 'ip6' => (addresses.includes(':') ? 'ip6' : 'ip');

/** Returns a condition for each port. A rule without ports is about all ports of all protocols. */
function portMatches(side: Side, ports: PolicyPort[] | undefined): Match[] {
  return ports === undefined || ports.length === 0 ? [ANYBODY] : ports.flatMap((port) => portMatch(side, port));
}

function portMatch(side: Side, { protocol = 'TCP', port, endPort }: PolicyPort): Match[] {
  const word = protocol.toLowerCase();
  const to = (ports: number | string): Match => ({ text: `${word} dport ${ports}` });
  if (port === undefined) return [{ text: `meta l4proto ${word}` }];
  if (typeof port === 'number') return [to(endPort === undefined ? port : `${port}-${endPort}`)];
  // The name of a port means the port that the listening pod calls so.
  const isNamed = (named: NamedPort): boolean => named.name === port && named.protocol === protocol;
  if (side.direction === 'ingress') return side.pod.ports.filter(isNamed).map((named) => to(named.port));
  return side.world.pods.flatMap((pod) =>
    pod.ports.filter(isNamed).flatMap((named) => pod.addresses.flatMap((address) => both(at('egress', address), to(named.port)))),
  );
}
