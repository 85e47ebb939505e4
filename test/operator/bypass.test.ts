import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { NotFound } from '../../src/errors.ts';
import { KubeRefused } from '../../src/kube/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { JsonPatch, Kube, KubeObject } from '../../src/kube/kube.ts';
import { createLog } from '../../src/log.ts';
import { conditionOf } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, type RunningOperator } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';

/*
 * Ways around the rules of a resource are tried on the real API server. Each is refused, has no effect, or becomes an
 * honest new revision.
 */
const CANARY = 'canary-7f3a91';
/** The keys of Secrets that the operator makes. */
const CONFIDENTIAL = ['password', 'uri', 'tls.key'];
const ID = '11111111-1111-4111-8111-111111111111';
const logged: string[] = [];
const destination = new Writable({
  write: (chunk: Buffer, _encoding, done) => (logged.push(chunk.toString()), done()),
});
const log = createLog({ level: 'trace', process: 'operator', destination });
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('bypass', { log });
  ({ kube, namespace, operator, see } = stage);
  const spec = { id: ID, sourceConfig: { listener: 'default' } };
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'mine', namespace },
    stringData: { TOKEN: CANARY },
  });
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      spec,
      template: { secretName: 'mine', resourceSpec: { sidecars: [sidecar({ runAsUser: 1000 })] } },
    }),
  );
  await see.untilReady('chat');
  await see.untilPhase('chat-00001', 'DEPLOYED');
});
afterAll(() => stage.stop());

const sidecar = (securityContext: object) => ({
  name: 'proxy',
  image: 'proxy:1',
  securityContext: securityContext as never,
});
const patchDeployment = (...patch: JsonPatch): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, patch);
const patchRevision = (...patch: JsonPatch): Promise<object> =>
  kube.patchJson(kinds.revision, { namespace, name: 'chat-00001' }, patch);
const apiPods = async (): Promise<unknown[]> => [
  (await see.workload('chat-00001-api')).spec,
  (await see.workload('chat-00001-queue')).spec,
];

describe('what never changes', () => {
  test.each<[string, JsonPatch]>([
    [
      'its id',
      [{ op: 'replace', path: '/spec/id', value: '22222222-2222-4222-8222-222222222222' }],
    ],
    ['its id, by taking it away first', [{ op: 'remove', path: '/spec/id' }]],
    ['its listener', [{ op: 'replace', path: '/spec/sourceConfig/listener', value: 'theirs' }]],
    [
      'its listener, by taking it away first',
      [{ op: 'remove', path: '/spec/sourceConfig/listener' }],
    ],
    [
      'its listener, by taking all beside it away, too',
      [{ op: 'remove', path: '/spec/sourceConfig' }],
    ],
    ['its source', [{ op: 'replace', path: '/spec/source', value: 'git' }]],
    ['its whole spec, by taking it away first', [{ op: 'remove', path: '/spec' }]],
  ])('of a deployment: %s', async (_, patch) => {
    await expect(patchDeployment(...patch)).rejects.toBeInstanceOf(KubeRefused);
  });

  test('what was left out at creation can not be set afterwards either', async () => {
    await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'bare' } }));
    const set = (path: string, value: unknown) =>
      kube.patchJson(kinds.deployment, { namespace, name: 'bare' }, [{ op: 'add', path, value }]);
    await expect(set('/spec/id', ID)).rejects.toBeInstanceOf(KubeRefused);
    await expect(set('/spec/sourceConfig', { listener: 'default' })).rejects.toBeInstanceOf(
      KubeRefused,
    );
    await expect(
      set('/spec/sourceConfig', { repoUrl: 'https://git.example/a' }),
    ).rejects.toBeInstanceOf(KubeRefused);
  });

  test.each<[string, JsonPatch]>([
    [
      'its image',
      [{ op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'evil:1' }],
    ],
    ['its Secret', [{ op: 'replace', path: '/spec/template/secretName', value: 'theirs' }]],
    ['its whole spec, by taking it away first', [{ op: 'remove', path: '/spec' }]],
  ])('of a revision: %s', async (_, patch) => {
    await expect(patchRevision(...patch)).rejects.toBeInstanceOf(KubeRefused);
  });

  test('there is no scale to change behind the spec', async () => {
    const scale = { ...kinds.revision, plural: 'revisions/chat-00001/scale' };
    await expect(kube.get(scale, { namespace, name: '' })).rejects.toBeInstanceOf(NotFound);
  });
});

