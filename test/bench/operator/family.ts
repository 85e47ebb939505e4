import { randomUUID } from 'node:crypto';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../../src/kube/kube.ts';
import { desiredDeployment } from '../../kit/facts.ts';
import { buildRevisionWorkloads } from '../../../src/operator/revision/desired.ts';
import { type DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { names } from '../../../src/schema/names.ts';
import { buildRevision } from '../../../src/schema/platform/resources/revision-of.ts';
import { SETTINGS } from './process.ts';

/* What the operator applies for a new deployment, for clients that do nothing else. */

export const settings = readOperatorConfig(SETTINGS).settings;
const KINDS: Kind[] = [kinds.service, kinds.networkPolicy, kinds.statefulSet, kinds.workload];

export const kindOf = (object: KubeObject): Kind =>
  KINDS.find(({ kind }) => kind === object.kind) as Kind;

/**
 * A deployment that is in no API server, and its children. They have no owners, because the garbage collector would not
 * find them.
 */
export function familyOf(
  name: string,
  namespace: string,
): { deployment: DeploymentResource; children: KubeObject[] } {
  const deployment: DeploymentResource = {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: { name, namespace, uid: randomUUID(), generation: 1 },
    spec: {
      source: 'external_container',
      template: { sourceRevisionConfig: { imageUri: 'registry.example/agent:1' } },
    },
  };
  const revision = buildRevision(deployment);
  // The API server assigns this field.
  revision.metadata.uid = randomUUID();
  const { replicas } = settings.profile;
  const address = { secretName: name, key: 'uri', authority: names.databaseTls(name) };
  const given = { wish: { api: replicas, queue: replicas }, secretName: undefined, address };
  const children = [
    ...desiredDeployment(deployment, settings, { active: revision.metadata.name }),
    ...buildRevisionWorkloads(revision, given, settings),
  ];
  return { deployment, children: children.map(ownerless) };
}

function ownerless(child: KubeObject): KubeObject {
  const { ownerReferences: _owner, ...metadata } = child.metadata;
  return { ...child, metadata };
}
