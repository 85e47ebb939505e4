import { isIP } from 'node:net';
import { addressBlocks, checkedBlocks } from './address-blocks.ts';
import type { SettingsReader } from './env.ts';
import { isComposite } from '../schema/json.ts';

/** Callers and targets of agents, where a deployment names none itself. */
export type AgentNetwork = {
  /** Unset: open where agents have node ports, because their clients come from anywhere. */
  ingress?: 'Namespace' | 'Open';
  egress: 'Limited' | 'Open';
  /** Peers, as a NetworkPolicy writes them, that reach all agents. */
  gateways: object[];
  /** Address blocks that agents do not reach. */
  blocked: string[];
  /** Addresses of the API server. None: the operator finds them in the cluster. */
  apiServer: string[];
};

/** Where clouds keep credentials of their machines: the link-local addresses, and those of Amazon in IPv6. */
const METADATA = ['169.254.0.0/16', 'fd00:ec2::/32'];

/** Reads the settings of the agents' network. */
export function agentNetwork(read: SettingsReader): AgentNetwork {
  const ingress = read.oneOf(['GX_AGENT_INGRESS'], 'usual', ['namespace', 'open', 'usual']);
  const blocked = read.words(['GX_AGENT_BLOCKED']);
  return {
    ...(ingress !== 'usual' && { ingress: ingress === 'open' ? 'Open' : 'Namespace' }),
    egress: read.oneOf(['GX_AGENT_EGRESS'], 'limited', ['limited', 'open']) === 'open' ? 'Open' : 'Limited',
    gateways: gateways(read),
    blocked: [...checkedBlocks(read, 'GX_AGENT_BLOCKED', blocked.length === 0 ? METADATA : blocked), ...serviceOfApiServer(read)],
    apiServer: addressBlocks(read, 'GX_API_SERVER_ADDRESSES'),
  };
}

/** Some networks look at the address of a Service before it becomes that of a pod. It may also be a name. */
function serviceOfApiServer(read: SettingsReader): string[] {
  const host = read.optional(['KUBERNETES_SERVICE_HOST']) ?? '';
  return isIP(host) === 0 ? [] : [host];
}

function gateways(read: SettingsReader): object[] {
  const value = read.json(['GX_AGENT_GATEWAYS']) ?? [];
  const isPeer = (peer: unknown): peer is object =>
    isComposite(peer) && Object.keys(peer).length > 0 && Object.keys(peer).every((key) => PEER.includes(key));
  if (Array.isArray(value) && value.every(isPeer)) return value;
  read.problem(`GX_AGENT_GATEWAYS must be a list of peers in JSON, each with ${PEER.join(', ')}`);
  return [];
}

/** The fields of a NetworkPolicy's peer. */
const PEER = ['podSelector', 'namespaceSelector', 'ipBlock'];
