import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { createCaches, type Caches } from '../../../src/operator/view/caches.ts';
import { filterUnreferencedSecrets } from '../../../src/operator/secrets/sweep.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { deployment, revision } from '../../kit/objects.ts';

function known(deployments: DeploymentResource[], revisions: RevisionResource[]): Caches {
  const caches = createCaches();
  const stored = <T extends { metadata: object }>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: '1' },
  });
  for (const object of deployments) caches.deployments.addIfNewer(stored(object));
  for (const object of revisions) caches.revisions.addIfNewer(stored(object));
  return caches;
}

const secret = (name: string, owners?: object[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'team', ...(owners && { ownerReferences: owners as never }) },
});

test('what a deployment or a revision names stays, as does what has an owner', () => {
  const of = deployment({ template: { secretName: 'current' } });
  const older = revision(deployment({ template: { secretName: 'older' } }), {
    status: { secretName: 'copied' },
  });
  const secrets = ['current', 'older', 'copied', 'forgotten'].map((name) => secret(name));
  const found = filterUnreferencedSecrets(
    [...secrets, secret('owned', [{}])],
    known([of], [older]),
  );
  expect(found.map(({ metadata }) => metadata.name)).toEqual(['forgotten']);
});

test('the same name in another namespace does not count', () => {
  const elsewhere = deployment({ metadata: { namespace: 'other' }, template: { secretName: 'a' } });
  expect(filterUnreferencedSecrets([secret('a')], known([elsewhere], []))).toHaveLength(1);
});
