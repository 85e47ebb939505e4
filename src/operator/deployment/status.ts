import type { OperatorSettings } from '../../config/operator.ts';
import {
  DATABASE_READY,
  FIELDS_WITHOUT_EFFECT,
  HIBERNATED,
  READY,
  SCALED_TO_ZERO,
  SERVING,
  UNAUTHENTICATED,
  VOLUME_HAS_ROOM,
} from '../../schema/conditions.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import type { DeploymentStatus } from '../../schema/deployment.ts';
import { RECONCILE_NOW } from '../../schema/labels.ts';
import { names } from '../../schema/names.ts';
import { newestFirst } from '../../schema/revision-of.ts';
import { conditionIn } from '../kernel/conditions.ts';
import { noLaterThan, settled, stalled, UNDER_WAY, waiting, type Outcome, type Report, type Statement } from '../kernel/outcome.ts';
import { seenTemplate } from '../pods/settled-template.ts';
import { availableReplicas, replicasOf } from '../pods/workload-state.ts';
import { replicasWanted } from '../revision/objects/sizes.ts';
import { databaseStatement, PODLESS } from '../database/ready.ts';
import type { PasswordState } from '../database/own/credentials/rotate.ts';
import type { DeploymentWorld } from './observe.ts';
import { isEnded } from './history.ts';
import { roomOf } from '../database/own/fullness.ts';
import { isAsleep } from '../database/own/hibernate.ts';
import { urlOf } from './service.ts';
import { fieldsWithoutEffect } from './without-effect.ts';

export type DeploymentStatusFields = NonNullable<DeploymentResource['status']>;

export type DeploymentView = {
  world: DeploymentWorld;
  active: string | undefined;
  trouble?: Outcome | undefined;
  growth?: Statement | undefined;
  password?: PasswordState;
  /** The set of the own database as it is by now. */
  database?: KubeObject | undefined;
  /** Of the own database, where it was looked after. */
  certificate?: { until?: string } | undefined;
  now: Date;
};

/** Characters of a message. */
const MOST = 4096;

/** Observed objects -> status, conditions and outcome of a deployment (pure). */
export function deploymentReport(
  deployment: DeploymentResource,
  { world, active, trouble, growth, password, database: set, certificate, now }: DeploymentView,
  settings: OperatorSettings,
): Report<DeploymentStatusFields> {
  const newest = newestFirst(world.revisions)[0];
  const hibernates = deployment.spec.hibernate === true;
  const database = databaseStatement(deployment, world, { settings, now, active, secret: password?.secret });
  const serving = servingStatement(world, { active, hibernates, settings });
  const seen = {
    newest,
    active,
    database,
    serving,
    hibernates,
    asleep: isAsleep(world),
    before: deployment.status?.phase,
    poll: pollOf(deployment, world),
  };
  const outcome = trouble ?? stillRotating(outcomeOf(seen), password?.rotation);
  const room = roomOf(deployment, world.databasePods, now);
  const handled = deployment.metadata.annotations?.[RECONCILE_NOW];
  return {
    outcome: noLaterThan(outcome, room.again),
    statements: [
      database,
      serving,
      UNGUARDED,
      ...[room.statement, growth, password?.rotation, password?.separation?.statement].flatMap((statement) => statement ?? []),
      ...withoutEffect(fieldsWithoutEffect(deployment, settings)),
    ],
    status: {
      phase: phaseOf(seen),
      url: urlOf(deployment, settings, world.service),
      ...revisionFields(world.revisions, active),
      ...databaseFields(deployment, { set, certificate }, password),
      ...(outcome.kind === 'stalled' && { reason: outcome.reason }),
      message: outcome.message.slice(0, MOST),
      ...(handled !== undefined && { lastHandledReconcileAt: handled.slice(0, 128) }),
    },
  };
}

/** The newest revision, the one that serves, and the version that its pods report. */
function revisionFields(revisions: RevisionResource[], active: string | undefined): DeploymentStatusFields {
  const newest = newestFirst(revisions)[0];
  const serverVersion = revisions.find(({ metadata }) => metadata.name === active)?.status?.serverVersion;
  return {
    ...(newest && { latestRevision: newest.metadata.name }),
    ...(active !== undefined && { activeRevision: active }),
    ...(serverVersion !== undefined && { serverVersion }),
  };
}

/** All else is as asked: what is under way is the password. */
const stillRotating = (outcome: Outcome, rotation: Statement | undefined): Outcome =>
  rotation === undefined || outcome.kind !== 'settled' ? outcome : waiting(rotation.reason, rotation.message);

