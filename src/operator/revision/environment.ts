import type { KubeObject } from '../../kube/kube.ts';
import { API_VERSION, type RevisionResource } from '../../schema/custom-resources.ts';
import { DEPLOYMENT, MANAGED_BY, OPERATOR, REVISION, SECRETS_OF } from '../../schema/labels.ts';
import { labelValue, names } from '../../schema/names.ts';

/** A revision's own copy of a Secret that its user may still change: what was deployed stays what was deployed (pure). */
export function adoptSecret({ metadata, spec }: RevisionResource, secret: { type?: string; data?: Record<string, string> }): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: names.secretCopy(metadata.name),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: {
        [DEPLOYMENT]: labelValue(spec.deployment),
        [REVISION]: labelValue(metadata.name),
        [SECRETS_OF]: labelValue(spec.deployment),
        [MANAGED_BY]: OPERATOR,
      },
      annotations: { [DEPLOYMENT]: spec.deployment, [REVISION]: metadata.name },
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'Revision', name: metadata.name, uid: metadata.uid ?? '', controller: true }],
    },
    type: 'Opaque',
    immutable: true,
    data: secret.data ?? {},
  };
}

/**
 * The Secret whose values a revision gets (pure): that of its template, or, of a revision that repeats an earlier one, what that one got. A
 * user's Secret may have other values by now.
 */
export function secretToRead({ spec }: RevisionResource, siblings: RevisionResource[]): string | undefined {
  const { secretName } = spec.template;
  const repeated = siblings.find(({ metadata }) => metadata.name === spec.rollbackOf);
  return repeated?.spec.template.secretName === secretName ? (repeated?.status?.secretName ?? secretName) : secretName;
}
