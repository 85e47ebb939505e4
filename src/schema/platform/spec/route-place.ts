/*
 * Hosts and paths of routes: their form, and the patterns by which an installation gives each deployment its own.
 */

/** The kinds of objects that lead callers from outside to a deployment. */
export const ROUTE_KINDS = ['HTTPRoute', 'Ingress'] as const;
export type RouteKind = (typeof ROUTE_KINDS)[number];

const LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';
/** The form of a host: no wildcard and no port. */
export const HOST_NAME = `^${LABEL}([.]${LABEL})*$`;
/** The form of a path: `/`, or steps without a slash at the end. No step begins with a dot. */
export const ROUTE_PATH = '^(/|(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+)$';
const PATH_PATTERN = '^(/|(/[{}A-Za-z0-9_~-][{}A-Za-z0-9._~-]*)+)$';
/** The form of a host that a Listener names. `*` stands for one label, as in a certificate. */
export const GRANTED_HOST = `^([*][.])?${LABEL}([.]${LABEL})*$`;

const MOST_OF_HOST = 253;
const MOST_OF_LABEL = 63;
const HOST = new RegExp(HOST_NAME);
const PATH = new RegExp(PATH_PATTERN);

/** Returns why the text is no host of a route, or undefined if it is one. */
export function checkRouteHost(host: string): string | undefined {
  if (host.length > MOST_OF_HOST) return `${host} is longer than ${MOST_OF_HOST} characters`;
  const long = host.split('.').find((label) => label.length > MOST_OF_LABEL);
  if (long !== undefined) return `${long} of ${host} is longer than ${MOST_OF_LABEL} characters`;
  if (/(^|[.])\d+$/.test(host)) return `${host} is an address`;
  return HOST.test(host) ? undefined : `${host} is not a host name`;
}

/** Returns the pattern with the names of a deployment in their places. */
export const expandRoutePattern = (
  pattern: string,
  { name, namespace }: { name: string; namespace: string },
): string => pattern.replaceAll('{name}', name).replaceAll('{namespace}', namespace);

export type PlacePatterns = { host: string; path: string };

/** Two namespaces of which a pattern without a separator may take the one for an end of the other's. */
const LIKE_ENDS = ['team', 'prod-team'] as const;

/**
 * Returns two namespaces whose deployments a pattern can give the same text; undefined if no two can have one. No
 * namespaces means any. Names and namespaces hold `-`, so `chat-prod` of `team` and `chat` of `prod-team` meet in
 * `{name}-{namespace}`; a dot, a slash or an underscore between them keeps them apart.
 */
function findMeeting(
  pattern: string,
  namespaces: readonly string[],
): readonly [string, string] | undefined {
  const parts = pattern.split(/[^a-z0-9{}-]+/).filter((part) => part.includes('{'));
  const joint = parts.filter((part) => part.includes('{name}') && part.includes('{namespace}'));
  // A part with one of the names tells it, and the other follows from it.
  if (joint.length < parts.length || joint.length === 0) return undefined;
  if (namespaces.length === 0) return LIKE_ENDS;
  const splitAtName = (part: string, namespace: string): [string, string] => {
    const around = part.replaceAll('{namespace}', namespace).split('{name}');
    return [around[0]!, around.at(-1)!];
  };
  const mayMeet = (one: string, other: string): boolean =>
    joint.every((part) => {
      const [[before, behind], [before2, behind2]] = [
        splitAtName(part, one),
        splitAtName(part, other),
      ];
      const isSameStart = before.startsWith(before2) || before2.startsWith(before);
      return isSameStart && (behind.endsWith(behind2) || behind2.endsWith(behind));
    });
  const distinct = [...new Set(namespaces)];
  for (const [index, one] of distinct.entries()) {
    const other = distinct.slice(index + 1).find((candidate) => mayMeet(one, candidate));
    if (other !== undefined) return [one, other];
  }
  return undefined;
}

const hasOne = (namespaces: readonly string[]): boolean => new Set(namespaces).size === 1;
const hasAllNames = (pattern: string, namespaces: readonly string[]): boolean =>
  pattern.includes('{name}') && (hasOne(namespaces) || pattern.includes('{namespace}'));

