import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import { GUARDED } from '../../../schema/labels.ts';
import { names } from '../../../schema/names.ts';

/** The folder with the key's files. The kubelet writes them again when the Secret changes. */
const FOLDER = '/etc/gx-key';
const VOLUME = 'gx-key';

type Settings = Pick<OperatorSettings, 'closeAgents'>;

/** Returns true if the agents of a revision ask for a key, unless their gx.json names handlers. */
export const isGuarded = ({ spec }: RevisionResource, { closeAgents }: Settings): boolean =>
  (spec.guarded === true || closeAgents) && spec.template.sourceRevisionConfig?.auth?.mode !== 'open';

/** Returns true if the pods of a workload ask for a key. */
export const isClosed = ({ spec }: KubeObject): boolean =>
  (spec as { template: { metadata?: { annotations?: Record<string, string> } } }).template.metadata?.annotations?.[GUARDED] !== undefined;

/** What gives a pod the key that its callers must show. Empty for a revision whose agents are open. */
export type Guarded = { variables: object[]; mounts: object[]; volumes: object[]; annotations: Record<string, string> };

/** Returns the parts of a pod that close it. */
export function guarded(revision: RevisionResource, settings: Settings): Guarded {
  if (!isGuarded(revision, settings)) return { variables: [], mounts: [], volumes: [], annotations: {} };
  const secretName = names.agentKey(revision.spec.deployment);
  return {
    variables: [{ name: 'GX_AGENT_KEY_FOLDER', value: FOLDER }],
    mounts: [{ name: VOLUME, mountPath: FOLDER, readOnly: true }],
    volumes: [{ name: VOLUME, secret: { secretName } }],
    annotations: { [GUARDED]: 'key' },
  };
}
