import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { unreferenced } from '../../../src/operator/secrets/unreferenced.ts';
import { deployment, revision } from '../../kit/objects.ts';

const secret = (name: string, owners?: object[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'team', ...(owners && { ownerReferences: owners as never }) },
});

test('what a deployment or a revision names stays, as does what has an owner', () => {
  const of = deployment({ template: { secretName: 'current' } });
  const older = revision(deployment({ template: { secretName: 'older' } }), { status: { secretName: 'copied' } });
  const secrets = ['current', 'older', 'copied', 'forgotten'].map((name) => secret(name));
  const found = unreferenced([...secrets, secret('owned', [{}])], [of], [older]);
  expect(found.map(({ metadata }) => metadata.name)).toEqual(['forgotten']);
});

test('the same name in another namespace does not count', () => {
  const elsewhere = deployment({ metadata: { namespace: 'other' }, template: { secretName: 'a' } });
  expect(unreferenced([secret('a')], [elsewhere], [])).toHaveLength(1);
});