/** Returns true if the pattern gives each deployment of the namespaces another text. One namespace needs no name. */
export const isUniquePattern = (pattern: string, namespaces: readonly string[]): boolean =>
  hasAllNames(pattern, namespaces) &&
  (hasOne(namespaces) || findMeeting(pattern, namespaces) === undefined);

/**
 * Returns the faults of the patterns, each as the end of a sentence that begins with the name of the setting. No
 * namespaces means any.
 */
export function checkRoutePatterns(
  { host, path }: PlacePatterns,
  namespaces: readonly string[],
): string[] {
  if (host === '') return ['needs a host, such as {name}.{namespace}.agents.example.com'];
  const shortest = { name: 'a', namespace: 'a' };
  const fault = checkRouteHost(expandRoutePattern(host, shortest));
  const place = `${host}${path}`;
  const needed = hasOne(namespaces) ? '{name}' : '{name} and {namespace}';
  const meeting =
    hasAllNames(place, namespaces) && !hasOne(namespaces)
      ? findMeeting(place, namespaces)
      : undefined;
  return [
    ...(fault === undefined ? [] : [`has the host ${host}: ${fault}`]),
    ...(PATH.test(path) && new RegExp(ROUTE_PATH).test(expandRoutePattern(path, shortest))
      ? []
      : [`has the path ${path}, which is none`]),
    ...(hasAllNames(place, namespaces)
      ? []
      : [`gives two deployments the place ${place}: host and path need ${needed}`]),
    ...(meeting === undefined
      ? []
      : [
          `can give deployments of ${meeting[0]} and ${meeting[1]} the same place by ${place}: put a dot between the names, as in ` +
            `{name}.{namespace}.agents.example.com, or list namespaces none of which is the end or the beginning of another`,
        ]),
  ];
}

/** Returns true if one of the patterns of a Listener stands for the host. */
export const isGranted = (host: string, granted: readonly string[]): boolean =>
  granted.some(
    (one) =>
      one === host ||
      (one.startsWith('*.') &&
        host.slice(host.indexOf('.') + 1) === one.slice(2) &&
        host.includes('.')),
  );

/** Returns the first of the hosts that is this one, or covers it, or is covered by it. */
export const findOverlap = (host: string, others: readonly string[]): string | undefined =>
  others.find((other) => isGranted(host, [other]) || isGranted(other, [host]));

/** Returns true if the pattern of hosts gives some deployment this host, or one for which its label `*` stands. */
export function isByPattern(host: string, pattern: string): boolean {
  const stripFirstLabel = (name: string): string => name.slice(name.indexOf('.') + 1);
  const [asked, given] = host.startsWith('*.')
    ? [stripFirstLabel(host), stripFirstLabel(pattern)]
    : [host, pattern];
  const parts = given.split(/\{name\}|\{namespace\}/).map((text) => text.replaceAll('.', '[.]'));
  return new RegExp(`^${parts.join('[a-z0-9-]+')}$`).test(asked);
}

/** Where callers reach a deployment from outside. */
export type RoutePlace = { host: string; path: string };

/** The parts of an address that a route does not have. */
const NOT_ROUTED: readonly (readonly [RegExp, string])[] = [
  [/^[^/]*\/\/[^/]*@/, 'has a user'],
  [/^[^/]*\/\/[^/?#]*:\d*([/?#]|$)/, 'has a port'],
  [/\?/, 'has a query'],
  [/#/, 'has a fragment'],
];

/** Returns the host and the path of an address, or why no route can have them. */
export function parseRoutePlace(address: string): RoutePlace | { fault: string } {
  const wrong = NOT_ROUTED.find(([pattern]) => pattern.test(address))?.[1];
  if (wrong !== undefined) return { fault: `${address} ${wrong}` };
  if (!URL.canParse(address)) return { fault: `${address} is no address` };
  const { hostname, pathname } = new URL(address);
  const fault = checkRouteHost(hostname);
  if (fault !== undefined) return { fault };
  const path = pathname.replace(/\/+$/, '') || '/';
  return new RegExp(ROUTE_PATH).test(path)
    ? { host: hostname, path }
    : { fault: `${address} has a path that no route can have` };
}