test('a key swapped inside a part of a pod is refused by the API server', async () => {
  const before = await apiPods();
  await expect(
    patchRevision({
      op: 'replace',
      path: '/spec/template/resourceSpec/sidecars/0/securityContext',
      value: { privileged: true },
    }),
  ).rejects.toBeInstanceOf(KubeRefused);
  expect(await apiPods()).toEqual(before);
});

test('parts of a pod take what Kubernetes knows, and keep nothing else', async () => {
  const emptyDir = { medium: 'Memory', sizeLimit: 1000, nested: { nested: { nested: {} } } };
  const volumes = [{ name: 'scratch', emptyDir: emptyDir as never }];
  const made = await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name: 'parts' },
      template: { resourceSpec: { volumes } },
    }),
  );
  expect(made.spec.template.resourceSpec?.volumes).toEqual([
    { name: 'scratch', emptyDir: { medium: 'Memory', sizeLimit: 1000 } },
  ]);
});

test('a status that somebody writes is put right again, and moves no traffic', async () => {
  const selector = async (): Promise<string> =>
    JSON.stringify((await see.service('chat-agent')).spec);
  const before = await selector();
  await kube.patchStatus(
    kinds.deployment,
    { namespace, name: 'chat' },
    { activeRevision: 'chat-00099', phase: 'UNUSED', url: 'http://evil' },
  );
  await until('it is put right', async () => {
    const { status } = await see.deployment('chat');
    return (
      status?.activeRevision === 'chat-00001' &&
      status.phase === 'READY' &&
      status.url?.includes('evil') === false
    );
  });
  expect(await selector()).toBe(before);
  expect(await apiPods()).toMatchObject([{ replicas: 1 }, { replicas: 1 }]);
});

test('a revision deleted and made again with another content is no part of the deployment', async () => {
  await patchDeployment({
    op: 'replace',
    path: '/spec/template/sourceRevisionConfig/imageUri',
    value: 'agent:2',
  });
  await see.untilReady('chat');
  const active = (await see.deployment('chat')).status?.activeRevision ?? '';
  const { metadata, spec } = await see.revision(active);
  await patchDeployment({ op: 'add', path: '/spec/suspend', value: true });
  await until(
    'it is left alone',
    async () => conditionOf(await see.deployment('chat'), 'Suspended') === 'True',
  );
  await kube.delete(kinds.revision, { namespace, name: active });
  await until('it is gone', () =>
    see.revision(active).then(
      () => false,
      (error: unknown) => error instanceof NotFound,
    ),
  );
  const forged = {
    ...spec,
    template: { ...spec.template, sourceRevisionConfig: { imageUri: 'evil:1' } },
  };
  const owners = metadata.ownerReferences ?? [];
  await kube.create(kinds.revision, {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Revision',
    metadata: { name: active, namespace, ownerReferences: owners },
    spec: forged,
  });
  await patchDeployment({ op: 'replace', path: '/spec/suspend', value: false });
  await until(
    'it is refused',
    async () => (await see.revision(active)).status?.reason === 'SpecChanged',
  );
  const pods = await kube.listAll(kinds.pod, { namespace });
  expect(JSON.stringify(pods)).not.toContain('evil:1');
});

test('the value of a secret stands in no resource, event or audit line, nor in metrics, nor in what the operator logs', async () => {
  const seen = await Promise.all(
    [
      kinds.deployment,
      kinds.revision,
      kinds.event,
      kinds.workload,
      kinds.pod,
      kinds.statefulSet,
      kinds.service,
    ].map((kind) => kube.listAll<KubeObject>(kind, { namespace })),
  );
  const metrics = await (await fetch(`http://127.0.0.1:${operator.port}/metrics`)).text();
  expect(logged.length).toBeGreaterThan(0);
  const everything =
    JSON.stringify(seen) + metrics + logged.join('') + readFileSync(inject('auditLog'), 'utf8');
  // This covers the Secrets that the operator makes itself as well: passwords and keys of the database.
  const secrets = (await kube.listAll(kinds.secret, { namespace })) as (KubeObject & {
    data: Record<string, string>;
  })[];
  const made = secrets.flatMap(({ data }) => CONFIDENTIAL.flatMap((key) => data[key] ?? []));
  expect(made.length).toBeGreaterThan(CONFIDENTIAL.length);
  for (const value of [Buffer.from(CANARY).toString('base64'), ...made])
    for (const text of [value, Buffer.from(value, 'base64').toString()])
      expect(everything.includes(text)).toBe(false);
});
