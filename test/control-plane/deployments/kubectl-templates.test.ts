import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kind } from '../../../src/kube/kube.ts';
import { type DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';
import { buildRevision } from '../../../src/schema/platform/resources/revision-of.ts';
import { until } from '../../kit/until.ts';
import { startPlane, type Plane } from '../kit/api-server-plane.ts';

type Spec = DeploymentResource['spec'];
type ResourceSpec = NonNullable<Spec['template']['resourceSpec']>;

const serviceAccount: Kind = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('kubectl-templates');
  const metadata = { name: 'cloud', namespace: plane.namespace };
  await plane.kube.create(serviceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
});
afterAll(() => plane.stop());

/** Templates that kubectl made, with what REST users may not put into a pod, and how the refusal of each begins. */
const TEMPLATES: [string, ResourceSpec, string][] = [
  [
    "a volume of somebody's Secret",
    { volumes: [{ name: 'v', secret: { secretName: 'of-somebody' } }] },
    'volumes.0.secret: not allowed here',
  ],
  [
    'an account that is not for agents',
    { serviceAccountName: 'cloud' },
    'service_account_name: ServiceAccount cloud is not for agents',
  ],
];

describe.each(TEMPLATES)(
  'of a template that kubectl made with %s',
  (what, resourceSpec, reason) => {
    const refused = {
      status: 400,
      body: { detail: expect.stringContaining(`source_config.resource_spec.${reason}`) },
    };
    let path: string;
    beforeAll(async () => {
      const spec: Spec = {
        source: 'external_container',
        template: { sourceRevisionConfig: { imageUri: 'a:1' }, resourceSpec },
      };
      const metadata = { name: what.replaceAll(/[^a-z]+/g, '-'), namespace: plane.namespace };
      const made = await plane.kube.create(kinds.deployment, {
        apiVersion: API_VERSION,
        kind: 'Deployment',
        metadata,
        spec,
      });
      await plane.kube.create(kinds.revision, buildRevision(made));
      path = `/v2/deployments/${made.metadata.uid}`;
      await until('the revision is seen', async () => (await revisions()).length === 1);
    });

    const revisions = async (): Promise<Revision[]> =>
      (await plane.call<{ resources: Revision[] }>('GET', `${path}/revisions`)).body.resources ??
      [];

    test.each<[string, object]>([
      ['another image', { source_revision_config: { image_uri: 'mine:1' } }],
      ['other secrets', { secrets: [{ name: 'A', value: 'b' }] }],
    ])('a new revision with %s is refused as long as it would inherit that', async (_, body) => {
      expect(await plane.call('PATCH', path, { body })).toMatchObject(refused);
      expect(await plane.call('PATCH', `${path}?dry_run=true`, { body })).toMatchObject(refused);
      expect(await plane.call('POST', `${path}/revisions`, { body })).toMatchObject(refused);
    });

    test('a redeploy of the revision that has it is refused', async () => {
      const [revision] = await revisions();
      expect(await plane.call('POST', `${path}/revisions/${revision?.id}/redeploy`)).toMatchObject(
        refused,
      );
    });

    test('a change that starts no pod is taken, and so is one that replaces it', async () => {
      expect(
        (
          await plane.call('PATCH', path, {
            body: { source_config: { custom_url: 'https://a.example' } },
          })
        ).status,
      ).toBe(200);
      const own = {
        source_config: { resource_spec: {} },
        source_revision_config: { image_uri: 'mine:1' },
      };
      expect((await plane.call('PATCH', path, { body: own })).status).toBe(200);
    });
  },
);
