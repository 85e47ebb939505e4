import { createHash } from 'node:crypto';
import { API_VERSION, type DeploymentResource, type RevisionResource } from './custom-resources.ts';
import { DEPLOYMENT, TENANT } from './labels.ts';
import { labelValue, revisionName } from './names.ts';

/** JSON with sorted keys, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

export const hashOf = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 32);

/** What decides whether a revision is a new one: the template, and when it was asked for. */
export const templateHash = ({ spec }: { spec: Pick<DeploymentResource['spec'], 'template' | 'requestedAt'> }): string =>
  hashOf([spec.template, spec.requestedAt ?? null]);

/**
 * The revision that a deployment's present generation asks for (pure). Whoever makes it, the REST process or the operator, makes the same object.
 * `metadata.uid` and `metadata.generation` must be those of a stored deployment.
 */
export function revisionOf(deployment: DeploymentResource): RevisionResource {
  const { metadata, spec } = deployment;
  const number = metadata.generation ?? 1;
  const tenant = metadata.labels?.[TENANT];
  return {
    apiVersion: API_VERSION,
    kind: 'Revision',
    metadata: {
      name: revisionName(metadata.name, number),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { [DEPLOYMENT]: labelValue(metadata.name), ...(tenant !== undefined && { [TENANT]: tenant }) },
      ownerReferences: [
        {
          apiVersion: API_VERSION,
          kind: 'Deployment',
          name: metadata.name,
          uid: metadata.uid ?? '',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      deployment: metadata.name,
      deploymentUid: metadata.uid ?? '',
      number,
      hash: templateHash(deployment),
      source: spec.source,
      ...(spec.sourceConfig && { sourceConfig: spec.sourceConfig }),
      template: spec.template,
      ...(spec.requestedAt !== undefined && { requestedAt: spec.requestedAt }),
      ...(spec.rollbackOf !== undefined && { rollbackOf: spec.rollbackOf }),
    },
  };
}

/** Newest first; by number, which only grows. */
export const newestFirst = (revisions: RevisionResource[]): RevisionResource[] =>
  revisions.toSorted((a, b) => b.spec.number - a.spec.number);
