import { Type, type Static } from 'typebox';
import { RUN_STATUSES } from '../agent/run.ts';
import { MOST_LIVING } from '../platform/rollout/pins.ts';
import { GUARDS } from '../platform/deployment/guards.ts';
import { buildNullableSchema, buildEnumSchema } from '../types.ts';
import { buildRevisionNameSchema } from './rollout-plan.ts';
import { buildCountSchema, MOST_COUNTED, RunCounts, type FlatCounts } from './run-counts.ts';
import { pickUsageFields, ReportedUsage } from './reported-usage.ts';

/*
 * Reports of a deployment's processes about their work. The gateway keeps the last report of each process, and the
 * operator reads them all at once. A process may say more than this one knows, so further fields are passed over.
 */

const buildNextDueSchema = (description: string) =>
  buildNullableSchema(Type.String({ format: 'date-time', maxLength: 40, description }));

/** The work that is pinned to one revision, besides the one that serves. */
export const PinnedWork = Type.Object({
  revision: buildRevisionNameSchema('The Revision that the work is pinned to.'),
  due: buildCountSchema('Threads with a run whose time has come.'),
  running: buildCountSchema('Runs under way.'),
  later: buildCountSchema('Runs whose time has not come.'),
  next_due: buildNextDueSchema('When the next of those is due. Null: none is.'),
  waiting: buildCountSchema('Threads that wait for an answer, or that stay with the revision.'),
});
export type PinnedWork = Static<typeof PinnedWork>;

/** How the queue of the whole deployment stands. */
export const QueueWork = Type.Object({
  due: buildCountSchema('Threads with a run whose time has come and that nothing holds up.'),
  running: buildCountSchema('Runs under way in all workers.'),
  webhooks: buildCountSchema('Ended runs whose webhooks have yet to be sent.'),
  next_due: buildNextDueSchema('When the next delayed run or cron is due. Null: none is.'),
  interrupted: Type.Optional(
    buildCountSchema(
      'Threads that wait for a person to answer, at most 10,000. Absent: not counted.',
    ),
  ),
  archive_lag: Type.Optional(
    buildCountSchema(
      'Seconds since a segment of the log last came to its store. Absent: the log goes to none.',
    ),
  ),
  pinned: Type.Optional(
    Type.Array(PinnedWork, {
      maxItems: MOST_LIVING,
      description: 'By revision. Absent: not counted.',
    }),
  ),
  usage: Type.Optional(ReportedUsage),
});
export type QueueWork = Static<typeof QueueWork>;

/** The form of a path before all others that is reported. The address of a deployment ends with it. */
export const REPORTED_PREFIX = '^/[\\w./~-]{1,200}$';

/** The server of a process: facts that the platform learns nowhere else. */
export const ServerFacts = Type.Object({
  revision: buildRevisionNameSchema('The Revision that it is of.'),
  version: Type.String({
    pattern: '^[\\w.+-]{1,64}$',
    description: 'Version of the agent server.',
  }),
  guard: buildEnumSchema(GUARDS, {
    description: 'The guard that decides who may call: nothing, keys, handlers of gx.json.',
  }),
  mount_prefix: Type.Optional(
    Type.String({
      pattern: REPORTED_PREFIX,
      description: 'The prefix of every path of the server.',
    }),
  ),
});
export type ServerFacts = Static<typeof ServerFacts>;

export const GateReport = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 320, description: 'The gate.' }),
  status: buildEnumSchema(RUN_STATUSES, { description: 'The status of its run.' }),
  message: Type.Optional(
    Type.String({ maxLength: 512, description: 'The run by its ids, or why none could be made.' }),
  ),
});
export type GateReport = Static<typeof GateReport>;

export const WorkReport = Type.Object({
  from: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'The process, by a name of its own.',
  }),
  slots: buildCountSchema('Runs that it takes at a time. 0: it only answers requests.'),
  idle_seconds: Type.Number({
    minimum: 0,
    maximum: 1e9,
    description: 'Time since its last request or, if it began later, its start.',
  }),
  leaves: Type.Optional(
    Type.Boolean({ description: 'True in the last report of a process that stops.' }),
  ),
  queue: Type.Optional(QueueWork),
  server: Type.Optional(ServerFacts),
  gate: Type.Optional(GateReport),
  ended: Type.Optional(
    Type.Array(RunCounts, {
      maxItems: MOST_COUNTED,
      description:
        'Runs that have ended in it since its start, and those under way. Absent: no rollout is under way.',
    }),
  ),
});
export type WorkReport = Static<typeof WorkReport>;

