import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kube.ts';
import { API_VERSION, type DeploymentResource } from '../../../src/schema/custom-resources.ts';
import type { Revision } from '../../../src/schema/revision.ts';
import { revisionOf } from '../../../src/schema/revision-of.ts';
import { until } from '../../kit/until.ts';
import { startPlane, type Plane } from '../kit/api-server-plane.ts';

/** A template that kubectl made, with what REST users may not put into a pod. */
const spec: DeploymentResource['spec'] = {
  source: 'external_container',
  template: {
    sourceRevisionConfig: { imageUri: 'a:1' },
    resourceSpec: { volumes: [{ name: 'v', secret: { secretName: 'of-somebody' } }] },
  },
};
const refused = {
  status: 400,
  body: { detail: expect.stringMatching(/^source_config\.resource_spec\.volumes\.0\.secret: not allowed here/) },
};

let plane: Plane;
let path: string;
beforeAll(async () => {
  plane = await startPlane('kubectl-templates');
  const metadata = { name: 'granted', namespace: plane.namespace };
  const made = await plane.kube.create(kinds.deployment, { apiVersion: API_VERSION, kind: 'Deployment', metadata, spec });
  await plane.kube.create(kinds.revision, revisionOf(made));
  path = `/v2/deployments/${made.metadata.uid}`;
  await until('the revision is seen', async () => (await revisions()).length === 1);
});
afterAll(() => plane.stop());

const revisions = async (): Promise<Revision[]> =>
  (await plane.call<{ resources: Revision[] }>('GET', `${path}/revisions`)).body.resources ?? [];

test.each<[string, object]>([
  ['another image', { source_revision_config: { image_uri: 'mine:1' } }],
  ['other secrets', { secrets: [{ name: 'A', value: 'b' }] }],
])('a new revision with %s is refused as long as it would inherit them', async (_, body) => {
  expect(await plane.call('PATCH', path, { body })).toMatchObject(refused);
  expect(await plane.call('PATCH', `${path}?dry_run=true`, { body })).toMatchObject(refused);
  expect(await plane.call('POST', `${path}/revisions`, { body })).toMatchObject(refused);
});

test('a redeploy of a revision that has them is refused', async () => {
  const [revision] = await revisions();
  expect(await plane.call('POST', `${path}/revisions/${revision?.id}/redeploy`)).toMatchObject(refused);
});

test('a change that starts no pod is taken, and so is one that replaces them', async () => {
  expect((await plane.call('PATCH', path, { body: { source_config: { custom_url: 'https://a.example' } } })).status).toBe(200);
  const own = { source_config: { resource_spec: {} }, source_revision_config: { image_uri: 'mine:1' } };
  expect((await plane.call('PATCH', path, { body: own })).status).toBe(200);
});
