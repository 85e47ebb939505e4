import { type DeploymentResource, type RevisionResource } from './custom-resources.ts';
import { buildOwnerReference } from '../objects/object-meta.ts';
import { API_VERSION } from '../objects/api-group.ts';
import { DEPLOYMENT, TENANT } from '../objects/labels.ts';
import { toLabelValue, buildRevisionName } from '../../names.ts';
import { hashJson } from '../../canonical-json.ts';

/** Returns the hash that decides whether a revision is a new one: of the template, and when it was asked for. */
export const hashTemplate = ({ spec }: { spec: DeploymentResource['spec'] }): string =>
  hashJson([spec.template, spec.requestedAt ?? null]);

/**
 * Returns the revision that a deployment's present generation asks for. Both the REST process and the operator make the
 * same object. `metadata.uid` and `metadata.generation` must be those of a stored deployment. The operator alone makes
 * those of pushes.
 */
export function buildRevision(
  deployment: DeploymentResource,
  pushed: { push?: number; commit?: string } = {},
): RevisionResource {
  const { metadata, spec } = deployment;
  const number = metadata.generation ?? 1;
  const tenant = metadata.labels?.[TENANT];
  return {
    apiVersion: API_VERSION,
    kind: 'Revision',
    metadata: {
      name: buildRevisionName(metadata.name, number, pushed.push),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: {
        [DEPLOYMENT]: toLabelValue(metadata.name),
        ...(tenant !== undefined && { [TENANT]: tenant }),
      },
      ownerReferences: [buildOwnerReference('Deployment', metadata)],
    },
    spec: {
      deployment: metadata.name,
      deploymentUid: metadata.uid ?? '',
      number,
      hash: hashTemplate(deployment),
      source: spec.source,
      ...(spec.sourceConfig && { sourceConfig: spec.sourceConfig }),
      template: spec.template,
      ...(spec.requestedAt !== undefined && { requestedAt: spec.requestedAt }),
      ...(spec.rollbackOf !== undefined && { rollbackOf: spec.rollbackOf }),
      ...pushed,
    },
  };
}

/** Pushes that one generation has room for in the order. */
const MOST_PUSHES = 1_000_000;

/** Returns a number that grows from revision to revision: the generation that asked for it, then the push within it. */
export const computeRevisionOrder = ({ spec: { number, push = 0 } }: RevisionResource): number =>
  number + push / MOST_PUSHES;

/** Sorts revisions, newest first. */
export const sortRevisions = (revisions: RevisionResource[]): RevisionResource[] =>
  revisions.toSorted((a, b) => computeRevisionOrder(b) - computeRevisionOrder(a));
