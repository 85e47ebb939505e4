import { hash } from 'node:crypto';
import { API_VERSION, ownerReference, type DeploymentResource, type RevisionResource } from './custom-resources.ts';
import { DEPLOYMENT, TENANT } from './labels.ts';
import { labelValue, revisionName } from '../names.ts';
import { isComposite } from '../json.ts';

/**
 * Returns JSON with sorted keys, so that equal values have equal text. Keys that are numbers come first, by size, as
 * JavaScript itself orders them. It sorts a copy, because JSON.stringify with a replacer takes three times as long, and
 * a busy operator spends most of its time hashing.
 */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value));

function sorted(value: unknown): unknown {
  if (!isComposite(value) || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/** Hashes that are kept, some 2 MB of them. */
const REMEMBERED = 10_000;

/**
 * Hashes by a plain hash of the JSON text. Such a look-up takes a tenth of the time of sorting the keys, and an
 * operator asks again and again for the same objects.
 */
// oxlint-disable-next-line house/module-state -- the answers of a pure function: nobody can tell whether they are kept
const remembered = new Map<string, string>();

/** Returns 32 hexadecimal digits, equal for values that are equal as JSON, whatever the order of their keys. */
export function hashOf(value: unknown): string {
  const plain = hash('sha256', JSON.stringify(value));
  const known = remembered.get(plain) ?? hash('sha256', canonicalJson(value)).slice(0, 32);
  remembered.delete(plain);
  remembered.set(plain, known);
  const oldest = remembered.keys().next().value;
  if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  return known;
}

/** Returns the hash that decides whether a revision is a new one: of the template, and when it was asked for. */
export const templateHash = ({ spec }: { spec: Pick<DeploymentResource['spec'], 'template' | 'requestedAt'> }): string =>
  hashOf([spec.template, spec.requestedAt ?? null]);

/**
 * Returns the revision that a deployment's present generation asks for. Both the REST process and the operator make the
 * same object. `metadata.uid` and `metadata.generation` must be those of a stored deployment. The operator alone makes
 * those of pushes.
 */
export function revisionOf(deployment: DeploymentResource, pushed: { push?: number; commit?: string } = {}): RevisionResource {
  const { metadata, spec } = deployment;
  const number = metadata.generation ?? 1;
  const tenant = metadata.labels?.[TENANT];
  return {
    apiVersion: API_VERSION,
    kind: 'Revision',
    metadata: {
      name: revisionName(metadata.name, number, pushed.push),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { [DEPLOYMENT]: labelValue(metadata.name), ...(tenant !== undefined && { [TENANT]: tenant }) },
      ownerReferences: [ownerReference('Deployment', metadata)],
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
      ...pushed,
    },
  };
}

/** Pushes that one generation has room for in the order. */
const MOST_PUSHES = 1_000_000;

/** Returns a number that grows from revision to revision: the generation that asked for it, then the push within it. */
export const orderOfRevision = ({ spec: { number, push = 0 } }: RevisionResource): number => number + push / MOST_PUSHES;

/** Sorts revisions, newest first. */
export const newestFirst = (revisions: RevisionResource[]): RevisionResource[] =>
  revisions.toSorted((a, b) => orderOfRevision(b) - orderOfRevision(a));