/** A Secret that is gone or spoilt stays the one that pods were started with. */
function databaseFields(
  { status }: DeploymentResource,
  { set, certificate }: { set: KubeObject | undefined; certificate: { until?: string } | undefined },
  { secret, requestedAt, separation }: PasswordState = { secret: undefined },
): DeploymentStatusFields {
  const { databaseSecret, databaseSecretVersion, databaseAdminSecret } = status ?? {};
  const told = secret !== undefined && 'secret' in secret ? secret : { secret: databaseSecret, version: databaseSecretVersion };
  const fields = {
    databaseSecret: told.secret,
    databaseSecretVersion: told.version,
    databaseAdminSecret: separation?.admin ?? databaseAdminSecret,
    databaseTemplate: seenTemplate(set, status?.databaseTemplate),
    databaseCertificateUntil: certificate === undefined ? status?.databaseCertificateUntil : certificate.until,
    passwordRequestedAt: requestedAt,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const SECRET_POLL = 10;

type Seen = {
  newest: RevisionResource | undefined;
  active: string | undefined;
  database: Statement;
  serving: Statement;
  hibernates: boolean;
  asleep: boolean;
  before: DeploymentStatus | undefined;
  /** Seconds: nothing wakes a deployment when the Secret of its external database appears, or why its own has no pod. */
  poll: number | undefined;
};

function pollOf({ spec }: DeploymentResource, { databasePods }: DeploymentWorld): number | undefined {
  if (spec.database?.external !== undefined) return SECRET_POLL;
  return databasePods.length === 0 ? PODLESS + 1 : undefined;
}

function phaseOf({ newest, active, database, serving, hibernates, before }: Seen): DeploymentStatus {
  if (serving.status === 'True') return 'READY';
  if (hibernates || serving.reason === SCALED_TO_ZERO) return 'UNUSED';
  const isWaking = active !== undefined && (before === 'UNUSED' || before === 'AWAITING_DATABASE');
  if (isWaking) return 'AWAITING_DATABASE';
  const isFirstUnderWay = active === undefined && (newest === undefined || !isEnded(newest));
  return isFirstUnderWay || (active === undefined && database.status !== 'True') ? 'AWAITING_DATABASE' : 'UNKNOWN';
}

function outcomeOf({ newest, active, database, serving, hibernates, asleep, poll }: Seen): Outcome {
  if (newest === undefined) return waiting('RevisionMissing', 'The revision is being made.');
  const { name } = newest.metadata;
  const isDeployed = newest.status?.phase === 'DEPLOYED';
  if (isEnded(newest) && !isDeployed) return failed(newest);
  if (hibernates)
    // Of the same pods a workload may tell later than they do.
    return asleep && serving.status !== 'True'
      ? settled('All pods are stopped; the data is kept.', HIBERNATED)
      : waiting('Hibernating', 'The pods are being stopped.');
  if (database.status !== 'True') return waiting(database.reason, database.message, poll);
  if (!isDeployed || active !== name) return rolling(newest);
  return isAsAsked(serving) ? wholeOrNot(newest, serving) : waiting(serving.reason, serving.message);
}

/** Traffic is served while some pods, those of the queue perhaps, are broken: not as asked. */
function wholeOrNot(newest: RevisionResource, serving: Statement): Outcome {
  const trouble = conditionIn(newest, READY);
  return trouble?.status === 'False'
    ? waiting(trouble.reason, `${serving.message} Not all of its pods do well. ${trouble.message}`)
    : settled(serving.message, serving.reason);
}

const isAsAsked = ({ status, reason }: Statement): boolean => status === 'True' || reason === SCALED_TO_ZERO;

/** Without the revision's own words, which change at every step; only what is wrong is repeated here. */
function rolling({ metadata, status }: RevisionResource): Outcome {
  // Here the database is ready: a revision that still says otherwise is about to notice.
  const reason = status?.reason === 'DatabaseNotReady' ? undefined : status?.reason;
  const said = reason === undefined ? '' : ` ${status?.message ?? ''}`;
  return waiting(reason ?? UNDER_WAY, `Revision ${metadata.name} is being rolled out.${said}`);
}

function failed({ metadata, status }: RevisionResource): Outcome {
  const { phase = 'UNKNOWN', reason = phase, message = '' } = status ?? {};
  return stalled(reason, `Revision ${metadata.name} ended as ${phase}. ${message}`.trim());
}

type Asked = { active: string | undefined; hibernates: boolean; settings: OperatorSettings };

function servingStatement({ workloads, revisions }: DeploymentWorld, { active, hibernates, settings }: Asked): Statement {
  if (active === undefined)
    return { type: SERVING, status: 'False', reason: 'NothingDeployed', message: 'No revision has been deployed yet.' };
  const api = workloads.find(({ metadata }) => metadata.name === names.apiWorkload(active));
  if (availableReplicas(api) > 0) return { type: SERVING, status: 'True', reason: 'Serving', message: `Revision ${active} serves.` };
  if (hibernates)
    return { type: SERVING, status: 'False', reason: HIBERNATED, message: `Revision ${active} serves again once the deployment wakes.` };
  const revision = revisions.find(({ metadata }) => metadata.name === active);
  if (revision !== undefined && replicasWanted(revision, 'api', settings) === 0 && replicasOf(api) === 0)
    return {
      type: SERVING,
      status: 'False',
      reason: SCALED_TO_ZERO,
      message: `Revision ${active} has no api pod, as its minScale of 0 asks.`,
    };
  return { type: SERVING, status: 'False', reason: 'NoReplicaAvailable', message: `No api pod of revision ${active} is available.` };
}

/** The operator can't see into the agent, and an agent asks nobody for credentials unless its gx.json says how. */
const UNGUARDED: Statement = {
  type: UNAUTHENTICATED,
  status: 'True',
  reason: 'NoGuardKnown',
  message: 'Whoever reaches the Service may call the agent, unless its gx.json configures auth.',
};

const withoutEffect = (fields: string[]): Statement[] =>
  fields.length === 0
    ? []
    : [
        {
          type: FIELDS_WITHOUT_EFFECT,
          status: 'True',
          reason: 'NotBuiltYet',
          message: `Stored, but the platform does not act on: ${fields.join(', ')}.`,
        },
      ];

/** The API server refused one of the objects: only another spec or setting helps. */
export function refusedDeployment(deployment: DeploymentResource, message: string): Report<DeploymentStatusFields> {
  const { conditions = [], observedGeneration: _, ...status } = deployment.status ?? {};
  const told = `The cluster refuses what the deployment asks for: ${message}`.slice(0, MOST);
  return {
    outcome: stalled('Refused', told),
    status: { ...status, reason: 'Refused', message: told },
    statements: conditions.filter(({ type }) => [DATABASE_READY, SERVING, UNAUTHENTICATED, VOLUME_HAS_ROOM].includes(type)),
  };
}
