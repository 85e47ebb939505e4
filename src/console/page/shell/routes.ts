/* The places of the page and their paths, below its own root. The prefix is not known here, and need not be. */

const PATHS = {
  deployments: '',
  usage: 'usage',
  deployment: 'd/:id',
  compare: 'd/:id/compare/:from/:to',
  logs: 'd/:id/logs',
  objects: 'd/:id/pods',
  buildLog: 'd/:id/revisions/:revision/build',
  deploymentUsage: 'd/:id/usage',
  secrets: 'd/:id/secrets',
  settings: 'd/:id/settings',
  resource: 'd/:id/resource',
  studio: 'd/:id/studio',
  studioPart: 'd/:id/studio/:part',
} as const;

export type PlaceName = keyof typeof PATHS;

type ParametersIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
export type PlaceParameters<Name extends PlaceName> = Record<
  ParametersIn<(typeof PATHS)[Name]>,
  string
>;

export type PagePlace = {
  [Name in PlaceName]: { name: Name; parameters: PlaceParameters<Name> };
}[PlaceName];

export type Located = { tenant: string | undefined; place: PagePlace | undefined };

const splitPath = (path: string): string[] => path.split('/').filter((part) => part !== '');

function matchPattern(
  pattern: string,
  parts: readonly string[],
): Record<string, string> | undefined {
  const names = splitPath(pattern);
  if (names.length !== parts.length) return undefined;
  const found: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? '';
    if (name.startsWith(':')) found[name.slice(1)] = decodePart(part);
    else if (name !== part) return undefined;
  }
  return found;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the place of a path below the root of the page. `place` is undefined where there is none. */
export function parsePagePath(path: string): Located {
  const parts = splitPath(path);
  const tenant = parts[0] === 't' ? parts[1] : undefined;
  const rest = tenant === undefined ? parts : parts.slice(2);
  for (const [name, pattern] of Object.entries(PATHS)) {
    const parameters = matchPattern(pattern, rest);
    if (parameters !== undefined) return { tenant, place: { name, parameters } as PagePlace };
  }
  return { tenant, place: undefined };
}

/** Returns the path of a place, without a slash at its beginning. */
export function buildPagePath<Name extends PlaceName>(
  name: Name,
  parameters: PlaceParameters<Name>,
  tenant?: string,
): string {
  const given = parameters as Record<string, string>;
  const path = splitPath(PATHS[name]).map((part) =>
    part.startsWith(':') ? encodeURIComponent(given[part.slice(1)] ?? '') : part,
  );
  const within = tenant === undefined ? [] : ['t', encodeURIComponent(tenant)];
  // An empty address would be that of the page that is shown.
  return [...within, ...path].join('/') || './';
}