/** Returns the fields of a report that are known here. Further fields of its sender are dropped. */
export function pickReportFields({
  from,
  slots,
  idle_seconds,
  leaves,
  queue,
  server,
  ended,
  gate,
}: WorkReport): WorkReport {
  const stand = queue && {
    due: queue.due,
    running: queue.running,
    webhooks: queue.webhooks,
    next_due: queue.next_due,
    ...(queue.interrupted !== undefined && { interrupted: queue.interrupted }),
    ...(queue.archive_lag !== undefined && { archive_lag: queue.archive_lag }),
    ...(queue.pinned && { pinned: queue.pinned.map(pickWorkFields) }),
    ...(queue.usage && { usage: pickUsageFields(queue.usage) }),
  };
  return {
    from,
    slots,
    idle_seconds,
    ...(leaves !== undefined && { leaves }),
    ...(stand && { queue: stand }),
    ...(server && { server: pickServerFacts(server) }),
    ...(gate && {
      gate: {
        id: gate.id,
        status: gate.status,
        ...(gate.message !== undefined && { message: gate.message }),
      },
    }),
    ...(ended && { ended: ended.map(pickCountFields) }),
  };
}

const pickWorkFields = ({
  revision,
  due,
  running,
  later,
  next_due,
  waiting,
}: PinnedWork): PinnedWork => ({
  revision,
  due,
  running,
  later,
  next_due,
  waiting,
});

const pickCountFields = ({
  revision,
  done,
  errors,
  lost,
  durations,
  waits,
  tokens,
  used,
  ages,
}: RunCounts): RunCounts => ({
  revision,
  done,
  errors,
  lost,
  durations,
  ...(waits && { waits }),
  ...(tokens && { tokens }),
  ...(used !== undefined && { used }),
  ages,
});

const pickServerFacts = ({
  revision,
  version,
  guard,
  mount_prefix: prefix,
}: ServerFacts): ServerFacts => ({
  revision,
  version,
  guard,
  ...(prefix !== undefined && { mount_prefix: prefix }),
});

/** Bytes of the objects of a report, beside its texts. */
const REPORT_OBJECTS = 400;
/** The same of the work that is pinned to one revision. */
const PINNED_OBJECTS = 120;
/** The same of the usage of a day, with its texts. */
const USAGE_OBJECTS = 200;
/** Bytes of a character at most. */
const CHARACTER = 2;

/** Returns how many bytes of memory a report takes, without the counts of its runs. */
export function measureReport({ from, queue, server, gate }: WorkReport): number {
  const texts = [
    from,
    server?.revision,
    server?.version,
    server?.mount_prefix,
    gate?.id,
    gate?.message,
  ];
  const pinned = queue?.pinned ?? [];
  const characters = [
    ...texts,
    ...pinned.flatMap(({ revision, next_due: next }) => [revision, next]),
  ].reduce((sum, text) => sum + (text?.length ?? 0), 0);
  const days = queue?.usage?.length ?? 0;
  return (
    REPORT_OBJECTS + PINNED_OBJECTS * pinned.length + USAGE_OBJECTS * days + CHARACTER * characters
  );
}

/** A report as it is passed on, with its age. `counts`: of the runs of the two revisions that are compared. */
export type KeptReport = Omit<WorkReport, 'ended'> & { age_seconds: number; counts?: FlatCounts[] };

/**
 * The reports that have arrived at a gateway since the cursor of another page, by `namespace/name`. `more`: further
 * ones have arrived, which the next page has.
 */
export type ReportsPage = {
  instance: string;
  cursor: number;
  more: boolean;
  reports: Record<string, KeptReport[]>;
};

/** The answer of a gateway to the operator: a page, and the key by which it signs. An earlier version has none. */
export type ReportsAnswer = ReportsPage & { key?: string };

/** The path at which the operator reads a page, with the last one's instance and cursor. */
export const REPORTS_PATH = '/reports';

/** Seconds between two reports when nothing has changed. */
export const REPORT_EVERY = 30;
/** Seconds after which a report counts no more: its process has missed two. */
export const REPORT_LIFE = 3 * REPORT_EVERY;

/** Processes of one deployment that are known: it has 1,000 pods that answer and 1,000 workers at most. */
export const MOST_PROCESSES = 2000;

/** Returns the path at which the processes of a deployment report, and scalers read their counts. */
export const buildWorkPath = (namespace: string, deployment: string): string =>
  `/v1/deployments/${namespace}/${deployment}/work`;
