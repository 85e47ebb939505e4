import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import { GUARDED } from '../../../schema/labels.ts';
import { names } from '../../../schema/names.ts';
import { workPath } from '../../../schema/work-report.ts';
import type { WorkloadWish } from './sizes.ts';

/** The folder with the key's files. The kubelet writes them again when the Secret changes. */
const FOLDER = '/etc/gx-key';
const VOLUME = 'gx-key';

type Settings = Pick<OperatorSettings, 'closeAgents' | 'controlPlaneUrl' | 'gateway' | 'clusterDomain'>;

/** Returns true if the agents of a revision ask for a key, unless their gx.json names handlers. */
export const isGuarded = ({ spec }: RevisionResource, { closeAgents }: Pick<Settings, 'closeAgents'>): boolean =>
  (spec.guarded === true || closeAgents) && spec.template.sourceRevisionConfig?.auth?.mode !== 'open';

/** Returns true if the pods of a workload ask for a key. */
export const isClosed = ({ spec }: KubeObject): boolean =>
  (spec as { template: { metadata?: { annotations?: Record<string, string> } } }).template.metadata?.annotations?.[GUARDED] !== undefined;

/**
 * What gives a pod the key that its callers must show, and that it shows where it reports. Empty for a revision whose
 * agents are open and report nowhere.
 */
export type Guarded = { variables: object[]; mounts: object[]; volumes: object[]; annotations: Record<string, string> };

/** Returns the parts of a pod that close it. */
export function guarded(revision: RevisionResource, { deploymentId }: Pick<WorkloadWish, 'deploymentId'>, settings: Settings): Guarded {
  const isClosing = isGuarded(revision, settings);
  const reports = reporting(revision, settings);
  if (!isClosing && reports.length === 0) return { variables: [], mounts: [], volumes: [], annotations: {} };
  const secretName = names.agentKey(revision.spec.deployment);
  return {
    variables: [
      ...(isClosing ? [{ name: 'GX_AGENT_KEY_FOLDER', value: FOLDER }, ...others(revision, deploymentId, settings)] : []),
      ...reports,
    ],
    mounts: [{ name: VOLUME, mountPath: FOLDER, readOnly: true }],
    volumes: [{ name: VOLUME, secret: { secretName } }],
    annotations: isClosing ? { [GUARDED]: 'key' } : {},
  };
}

/** Returns where a pod reports its work, and the folder of the key that it shows there. */
function reporting({ metadata, spec }: RevisionResource, { gateway, clusterDomain }: Settings): object[] {
  if (gateway === undefined) return [];
  const host = `http://${gateway.service}.${gateway.namespace}.svc.${clusterDomain}`;
  return [
    { name: 'GX_REPORT_URL', value: host + workPath(metadata.namespace ?? '', spec.deployment) },
    { name: 'GX_REPORT_KEY_FOLDER', value: FOLDER },
  ];
}

/** Returns the variables that let in others than those with the key: keys of the tenant, tokens of an issuer. */
function others({ spec }: RevisionResource, deploymentId: string, { controlPlaneUrl }: Settings): object[] {
  const { mode, issuer, audiences = [], jwks, roles } = spec.template.sourceRevisionConfig?.auth ?? {};
  const asked = {
    ...(mode === 'tenant' && controlPlaneUrl !== undefined && { GX_AUTH_CHECK_URL: controlPlaneUrl, GX_DEPLOYMENT_ID: deploymentId }),
    ...(issuer !== undefined && { GX_AUTH_ISSUER: issuer, GX_AUTH_AUDIENCE: audiences.join(',') }),
    ...(issuer !== undefined && jwks !== undefined && { GX_AUTH_JWKS_URL: jwks }),
    ...(issuer !== undefined && roles !== undefined && { GX_AUTH_ROLE_CLAIM: roles }),
  };
  return Object.entries(asked).map(([name, value]) => ({ name, value }));
}
