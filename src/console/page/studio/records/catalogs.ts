import { toText, type Fields } from '../agent-answers.ts';
import type { IconName } from '../../shell/icons.ts';
import { describeUsage } from '../usage-text.ts';

/* The lists that an agent has besides its threads: how each is asked for, and the columns of its table. */

/** The content of a cell of a table: a text, or a time. A status has a sign. */
export type RecordCell = { text: string; icon?: IconName | undefined } | { time: string };

/** A column of a table. It sees the short fields of a record. */
export type RecordColumn = { head: string; cell: (fields: Fields) => RecordCell };

export type Catalog = {
  /** The name of its records in a sentence: `crons`. */
  things: string;
  path: string;
  /** Fields of a list that is asked for by POST, and those of the address of another one, besides its page. */
  body?: Fields;
  query?: Record<string, string[]>;
  /** The query for an agent server that is older than a field of `query`. */
  olderQuery?: Record<string, string[]>;
  isPaged: boolean;
  /** The field of the answer that has the list; the answer itself is the list without it. */
  within?: string;
  /** The first column names the record. */
  columns: readonly RecordColumn[];
  /** Returns the path of a whole record, where the list has only a part of it. */
  whole?: (fields: Fields) => string;
  /** Parts of a record that are shown besides it, by their headings. */
  parts?: Readonly<Record<string, readonly string[]>>;
};

const formatShort = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};
const readNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

const buildTextColumn = (head: string, name: string): RecordColumn => ({
  head,
  cell: (fields) => ({ text: formatShort(fields[name]) }),
});
const buildTimeColumn = (head: string, name: string): RecordColumn => ({
  head,
  cell: (fields) => ({
    time: Number.isNaN(Date.parse(toText(fields[name]))) ? '' : toText(fields[name]),
  }),
});
const buildPath = (...parts: string[]): string => parts.map(encodeURIComponent).join('/');

export const assistantCatalog: Catalog = {
  things: 'assistants',
  path: 'assistants/search',
  body: { sort_by: 'updated_at', sort_order: 'desc' },
  isPaged: true,
  columns: [
    buildTextColumn('Assistant', 'name'),
    buildTextColumn('Graph', 'graph_id'),
    buildTextColumn('Version', 'version'),
    buildTimeColumn('Changed', 'updated_at'),
    buildTextColumn('Id', 'assistant_id'),
  ],
};

/** Returns the list of an assistant's versions. */
export const buildVersionCatalog = (assistant: string): Catalog => ({
  things: 'versions of assistants',
  path: buildPath('assistants', assistant, 'versions'),
  body: {},
  isPaged: true,
  columns: [
    buildTextColumn('Version', 'version'),
    buildTextColumn('Graph', 'graph_id'),
    buildTextColumn('Name', 'name'),
    buildTimeColumn('Made', 'created_at'),
  ],
});

const buildNextTimeCell = (fields: Fields): RecordCell => {
  if (fields['enabled'] === false) return { text: 'It rests' };
  const next = buildTimeColumn('', 'next_run_date').cell(fields);
  return 'time' in next && next.time !== '' ? next : { text: 'Never again' };
};

export const cronCatalog: Catalog = {
  things: 'crons',
  path: 'runs/crons/search',
  body: { sort_by: 'next_run_date', sort_order: 'asc' },
  isPaged: true,
  columns: [
    buildTextColumn('Schedule', 'schedule'),
    { head: 'Zone', cell: ({ timezone }) => ({ text: toText(timezone) || 'UTC' }) },
    { head: 'Next', cell: buildNextTimeCell },
    buildTimeColumn('Ends', 'end_time'),
    buildTextColumn('Assistant', 'assistant_id'),
    {
      head: 'Thread',
      cell: ({ thread_id: id }) => ({ text: toText(id) || 'A new one each time' }),
    },
  ],
};

/** Returns the list of items below a namespace. `query` searches by meaning, `filter` by fields of the values. */
export const buildItemCatalog = (
  namespace: string[],
  { query, filter }: { query: string; filter: Fields },
): Catalog => ({
  things: 'a store',
  path: 'store/items/search',
  body: { namespace_prefix: namespace, filter, ...(query !== '' && { query }) },
  isPaged: true,
  within: 'items',
  columns: [
    buildTextColumn('Key', 'key'),
    {
      head: 'Namespace',
      cell: ({ namespace: labels }) => ({
        text: Array.isArray(labels) ? labels.map(formatShort).join(' › ') : '',
      }),
    },
    ...(query === '' ? [] : [buildTextColumn('Nearness', 'score')]),
    buildTimeColumn('Changed', 'updated_at'),
  ],
});

