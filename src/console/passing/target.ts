/** Where the requests begin that go on to the control plane, and those that go on to an agent. */
export const PASSED = '/console/api/';
export const PASSED_TO_AGENTS = `${PASSED}agents/`;

/** The parts of the control plane's interface that a page may ask. */
const ASKED = /^\/v[12](?:\/|$)/;
/** Characters of a path that need no escape, and escapes of others. */
const PLAIN = /^[\w.~!$&'()*+,;=:@/%-]*$/;
/** Escapes of a dot, a slash, a backslash and of characters that no name has. */
const HIDING = /%(?:2e|2f|5c|[01][\da-f]|7f)/i;

/**
 * Returns the address at the control plane that a request asks for, with its query; undefined where the path could
 * mean another one to somebody on the way.
 */
export function parsePlaneTarget(url: string): string | undefined {
  if (!url.startsWith(PASSED)) return undefined;
  const asked = parseUnambiguous(url.slice(PASSED.length - 1));
  return asked !== undefined && ASKED.test(asked) ? asked : undefined;
}

/** A request to an agent: the id of its deployment, and the path there, with the query. */
export type AgentTarget = { deploymentId: string; path: string };

const AGENT = /^\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(\/.*)$/i;

/** Returns the agent that a request asks for, and the path there; undefined where the path could mean another one. */
export function parseAgentTarget(url: string): AgentTarget | undefined {
  if (!url.startsWith(PASSED_TO_AGENTS)) return undefined;
  const [, deploymentId = '', path = ''] =
    AGENT.exec(parseUnambiguous(url.slice(PASSED_TO_AGENTS.length - 1)) ?? '') ?? [];
  return path === '' ? undefined : { deploymentId: deploymentId.toLowerCase(), path };
}

/** Returns a path with its query, unless somebody on the way could take it for another one. */
function parseUnambiguous(address: string): string | undefined {
  const [path = '', ...query] = address.split('?');
  const segments = path.split('/').slice(1);
  const isPlain = PLAIN.test(path) && !HIDING.test(path) && !/%(?![\da-f]{2})/i.test(path);
  const stays = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
  if (!isPlain || !stays) return undefined;
  return query.length === 0 ? path : `${path}?${query.join('?')}`;
}

/** Names of Kubernetes, as in addresses of Services. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** A prefix before all paths of a server, as pods report it. */
const PREFIX = /^(?:\/[\w~-][\w.~-]*)*$/;

/** The names that make the address of an agent. A user chooses none of them, nor writes an address. */
type AgentNames = { service: string; namespace: string; mount_prefix: string };

/** Returns the host of an agent and the prefix of its paths; undefined for names that could mean another place. */
export function resolveAgentAddress(
  { service, namespace, mount_prefix: given }: AgentNames,
  domain: string,
): AgentPlaceNamed | undefined {
  const prefix = given.replace(/\/$/, '');
  const isPlain = NAME.test(service) && NAME.test(namespace) && PREFIX.test(prefix);
  return isPlain ? { host: `${service}.${namespace}.svc.${domain}`, prefix } : undefined;
}

export type AgentPlaceNamed = { host: string; prefix: string };

/** The routes of an agent server that only read, though they are asked with a body. Routes of a user's own are none. */
const READING_POSTS = [
  /^\/(?:assistants|threads|runs\/crons)\/(?:search|count)$/,
  /^\/assistants\/[^/]+\/versions$/,
  /^\/threads\/[^/]+\/(?:history|state\/checkpoint|stream\/events)$/,
  /^\/store\/(?:items\/search|namespaces)$/,
];

/** Returns whether a request only reads, as far as its method and path tell. */
export const isReading = (method: string, path: string): boolean =>
  ['GET', 'HEAD'].includes(method) ||
  (method === 'POST' && READING_POSTS.some((one) => one.test(path.split('?')[0] ?? '')));
