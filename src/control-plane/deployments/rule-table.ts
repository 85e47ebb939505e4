import type { ControlPlane } from '../control-plane.ts';
import type { CallContext } from '../caller.ts';
import { checkBackupSettings } from './backup-rules.ts';
import { checkCustomUrl } from './custom-url.ts';
import { checkNameFree } from './name-free.ts';
import { checkServerSecrets } from './refused-secrets.ts';
import { hasDatabaseSecret, isManaged, toWanted } from './resource.ts';
import { checkRestore, checkRestoreFields } from './restore.ts';
import {
  type Broken,
  type WantedDeployment,
  checkImmutables,
  checkQueries,
  checkRules,
  checkSecrets,
  checkSources,
  checkSpecSize,
  checkVolumeSize,
  findLargeVariables,
} from './rules.ts';
import { checkImages } from '../pod-policy/image-rules.ts';
import { checkPlaces } from '../pod-policy/place-rules.ts';
import { checkReferences } from '../pod-policy/references.ts';
import { checkPodRules } from '../pod-policy/rules.ts';
import { Invalid, Rejected } from '../../errors.ts';
import { VOLUME_GROWN } from '../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { CUSTOM_URI } from '../../schema/platform/spec/database-spec.ts';
import type {
  Deployment,
  DeploymentCreateRequest,
  DeploymentPatchRequest,
} from '../../schema/platform/deployment/deployment.ts';
import type { ResourceSpec } from '../../schema/platform/spec/resource-spec.ts';

/** A change of a deployment that a request asks for. */
export type DeploymentChange = {
  /** The deployment as it will be. */
  wanted: WantedDeployment;
  /** False for a change that starts no pods: fields about them that kubectl wrote are not looked at then. */
  startsPods: boolean;
} & (
  | { kind: 'create'; sent: DeploymentCreateRequest }
  /** `sent`: the fields of the request that change something. `before`: the deployment as it stands. */
  | {
      kind: 'patch';
      sent: DeploymentPatchRequest;
      before: { resource: DeploymentResource; answer: Deployment };
    }
  /** A template that served before is asked for again: a redeploy, or a rollback. */
  | { kind: 'repeat' }
);

type ChangeOf<Kind extends DeploymentChange['kind']> = Extract<DeploymentChange, { kind: Kind }>;

export type RuleContext = {
  config: ControlPlane['config'];
  /** Namespaces of the caller's tenant. */
  namespaces: readonly string[];
  now: Date;
};

/** A rule and the changes that it holds for. It returns its faults, each with the path of a field. */
type DeploymentRule = {
  [K in DeploymentChange['kind']]?: (change: ChangeOf<K>, context: RuleContext) => Broken[];
};

/** A rule about the fields of a request, the same for a new deployment and for one that is changed. */
const onSent = (
  check: (change: ChangeOf<'create'> | ChangeOf<'patch'>, context: RuleContext) => Broken[],
): DeploymentRule => ({ create: check, patch: check });

/** A rule that holds for whatever starts pods. */
const onPods = (
  check: (change: DeploymentChange, context: RuleContext) => Broken[],
): DeploymentRule => ({
  create: check,
  patch: check,
  repeat: check,
});