/** Returns how the delivery of a run's end stands, as a sentence. */
export function describeWebhook(status: unknown): string {
  if (typeof status !== 'object' || status === null) return '';
  const { state, attempts, last_error: error } = status as Fields;
  const count = readNumber(attempts) ?? 0;
  const after = count === 0 ? '' : ` after ${count} ${count === 1 ? 'attempt' : 'attempts'}`;
  return `${toText(state)}${after}${toText(error) === '' ? '' : `: ${toText(error)}`}`;
}

const STATUS_ICONS = new Map<string, IconName>([
  ['success', 'check'],
  ['error', 'cross'],
  ['timeout', 'clock'],
  ['interrupted', 'person'],
  ['pending', 'clock'],
  ['running', 'turn'],
]);

const RUN_FIELDS = [
  'run_id',
  'status',
  'created_at',
  'updated_at',
  'assistant_id',
  'multitask_strategy',
  'webhook_status',
];

/** Returns the list of a thread's runs. */
export const runCatalog = (thread: string): Catalog => ({
  things: 'runs',
  path: buildPath('threads', thread, 'runs'),
  query: { select: [...RUN_FIELDS, 'attempt', 'revision', 'usage'] },
  olderQuery: { select: RUN_FIELDS },
  isPaged: true,
  columns: [
    buildTextColumn('Run', 'run_id'),
    {
      head: 'Status',
      cell: ({ status }) => ({ text: formatShort(status), icon: STATUS_ICONS.get(toText(status)) }),
    },
    buildTimeColumn('Begun', 'created_at'),
    buildTimeColumn('Changed', 'updated_at'),
    buildTextColumn('Assistant', 'assistant_id'),
    buildTextColumn('Attempts', 'attempt'),
    buildTextColumn('Revision', 'revision'),
    { head: 'Tokens', cell: ({ usage }) => ({ text: describeUsage(usage) }) },
    { head: 'Webhook', cell: ({ webhook_status: status }) => ({ text: describeWebhook(status) }) },
  ],
  whole: ({ run_id: id }) => buildPath('threads', thread, 'runs', toText(id)),
  parts: {
    'Version of the assistant': ['kwargs', 'assistant_version'],
    'Config that it used': ['kwargs', 'config'],
    'Context that it used': ['kwargs', 'context'],
    'Its place in a trace': ['kwargs', 'trace'],
  },
});

/** Returns the list of opinions about a run. */
export const buildFeedbackCatalog = (thread: string, run: string): Catalog => ({
  things: 'feedback',
  path: buildPath('threads', thread, 'runs', run, 'feedback'),
  query: {},
  isPaged: false,
  columns: [
    buildTextColumn('Key', 'key'),
    buildTextColumn('Score', 'score'),
    buildTextColumn('Value', 'value'),
    buildTextColumn('Comment', 'comment'),
    buildTimeColumn('Given', 'given_at'),
  ],
});

/** A part of the room that a thread takes: how many there are, and their bytes. */
export type StoredPart = { name: string; count: number; bytes: number };

/** Returns the parts of the room that a thread takes in the database, the largest first. */
export function listStoredParts(answer: unknown): StoredPart[] {
  const readFieldsAt = (value: unknown, name: string): Fields => {
    const found: unknown =
      typeof value === 'object' && value !== null
        ? Object.entries(value).find(([key]) => key === name)?.[1]
        : undefined;
    return typeof found === 'object' && found !== null ? { ...found } : {};
  };
  const toStoredPart = (name: string, size: unknown): StoredPart => {
    const { count, bytes } = readFieldsAt({ size }, 'size');
    return { name, count: readNumber(count) ?? 0, bytes: readNumber(bytes) ?? 0 };
  };
  const channels = Object.entries(
    readFieldsAt(readFieldsAt(answer, 'channel_values'), 'by_channel'),
  );
  return [
    toStoredPart('Checkpoints', readFieldsAt(answer, 'checkpoints')),
    toStoredPart('Writes of steps', readFieldsAt(answer, 'pending_writes')),
    ...channels.map(([name, size]) => toStoredPart(`Values of ${name}`, size)),
  ].toSorted((one, other) => other.bytes - one.bytes);
}
