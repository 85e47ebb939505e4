import { isIPv6 } from 'node:net';
import { listPeerPods, isSelected } from './selectors.ts';
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
type Side = { pod: Pod; direction: Direction; world: World };

/** Returns the text that `nft -f` reads. It replaces the whole table at once. */
export function formatRuleset(world: World): string {
  const chains = (['egress', 'ingress'] as const).flatMap((direction) =>
    buildChains(direction, world),
  );
  return [
    `add table inet ${TABLE}`,
    `delete table inet ${TABLE}`,
    `table inet ${TABLE} {`,
    ...chains,
    ...HOOKS,
    '}',
    '',
  ].join('\n');
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
function buildChains(direction: Direction, world: World): string[] {
  const isolated = world.pods.flatMap((pod) => {
    const policies = world.policies.filter((policy) => isPolicyFor(policy, pod, direction));
    return policies.length === 0 ? [] : [{ pod, policies }];
  });
  const own = direction === 'egress' ? 'saddr' : 'daddr';
  const chains = isolated.flatMap(({ pod, policies }, index) => [
    `  chain ${direction}-${index} {`,
    ...listAdmitted({ pod, direction, world }, policies).map((match) => `    ${match} return`),
    `    meta l4proto tcp reject with tcp reset comment "${`${pod.namespace}/${pod.name}`.slice(0, COMMENT)}"`,
    '    reject with icmpx type admin-prohibited',
    '  }',
  ]);
  const jumps = isolated.flatMap(({ pod }, index) =>
    pod.addresses.map(
      (address) => `    ${getFamily(address)} ${own} ${address} jump ${direction}-${index}`,
    ),
  );
  return [...chains, `  chain ${direction} {`, ...jumps, '  }'];
}

function isPolicyFor({ namespace, spec }: Policy, pod: Pod, direction: Direction): boolean {
  const types = spec.policyTypes ?? ['Ingress', ...(spec.egress === undefined ? [] : ['Egress'])];
  return (
    namespace === pod.namespace &&
    types.includes(NAMES[direction]) &&
    isSelected(spec.podSelector ?? {}, pod.labels)
  );
}

const NAMES = { ingress: 'Ingress', egress: 'Egress' } as const;

/** A condition on a packet. One on an address is about its family alone. */
type Match = { text: string; family?: 'ip' | 'ip6' };

const ANYBODY: Match = { text: '' };

/** Returns both conditions as one, unless no packet has both. */
const mergeMatches = (one: Match, other: Match): Match[] =>
  one.family !== undefined && other.family !== undefined && one.family !== other.family
    ? []
    : [{ ...one, ...other, text: [one.text, other.text].filter(Boolean).join(' ') }];

/** Returns the conditions that admit a connection: one for each way in which a rule of a policy may do it. */
function listAdmitted(side: Side, policies: Policy[]): string[] {
  // No policy keeps a pod from itself. Through a Service it reaches itself by way of the node.
  const itself = side.pod.addresses.map((address) => buildAddressMatch(side.direction, address));
  const matches = policies.flatMap((policy) =>
    listRules(policy, side.direction).flatMap(({ peers, ports }) =>
      buildPeerMatches(side, policy, peers).flatMap((peer) =>
        buildPortMatches(side, ports).flatMap((port) => mergeMatches(peer, port)),
      ),
    ),
  );
  return [...new Set([...itself, ...matches].map(({ text }) => text))];
}

const listRules = ({ spec }: Policy, direction: Direction): Rule[] =>
  direction === 'ingress'
    ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
    : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));

/** Returns a condition for each peer and family of addresses. A rule without peers is about everybody. */
function buildPeerMatches(
  { direction, world }: Side,
  { namespace }: Policy,
  peers: Peer[] | undefined,
): Match[] {
  if (peers === undefined || peers.length === 0) return [ANYBODY];
  return peers.flatMap((peer) => {
    if (peer.ipBlock === undefined)
      return groupByFamily(listPeerPods(peer, namespace, world)).map((addresses) =>
        buildAddressMatch(direction, `{ ${addresses.join(', ')} }`),
      );
    const { cidr, except = [] } = peer.ipBlock;
    return except.reduce<Match[]>(
      (matches, part) =>
        matches.flatMap((match) => mergeMatches(match, buildAddressMatch(direction, `!= ${part}`))),
      [buildAddressMatch(direction, cidr)],
    );
  });
}

/** Returns the addresses of IPv4 and those of IPv6, as far as there are any. */
function groupByFamily(pods: Pod[]): string[][] {
  const addresses = pods.flatMap((pod) => pod.addresses);
  return [addresses.filter((address) => !isIPv6(address)), addresses.filter(isIPv6)].filter(
    (some) => some.length > 0,
  );
}

/** Returns the condition on the other side's address: one, several in braces, or all but some (`!= 10.0.0.0/8`). */
function buildAddressMatch(direction: Direction, addresses: string): Match {
  const family = getFamily(addresses);
  return { family, text: `${family} ${direction === 'egress' ? 'daddr' : 'saddr'} ${addresses}` };
}

const getFamily = (addresses: string): 'ip' | 'ip6' => (addresses.includes(':') ? 'ip6' : 'ip');

/** Returns a condition for each port. A rule without ports is about all ports of all protocols. */
function buildPortMatches(side: Side, ports: PolicyPort[] | undefined): Match[] {
  return ports === undefined || ports.length === 0
    ? [ANYBODY]
    : ports.flatMap((port) => buildPortMatch(side, port));
}

function buildPortMatch(side: Side, { protocol = 'TCP', port, endPort }: PolicyPort): Match[] {
  const word = protocol.toLowerCase();
  const to = (ports: number | string): Match => ({ text: `${word} dport ${ports}` });
  if (port === undefined) return [{ text: `meta l4proto ${word}` }];
  if (typeof port === 'number') return [to(endPort === undefined ? port : `${port}-${endPort}`)];
  // The name of a port means the port that the listening pod calls so.
  const isNamed = (named: NamedPort): boolean => named.name === port && named.protocol === protocol;
  if (side.direction === 'ingress')
    return side.pod.ports.filter(isNamed).map((named) => to(named.port));
  return side.world.pods.flatMap((pod) =>
    pod.ports
      .filter(isNamed)
      .flatMap((named) =>
        pod.addresses.flatMap((address) =>
          mergeMatches(buildAddressMatch('egress', address), to(named.port)),
        ),
      ),
  );
}
