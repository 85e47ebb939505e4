import { buildObjectKey, type Cache } from '../../kube/cache.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { isArchived } from '../../schema/platform/backup/backup-spec.ts';
import { COMPONENT, DEPLOYMENT } from '../../schema/platform/objects/labels.ts';
import { ENDED, type RevisionStatus } from '../../schema/platform/deployment/statuses.ts';
import {
  backupEndOf,
  filterDecisiveEnds,
  summarizeLastBackups,
  type BackupEnd,
} from '../backup/last.ts';
import { readVolumeLevel } from '../database/own/fullness.ts';
import { GUARD } from '../database/own/guard.ts';
import type { OperatorMetrics } from '../kernel/metrics.ts';
import { getPodStatus } from '../pods/diagnose.ts';
import { listAbortedRevisions } from '../rollout/given-up.ts';
import { BY_DEPLOYMENT, type Caches } from '../view/caches.ts';
import {
  ASLEEP,
  DRAINING,
  FIELDS_WITHOUT_EFFECT,
  HIBERNATED,
  POD_SECURITY_OPEN,
  PROXY_NOT_ADMITTED,
  READY,
  RECONCILING,
  SCALED_TO_ZERO,
  SERVING,
  STALLED,
  SUSPENDED,
  TOKEN_MOUNTED,
  TRACING_PROJECT_SHARED,
  UNAUTHENTICATED,
  type Condition,
} from '../../schema/platform/objects/conditions.ts';

/** Counts revisions by namespace and phase. */
class PhaseCounts {
  readonly #phases = new Map<string, RevisionStatus>();
  readonly #counts = new Map<string, Map<RevisionStatus, number>>();

  /** Notes the phase of a revision; undefined for one that is gone. The same may be noted again. */
  note(key: string, namespace: string, phase: RevisionStatus | undefined): void {
    this.#add(namespace, this.#phases.get(key), -1);
    this.#add(namespace, phase, 1);
    if (phase === undefined) this.#phases.delete(key);
    else this.#phases.set(key, phase);
  }

