import type {
  DeploymentState,
  DeploymentSummary,
} from '../../../schema/platform/deployment/deployment-summary.ts';
import type { IconName } from '../shell/icons.ts';

/* The filters and the order of the list. The address holds them, and they decide which rows are shown. */

/** The states in the order in which somebody wants to see them: trouble first. */
export const STATE_WORDS: Record<DeploymentState, { word: string; icon: IconName; rank: number }> =
  {
    failed: { word: 'Failed', icon: 'cross', rank: 0 },
    unavailable: { word: 'Unavailable', icon: 'alert', rank: 1 },
    rolling_out: { word: 'Rolling out', icon: 'turn', rank: 2 },
    waiting: { word: 'Waiting', icon: 'clock', rank: 3 },
    deleting: { word: 'Deleting', icon: 'minus', rank: 4 },
    serving: { word: 'Serving', icon: 'check', rank: 5 },
    asleep: { word: 'Asleep', icon: 'moon', rank: 6 },
    hibernated: { word: 'Hibernated', icon: 'snow', rank: 7 },
  };
export const STATES = Object.keys(STATE_WORDS) as DeploymentState[];

export const SORT_COLUMNS = ['name', 'state', 'updated_at', 'created_at'] as const;
export type SortColumn = (typeof SORT_COLUMNS)[number];

export type ListFilter = {
  text: string;
  states: DeploymentState[];
  reason: string;
  source: string;
  namespace: string;
  version: string;
  sort: SortColumn;
  isDown: boolean;
};

const isState = (word: string): word is DeploymentState => word in STATE_WORDS;

/** Reads the filters of an address. Words that it does not know count as absent. */
export function parseListFilter(query: URLSearchParams): ListFilter {
  const sort = query.get('sort') ?? 'name';
  const column = SORT_COLUMNS.find((one) => one === sort.replace(/^-/, '')) ?? 'name';
  const getText = (name: string): string => query.get(name) ?? '';
  return {
    text: getText('q'),
    states: query.getAll('state').filter(isState),
    reason: getText('reason'),
    source: getText('source'),
    namespace: getText('namespace'),
    version: getText('version'),
    sort: column,
    isDown: sort.startsWith('-'),
  };
}

/** Returns the address's query of filters. Usual values are left out. */
export function buildFilterQuery(filter: ListFilter): URLSearchParams {
  const query = new URLSearchParams();
  if (filter.text !== '') query.set('q', filter.text);
  for (const state of filter.states) query.append('state', state);
  for (const name of ['reason', 'source', 'namespace', 'version'] as const)
    if (filter[name] !== '') query.set(name, filter[name]);
  if (filter.sort !== 'name' || filter.isDown)
    query.set('sort', `${filter.isDown ? '-' : ''}${filter.sort}`);
  return query;
}

/** Returns the query with which the server gives the first rows of the list. */
export function buildFirstPageQuery(
  filter: ListFilter,
): Record<string, string | string[] | undefined> {
  const toOptional = (text: string): string | undefined => (text === '' ? undefined : text);
  return {
    sort: `${filter.isDown ? '-' : ''}${filter.sort}`,
    name_contains: toOptional(filter.text),
    ...(filter.states.length > 0 && { state: filter.states }),
    reason: toOptional(filter.reason),
    source: toOptional(filter.source),
    namespace: toOptional(filter.namespace),
    image_version: toOptional(filter.version),
  };
}

export type Facets = {
  states: Record<DeploymentState, number>;
  reasons: string[];
  namespaces: string[];
  versions: string[];
};
export type ShownRows = { rows: DeploymentSummary[]; facets: Facets };

/** Returns the rows that pass the filters, in order, and how many there would be in each state. */
export function filterRows(all: Iterable<DeploymentSummary>, filter: ListFilter): ShownRows {
  const states = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<
    DeploymentState,
    number
  >;
  const seen = {
    reasons: new Set<string>(),
    namespaces: new Set<string>(),
    versions: new Set<string>(),
  };
  const text = filter.text.toLowerCase();
  const rows: DeploymentSummary[] = [];
  for (const row of all) {
    seen.namespaces.add(row.namespace);
    if (row.image_version !== null) seen.versions.add(row.image_version);
    if (row.reason !== null && (row.state === 'failed' || row.state === 'unavailable'))
      seen.reasons.add(row.reason);
    if (!isPassing(row, filter, text)) continue;
    states[row.state] += 1;
    if (filter.states.length === 0 || filter.states.includes(row.state)) rows.push(row);
  }
  rows.sort(buildComparator(filter));
  const sortWords = (words: Set<string>): string[] => [...words].sort();
  return {
    rows,
    facets: {
      states,
      reasons: sortWords(seen.reasons),
      namespaces: sortWords(seen.namespaces),
      versions: sortWords(seen.versions),
    },
  };
}

/** Returns whether a row passes all filters but that of the states. */
function isPassing(row: DeploymentSummary, filter: ListFilter, text: string): boolean {
  const is = (wanted: string, value: string | null): boolean => wanted === '' || wanted === value;
  return (
    (text === '' || row.name.includes(text) || hasIn(row, text)) &&
    is(filter.reason, row.reason) &&
    is(filter.source, row.source) &&
    is(filter.namespace, row.namespace) &&
    is(filter.version, row.image_version)
  );
}

/** Image, repository and commit are found by a part of them, too. */
const hasIn = (
  { image_uri, repo_url, repo_commit_sha, id }: DeploymentSummary,
  text: string,
): boolean =>
  [image_uri, repo_url, repo_commit_sha, id].some(
    (one) => one?.toLowerCase().includes(text) === true,
  );

const compareValues = (a: string | number, b: string | number): number =>
  a === b ? 0 : a < b ? -1 : 1;

function buildComparator({
  sort,
  isDown,
}: ListFilter): (a: DeploymentSummary, b: DeploymentSummary) => number {
  const sign = isDown ? -1 : 1;
  if (sort === 'state')
    return (a, b) =>
      sign * compareValues(STATE_WORDS[a.state].rank, STATE_WORDS[b.state].rank) ||
      compareValues(a.name, b.name);
  return (a, b) =>
    sign * compareValues(a[sort], b[sort]) ||
    compareValues(a.name, b.name) ||
    compareValues(a.id, b.id);
}
