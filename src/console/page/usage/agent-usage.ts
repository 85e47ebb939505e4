import type { ApiRequest } from '../api/api-request.ts';
import { formatCsv, readUsageRows, type UsageSumsRow } from './usage-rows.ts';

const DAY_MS = 86_400_000;
/** Rows of a request, and requests of a file. */
const PAGE = 1000;
const MOST_PAGES = 20;
const GROUPS = ['day', 'assistant', 'user', 'model'] as const;
type Group = (typeof GROUPS)[number];
const FILE_FIELDS = ['calls', 'failed', 'unreported', 'unpriced', 'input', 'cache_read', 'output'];

type Door = (path: string, asked: ApiRequest) => Promise<Response>;

/** The usage of a time, by each group. */
export type AgentUsage = Record<Group, UsageSumsRow[]> & { names: Map<string, string> };

/** Reads the usage of models that an agent has recorded in its database. */
export class AgentUsageReader {
  readonly #open: Door;

  constructor(open: Door) {
    this.#open = open;
  }

  /** Returns the usage of the days before and with `today`, of UTC, and the names of assistants. */
  async read(today: string, days: number, signal: AbortSignal): Promise<AgentUsage> {
    const from = buildStart(today, days);
    const [day, assistant, user, model, names] = await Promise.all([
      ...GROUPS.map(async (group) => {
        const query = `from=${from}&group_by=${group}&limit=${PAGE}`;
        const answer = await this.#open(`usage?${query}`, { signal });
        return readUsageRows(await answer.json(), group);
      }),
      this.#readNames(signal),
    ] as const);
    return { day, assistant, user, model, names } as AgentUsage;
  }

  /** Returns each day, assistant, user and model as a table for spreadsheets. */
  async readFile(today: string, days: number, signal: AbortSignal): Promise<string> {
    const rows: (string | number)[][] = [[...GROUPS, ...FILE_FIELDS, 'cost_usd']];
    let offset: number | undefined = 0;
    for (let page = 0; page < MOST_PAGES && offset !== undefined; page += 1) {
      const query = `from=${buildStart(today, days)}&group_by=${GROUPS.join(',')}&limit=${PAGE}&offset=${offset}`;
      const answer = await this.#open(`usage?${query}`, { signal });
      const found: unknown = await answer.json();
      for (const one of Array.isArray(found) ? (found as Record<string, unknown>[]) : [])
        rows.push([...GROUPS, ...FILE_FIELDS, 'cost_usd'].map((field) => toCell(one[field])));
      const next = Number(answer.headers.get('x-pagination-next') ?? NaN);
      offset = Number.isSafeInteger(next) && next > offset ? next : undefined;
    }
    return formatCsv(rows);
  }

  /** Returns the names of assistants by their ids. An agent that lists none has ids alone. */
  async #readNames(signal: AbortSignal): Promise<Map<string, string>> {
    try {
      const body = { limit: PAGE, select: ['assistant_id', 'name'] };
      const answer = await this.#open('assistants/search', { method: 'POST', body, signal });
      const found: unknown = await answer.json();
      const pairs = (Array.isArray(found) ? (found as Record<string, unknown>[]) : []).map(
        ({ assistant_id: id, name }): [string, string] => [toText(id), toText(name)],
      );
      return new Map(pairs.filter(([id, name]) => id !== '' && name !== ''));
    } catch {
      return new Map();
    }
  }
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : '');
const toCell = (value: unknown): string | number =>
  typeof value === 'number' && Number.isFinite(value) ? value : toText(value);

const buildStart = (today: string, days: number): string =>
  new Date(Date.parse(today) - (days - 1) * DAY_MS).toISOString();