  listPhaseCounts(namespace: string): [RevisionStatus, number][] {
    return [...(this.#counts.get(namespace) ?? [])];
  }

  #add(namespace: string, phase: RevisionStatus | undefined, by: 1 | -1): void {
    if (phase === undefined) return;
    const counts = this.#counts.get(namespace) ?? new Map<RevisionStatus, number>();
    const count = (counts.get(phase) ?? 0) + by;
    if (count === 0) counts.delete(phase);
    else counts.set(phase, count);
    if (counts.size === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, counts);
  }
}

/** Lets metrics follow the objects of these caches, from their next change on. */
export function exportObjects(metrics: OperatorMetrics, caches: Caches): void {
  exportDeployments(metrics, caches.deployments);
  exportRevisions(metrics, caches.revisions);
  exportBackups(metrics, caches.backups);
  exportPods(metrics, caches.pods);
}

const toSamples = (value: number | undefined) =>
  value === undefined ? [] : [{ labels: {}, value }];
const toEpochSeconds = (moment: string | undefined): number | undefined =>
  moment === undefined ? undefined : Date.parse(moment) / 1000;

function exportDeployments(metrics: OperatorMetrics, cache: Cache<DeploymentResource>): void {
  const conditions = metrics.addObjectSeries(
    'gx_deployment_condition',
    'Ready, Serving, and conditions in a bad state.',
  );
  const expiry = metrics.addObjectSeries(
    'gx_database_certificate_expiry_timestamp_seconds',
    'When the certificate of a managed database expires.',
  );
  const givenUp = metrics.addObjectSeries(
    'gx_rollout_given_up_timestamp_seconds',
    'When a canary rollout was aborted.',
  );
  cache.addChangeListener(({ key, after }) => {
    const { namespace = '', name: deployment = '' } = after?.metadata ?? {};
    const common = { namespace, deployment };
    const shown = filterShownConditions(after?.status?.conditions);
    conditions.put(
      key,
      common,
      shown.map(({ type, status, reason }) => ({
        labels: { condition: type, status, reason },
        value: 1,
      })),
    );
    expiry.put(key, common, toSamples(toEpochSeconds(after?.status?.databaseCertificateUntil)));
    givenUp.put(key, common, after === undefined ? [] : listAbortedRevisions(after));
  });
}

/**
 * Returns a function that notes how far the log of a database is behind at its store. Only those of continuous backups
 * count.
 */
export function exportArchiveLag(
  metrics: OperatorMetrics,
  cache: Cache<DeploymentResource>,
): (key: string, seconds: number | undefined) => void {
  const lag = metrics.addObjectSeries(
    'gx_backup_archive_lag_seconds',
    'Seconds since a segment of the log last came to its store.',
  );
  cache.addChangeListener(({ key, after }) => {
    if (after === undefined || !isArchived(after)) lag.put(key, NOBODY.common, []);
  });
  return (key, seconds) => {
    const deployment = cache.get(key);
    if (deployment === undefined || !isArchived(deployment)) return;
    const { namespace = '', name } = deployment.metadata;
    lag.put(key, { namespace, deployment: name }, toSamples(seconds));
  };
}

function exportRevisions(metrics: OperatorMetrics, cache: Cache<RevisionResource>): void {
  const underWay = metrics.addObjectSeries(
    'gx_revision_phase',
    'Revisions that have not ended, by their phase.',
  );
  const revisions = metrics.addObjectSeries(
    'gx_revisions',
    'Revisions of a namespace, by their phase.',
  );
  const counts = new PhaseCounts();
  cache.addChangeListener(({ key, before, after }) => {
    const { metadata, spec } = (after ?? before) as RevisionResource;
    const { namespace = '', name } = metadata;
    const phase = after && (after.status?.phase ?? 'CREATING');
    // `UNKNOWN` is the phase of a revision whose deployment was deleted.
    const named =
      phase === undefined || phase === 'UNKNOWN' || ENDED.includes(phase)
        ? []
        : [{ labels: { revision: name, phase }, value: 1 }];
    underWay.put(key, { namespace, deployment: spec.deployment }, named);
    counts.note(key, namespace, phase);
    const samples = counts
      .listPhaseCounts(namespace)
      .map(([one, value]) => ({ labels: { phase: one }, value }));
    revisions.put(namespace, { namespace }, samples);
  });
}

function exportBackups(metrics: OperatorMetrics, cache: Cache<BackupResource>): void {
  const series = {
    succeededAt: metrics.addObjectSeries(
      'gx_backup_last_success_timestamp_seconds',
      'The moment that the data of the last good backup is of.',
    ),
    failedAt: metrics.addObjectSeries(
      'gx_backup_last_failure_timestamp_seconds',
      'When the last backup that failed was begun.',
    ),
    verifiedAt: metrics.addObjectSeries(
      'gx_backup_last_verified_timestamp_seconds',
      'When a backup was last verified.',
    ),
    bytes: metrics.addObjectSeries('gx_backup_size_bytes', 'Size of the last good backup.'),
  };
  const decisive = new Map<string, BackupEnd[]>();
  cache.addChangeListener(({ before, after, via }) => {
    const { metadata, spec } = (after ?? before) as BackupResource;
    const { namespace = '' } = metadata;
    const { deployment } = spec;
    const owner = buildObjectKey({ namespace, name: deployment });
    // The first list brings tens of thousands. Later changes are few, and all backups of the deployment are read again.
    const isFirst = via === 'list' && before === undefined;
    const others = isFirst ? (decisive.get(owner) ?? []) : [];
    const changed = isFirst && after ? [after] : cache.listByIndex(BY_DEPLOYMENT, owner);
    const ends = filterDecisiveEnds([
      ...others,
      ...changed.flatMap((backup) => backupEndOf(backup) ?? []),
    ]);
    if (ends.length === 0) decisive.delete(owner);
    else decisive.set(owner, ends);
    const last = summarizeLastBackups(ends);
    for (const [name, one] of Object.entries(series))
      one.put(owner, { namespace, deployment }, toSamples(last[name as keyof typeof series]));
  });
}

/** The components whose pods belong to a deployment that works. Those of Jobs come and go. */
const LASTING = ['api', 'queue', 'database', 'store'];

function exportPods(metrics: OperatorMetrics, cache: Cache): void {
  const used = metrics.addObjectSeries(
    'gx_database_volume_used_bytes',
    'Used part of the volume of a managed database when it was last reported.',
  );
  const size = metrics.addObjectSeries(
    'gx_database_volume_size_bytes',
    'Size of the volume of a managed database when it was last reported.',
  );
  const restarts = metrics.addObjectSeries(
    'gx_pod_restarts',
    'Restarts of the containers of a pod that has had some.',
  );
  cache.addChangeListener(({ key, after }) => {
    const { common, component } = after === undefined ? NOBODY : buildOwner(after);
    const level = component === 'database' ? readVolumeLevel(after) : undefined;
    used.put(key, common, toSamples(level?.used));
    size.put(key, common, toSamples(level?.size));
    const count = LASTING.includes(component) ? countRestarts(after) : 0;
    restarts.put(
      key,
      common,
      count === 0 ? [] : [{ labels: { component, pod: after?.metadata.name ?? '' }, value: count }],
    );
  });
}

type Owner = { common: { namespace: string; deployment: string }; component: string };
const NOBODY: Owner = { common: { namespace: '', deployment: '' }, component: '' };

const buildOwner = ({
  metadata: { namespace = '', labels = {}, annotations = {} },
}: KubeObject): Owner => ({
  common: { namespace, deployment: annotations[DEPLOYMENT] ?? '' },
  component: labels[COMPONENT] ?? '',
});

/** Returns how often its containers began again. The guard of a database ends whenever it has something to report. */
const countRestarts = (pod: KubeObject | undefined): number =>
  ((pod && getPodStatus(pod).containerStatuses) ?? []).reduce(
    (sum, { name, restartCount = 0 }) => sum + (name === GUARD ? 0 : restartCount),
    0,
  );

/** Conditions that a metric always has, so that a deployment is known by it. */
const ALWAYS = [READY, SERVING];
/** Conditions that are neither good nor bad. */
const NEUTRAL = [RECONCILING, ASLEEP, DRAINING];
/** Conditions that warn while they are true. All others are bad unless they are true. */
const WARNINGS = [
  STALLED,
  SUSPENDED,
  FIELDS_WITHOUT_EFFECT,
  UNAUTHENTICATED,
  TOKEN_MOUNTED,
  POD_SECURITY_OPEN,
  TRACING_PROJECT_SHARED,
  PROXY_NOT_ADMITTED,
];
/** Reasons of conditions that are not true because the deployment has no pods and needs none. */
const RESTING = [HIBERNATED, 'Hibernating', SCALED_TO_ZERO, 'Asleep', 'FallingAsleep', 'Paused'];

/** Returns the conditions of a deployment that its metric shows: Ready, Serving, and those in a bad state. */
const filterShownConditions = (conditions: readonly Condition[] = []): Condition[] =>
  conditions.filter(({ type, status, reason }) => {
    if (ALWAYS.includes(type)) return true;
    if (NEUTRAL.includes(type)) return false;
    if (WARNINGS.includes(type)) return status !== 'False';
    return status !== 'True' && !RESTING.includes(reason);
  });
