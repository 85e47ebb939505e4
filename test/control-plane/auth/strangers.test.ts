import { afterAll, beforeAll, expect, test } from 'vitest';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import { dumpRecord } from '../../kit/backup-record.ts';
import { creation, startPlane, TENANT_A, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
let ids: Record<string, string>;
beforeAll(async () => {
  plane = await startPlane('strangers');
  const { body } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('mine', { secrets: [{ name: 'A', value: 'hidden' }] }),
  });
  const project = await plane.kube.create(kinds.tracingProject, {
    apiVersion: API_VERSION,
    kind: 'TracingProject',
    metadata: { name: 'left', namespace: plane.namespace },
    spec: { tenantId: TENANT_A, projectName: 'left' },
  });
  const { namespace } = plane;
  const backup = await plane.kube.create(
    kinds.backup,
    dumpRecord({ namespace, deployment: 'mine', uid: body.id, backup: '20261124t020000z' }),
  );
  ids = {
    backup: backup.metadata.name,
    deployment_id: body.id,
    project_id: body.id,
    revision_id: body.latest_revision_id ?? '',
    listener_id: body.source_config.listener_id ?? '',
    tracing_project_id: project.metadata.uid ?? '',
  };
});
afterAll(() => plane.stop());

let reached = 0;
type Document = {
  paths: Record<
    string,
    Record<string, { parameters?: { name: string; in: string; required: boolean }[] }>
  >;
};

test("another tenant's key finds nothing by any operation that names something, in our words or the vendor's", async () => {
  const { paths } = (await (await fetch(`${plane.url}/openapi.json`)).json()) as Document;
  const named = Object.entries(paths).filter(
    ([path]) => path.includes('{') && !path.includes('integration'),
  );
  expect(named.length).toBeGreaterThan(10);
  const before = (await plane.call('GET', `/v2/deployments/${ids.deployment_id}`)).body;
  const found: string[] = [];
  for (const [template, operations] of named) {
    for (const [method, { parameters = [] }] of Object.entries(operations)) {
      const query = parameters.some(({ name, required }) => name === 'type' && required)
        ? '?type=deploy'
        : '';
      const path = template.replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) => ids[name] ?? `unknown-${name}`,
      );
      expect(path).not.toContain('unknown');
      for (const prefix of ['', '/api-host']) {
        const answer = await fetch(`${plane.url}${prefix}${path}${query}`, {
          method: method.toUpperCase(),
          headers: { 'x-api-key': plane.keys.otherAdmin, 'content-type': 'application/json' },
          ...(['post', 'patch', 'put'].includes(method) && { body: '{}' }),
        });
        const text = await answer.text();
        if (answer.status !== 404 || text.includes('hidden'))
          found.push(`${method} ${prefix}${template}: ${answer.status} ${text.slice(0, 100)}`);
      }
    }
  }
  expect(found).toEqual([]);
  expect((await plane.call('GET', `/v2/deployments/${ids.deployment_id}`)).body).toEqual(before);
  const bulk = await plane.call('DELETE', `/v2/deployments?deployment_ids=${ids.deployment_id}`, {
    key: plane.keys.otherAdmin,
  });
  expect(bulk).toMatchObject({ status: 207, body: { deleted: [], failed: [{ status: 404 }] } });
});

test.each<[string, object, number]>([
  ['a path of the host', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }, 422],
  [
    'a volume that makes a claim',
    { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: {} } }] },
    422,
  ],
  ['the network of the host', { host_network: true }, 422],
  ['the network of the host, in the words of Kubernetes', { hostNetwork: true }, 422],
  ['processes of the host', { hostPID: true }, 422],
  [
    'a port of the host',
    { sidecars: [{ name: 's', image: 'i', ports: [{ containerPort: 1, hostPort: 1 }] }] },
    422,
  ],
  ['a device of the host', { sidecars: [{ name: 's', image: 'i', volumeDevices: [] }] }, 422],
  ['a hook', { sidecars: [{ name: 's', image: 'i', lifecycle: {} }] }, 422],
  [
    'processes unmasked',
    { sidecars: [{ name: 's', image: 'i', securityContext: { procMount: 'Unmasked' } }] },
    400,
  ],
  [
    'options of SELinux',
    { init_containers: [{ name: 's', image: 'i', securityContext: { seLinuxOptions: {} } }] },
    400,
  ],
  [
    'root in an init container',
    { init_containers: [{ name: 's', image: 'i', securityContext: { runAsUser: 0 } }] },
    400,
  ],
  [
    'a profile of the host',
    {
      init_containers: [
        { name: 's', image: 'i', securityContext: { seccompProfile: { type: 'Unconfined' } } },
      ],
    },
    400,
  ],
  ["the platform's own label", { labels: { 'app.kubernetes.io/name': 'gx-platform' } }, 400],
  ['a service account that is not there', { service_account_name: 'nobody' }, 400],
])(
  'a REST user may not ask for %s: by POST, PATCH or a new revision',
  async (_, resource_spec, status) => {
    const source_config = { resource_spec };
    const at = `/v2/deployments/${ids.deployment_id}`;
    const answers = await Promise.all([
      plane.call('POST', '/v2/deployments', {
        body: creation(`reaching-${reached++}`, { source_config }),
      }),
      plane.call('PATCH', at, { body: { source_config } }),
      plane.call('POST', `${at}/revisions`, { body: { source_config } }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([status, status, status]);
  },
);

test('Secrets of the platform may be named by nobody, not even where Secrets are granted', async () => {
  const granting = await startPlane('granting', { grants: ['secrets', 'csi', 'projected'] });
  const { body } = await granting.call<Deployment>('POST', '/v2/deployments', {
    body: creation('owner', { secrets: [{ name: 'A', value: 'hidden' }] }),
  });
  expect(body.name).toBe('owner');
  const all = await granting.kube.listAll(kinds.secret, {
    namespace: granting.namespace,
    labelSelector: 'gx.dev/secrets-of',
  });
  const name = all[0]?.metadata.name;
  const ways: object[] = [
    { volumes: [{ name: 'v', secret: { secretName: name } }] },
    { volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name } } }] },
    { volumes: [{ name: 'v', projected: { sources: [{ secret: { name } }] } }] },
    { sidecars: [{ name: 's', image: 'i', envFrom: [{ secretRef: { name } }] }] },
    {
      init_containers: [
        {
          name: 's',
          image: 'i',
          env: [{ name: 'E', valueFrom: { secretKeyRef: { name, key: 'A' } } }],
        },
      ],
    },
    { image_pull_secrets: [{ name }] },
  ];
  for (const resource_spec of ways) {
    const answer = await granting.call('POST', '/v2/deployments', {
      body: creation('thief', { source_config: { resource_spec } }),
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('belongs to the platform') },
    });
  }
  const pull = { image_pull_secrets: [{ name: 'made-later' }] };
  expect(
    (
      await granting.call('POST', '/v2/deployments', {
        body: creation('puller', { source_config: { resource_spec: pull } }),
      })
    ).status,
  ).toBe(201);
  await granting.stop();
});