/** All rules that need nothing but the request and the stored deployment, in the order of their sentences. */
const RULES: readonly DeploymentRule[] = [
  { patch: ({ sent, before }) => checkImmutables(before.answer, sent) },
  {
    patch: ({ sent, before: { resource } }) =>
      checkVolumeSize(toWanted(resource), sent, { isGrowing: isGrowing(resource) }),
  },
  {
    create: ({ wanted }, { config }) => checkRules(wanted, config),
    // A deployment that kubectl made for the other kind of hosting keeps it, because source never changes.
    patch: ({ wanted }) =>
      checkRules(wanted, { hosting: wanted.source === 'git' ? 'cloud' : 'self-hosted' }),
  },
  onSent(({ sent }, { config }) => checkQueries(sent, config.asksPrometheus)),
  onPods((change, { config }) =>
    checkPodRules(getPodSpec(change), config.grants, config.objectKeys),
  ),
  onSent((change, { config: { grants } }) =>
    checkPlaces(change.sent, {
      grants,
      hasDatabase: hasManagedDatabase(change),
      ...(change.kind === 'patch' && { current: change.before.answer }),
    }),
  ),
  onPods((change, { config, namespaces }) =>
    checkImages(config.builtImages, {
      spec: getPodSpec(change),
      image: getImage(change),
      namespaces,
    }),
  ),
  onSent(({ sent }) => checkSecrets(sent.secrets ?? [])),
  onSent(({ sent }) => checkServerSecrets(sent.secrets ?? [])),
  { patch: ({ sent, before }) => checkDatabaseKept(before.resource, sent.secrets) },
  onSent(({ wanted }) => checkSpecSize(wanted)),
  onSent((change, { now }) =>
    checkBackupSettings(change.sent, { hasDatabase: hasManagedDatabase(change), now }),
  ),
  { create: ({ sent }, { now }) => checkRestoreFields(sent, now) },
];

/** Throws for the rules that a change breaks: a 422 for fields that no deployment may have, else a 400. */
export function requireRules(change: DeploymentChange, context: RuleContext): void {
  const unfit =
    change.kind === 'repeat'
      ? []
      : [...checkSources(change.sent), ...findLargeVariables(change.sent)];
  if (unfit.length > 0) throw new Invalid(unfit);
  const broken = RULES.flatMap((rule) => checkRule(rule, change, context));
  if (broken.length > 0) throw new Rejected(broken.join('; '));
}

function checkRule(rule: DeploymentRule, change: DeploymentChange, context: RuleContext): Broken[] {
  switch (change.kind) {
    case 'create':
      return rule.create?.(change, context) ?? [];
    case 'patch':
      return rule.patch?.(change, context) ?? [];
    case 'repeat':
      return rule.repeat?.(change, context) ?? [];
  }
}

/**
 * Throws if an object of the cluster forbids the change: a host or a name is taken, a backup is not there, a Secret is
 * the platform's.
 */
export async function requireCluster(
  plane: ControlPlane,
  change: DeploymentChange,
  { name, namespace, ...call }: CallContext & { name: string; namespace: string },
): Promise<void> {
  if (change.kind !== 'repeat')
    checkCustomUrl(plane, name, namespace, change.sent.source_config?.custom_url);
  if (change.kind === 'create') {
    await checkNameFree(plane, name, { namespace, ...call });
    await checkRestore(plane, change.sent, { namespace, ...call });
  }
  await checkReferences(plane.kube, {
    spec: getPodSpec(change),
    namespace,
    rules: plane.config,
    signal: call.signal,
  });
}

const getPodSpec = ({ wanted, startsPods }: DeploymentChange): ResourceSpec | null | undefined =>
  startsPods ? wanted.source_config.resource_spec : undefined;

/** Returns the image of the agent itself; undefined for one that a build will make. */
const getImage = ({ kind, wanted, startsPods }: DeploymentChange): string | null | undefined =>
  kind === 'create' || (startsPods && wanted.source !== 'git')
    ? wanted.source_revision_config.image_uri
    : undefined;

const hasManagedDatabase = (change: ChangeOf<'create'> | ChangeOf<'patch'>): boolean =>
  change.kind === 'create'
    ? !hasDatabaseSecret(change.sent.secrets)
    : isManaged(change.before.resource);

const isGrowing = ({ status }: DeploymentResource): boolean =>
  status?.conditions?.some(
    (condition) => condition.type === VOLUME_GROWN && condition.status === 'False',
  ) === true;

/** Returns a broken rule if a patch takes away the secret that names the deployment's database. */
const checkDatabaseKept = (
  { spec }: DeploymentResource,
  secrets: DeploymentPatchRequest['secrets'],
): Broken[] =>
  spec.database?.fromSecrets === true &&
  secrets !== null &&
  secrets !== undefined &&
  !hasDatabaseSecret(secrets)
    ? [`secrets: ${CUSTOM_URI} must stay, because it names the database of this deployment`]
    : [];
