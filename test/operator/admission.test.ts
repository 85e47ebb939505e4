import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import { runApiKeyCommand } from '../../src/control-plane/auth/command.ts';
import { startControlPlane } from '../../src/control-plane/start.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { FINALIZER, WAKE } from '../../src/schema/platform/objects/labels.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { renderer } from '../charts/render.ts';
import { accountWith, kubeconfigOf, untilMay } from '../kit/account.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { auditEvents } from '../kit/audit-log.ts';
import { fakeKubelet, type FakeKubelet } from '../kit/fake-kubelet.ts';
import { silentLog } from '../kit/log.ts';
import { look, operatorFor, type RunningOperator } from '../kit/operator.ts';
import { until } from '../kit/until.ts';

/*
 * The chart's own accounts, Roles and admission policies on an API server of their own. Agents also run in the
 * platform's namespace here, because there the accounts can do most.
 */
const SYSTEM = 'gx-system';
const AGENTS = 'gx-agents';
const REGISTRY = 'registry.example.com/agents';
const INSTALLED =
  /^(Namespace|Listener|ServiceAccount|Role|RoleBinding|ValidatingAdmissionPolicy(Binding)?)$/;

let server: ApiServer;
let kube: Kube;
let accounts: Record<'operator' | 'control-plane' | 'api-key' | 'gateway', Kube>;
let files: Record<keyof typeof accounts, string>;
let operator: RunningOperator;
let kubelets: FakeKubelet[];

const kindOf = ({ apiVersion, kind, metadata }: KubeObject): Kind => ({
  apiVersion,
  kind,
  plural: `${kind.toLowerCase()}s`.replace('policys', 'policies'),
  namespaced: metadata.namespace !== undefined,
});

beforeAll(async () => {
  server = await startApiServer();
  kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/admission',
    kubeconfig: server.kubeconfig,
  });
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: SYSTEM },
  });
  const { chart } = await renderer();
  const objects = (await chart({
    agents: { namespaces: [AGENTS, SYSTEM] },
    builds: { registry: REGISTRY, pullSecret: 'pull' },
  })) as unknown as KubeObject[];
  for (const object of objects.filter(({ kind }) => INSTALLED.test(kind)))
    await kube.apply(kindOf(object), object);
  for (const namespace of [AGENTS, SYSTEM])
    await untilMay(kube, `${SYSTEM}:gx-operator`, 'create secrets', namespace);
  const account = async (name: string) => {
    const kubeconfig = await kubeconfigOf(kube, {
      namespace: SYSTEM,
      kubeconfig: server.kubeconfig,
      name: `gx-${name}`,
    });
    // The path is that of the namespace, which all accounts share here.
    const own = `${kubeconfig}.${name}`;
    await rename(kubeconfig, own);
    return {
      own,
      kube: await connect({
        fieldManager: `gx-${name}`,
        userAgent: `gx-${name}/admission`,
        kubeconfig: own,
      }),
    };
  };
  const [op, plane, key] = [
    await account('operator'),
    await account('control-plane'),
    await account('api-key'),
  ];
  const gateway = await account('gateway');
  accounts = {
    operator: op.kube,
    'control-plane': plane.kube,
    'api-key': key.kube,
    gateway: gateway.kube,
  };
  files = {
    operator: op.own,
    'control-plane': plane.own,
    'api-key': key.own,
    gateway: gateway.own,
  };
  await inForce('gx-secrets.gx-system', () =>
    op.kube.create(kinds.secret, tokenOf('gx-operator', AGENTS), { dryRun: true }),
  );
  await inForce('gx-children.gx-system', () =>
    op.kube.create(kinds.workload, workload(AGENTS, {}, {}), { dryRun: true }),
  );
  kubelets = [fakeKubelet(kube, AGENTS)];
  operator = await operatorFor(
    { namespace: SYSTEM, kubeconfig: op.own },
    { config: { namespaces: [AGENTS] }, times: { sweep: 500 } },
  );
  await operator.leading;
}, 1_200_000);
afterAll(async () => {
  await operator.stop();
  for (const kubelet of kubelets) await kubelet.stop();
  for (const own of Object.values(accounts)) await own.close();
  await kube.close();
  await server.stop();
});

/** Waits until the API server has taken a policy up. It takes up each at its own time. */
const inForce = (policy: string, refused: () => Promise<unknown>): Promise<true> =>
  until(`the policy ${policy} is in force`, () =>
    refused().then(
      () => false,
      (error: Error) => error.message.includes(`ValidatingAdmissionPolicy '${policy}'`),
    ),
  );

const secret = (name: string, namespace: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  ...more,
});
const tokenOf = (account: string, namespace: string): KubeObject =>
  secret('token', namespace, {
    type: 'kubernetes.io/service-account-token',
    metadata: {
      name: 'token',
      namespace,
      annotations: { 'kubernetes.io/service-account.name': account },
    },
  });

/** A workload as the operator makes it, in which the pod may be another. */
function workload(
  namespace: string,
  pod: object = {},
  labels: Record<string, string> = { 'gx.dev/deployment': 'chat' },
): KubeObject {
  const selector = { app: 'x' };
  const spec = { containers: [{ name: 'x', image: 'x' }], ...pod };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'made', namespace, labels },
    spec: {
      replicas: 0,
      selector: { matchLabels: selector },
      template: { metadata: { labels: selector }, spec },
    },
  };
}

const autoscaler: KubeObject = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'made', namespace: AGENTS },
  spec: {
    maxReplicas: 2,
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'foreign' },
  },
};

describe('an account of the platform can not', () => {
  beforeAll(async () => {
    await kube.create(kinds.secret, secret('foreign', AGENTS, { stringData: { a: 'b' } }));
    await kube.create(
      kinds.secret,
      secret('sh.helm.release.v1.gx.v1', SYSTEM, { type: 'helm.sh/release.v1' }),
    );
    await kube.create(
      kinds.secret,
      secret('chat-db', AGENTS, {
        metadata: { name: 'chat-db', namespace: AGENTS, labels: { 'gx.dev/deployment': 'c' } },
      }),
    );
    await kube.create(kinds.workload, {
      ...workload(AGENTS, {}, {}),
      metadata: { name: 'foreign', namespace: AGENTS },
    });
    await kube.create(kinds.autoscaler, { ...autoscaler, metadata: foreign });
    await kube.create(kinds.deployment, {
      apiVersion: 'gx.dev/v1alpha1',
      kind: 'Deployment',
      metadata: {
        name: 'held',
        namespace: SYSTEM,
        finalizers: [FINALIZER],
        annotations: { mine: 'yes' },
      },
      spec: { source: 'external_container', template: { sourceRevisionConfig: { imageUri: 'x' } } },
    });
    await kube.create(kinds.gitIntegration, {
      apiVersion: 'gx.dev/v1alpha1',
      kind: 'GitIntegration',
      metadata: { name: 'git', namespace: SYSTEM },
      spec: { name: 'git', kind: 'generic', host: 'https://git.example' },
    });
    const label = [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }] as const;
    await inForce('gx-resources.gx-system', () =>
      accounts.gateway.patchJson(kinds.deployment, held, [...label], { dryRun: true }),
    );
  });
  const foreign = { namespace: AGENTS, name: 'foreign' };
  const held = { namespace: SYSTEM, name: 'held' };
  const attempts: [keyof typeof accounts, string, (own: Kube) => Promise<unknown>][] = [
    [
      'operator',
      'make a token of another account',
      (own) => own.create(kinds.secret, tokenOf('gx-control-plane', SYSTEM)),
    ],
    [
      'control-plane',
      'make a token of the operator',
      (own) => own.create(kinds.secret, tokenOf('gx-operator', SYSTEM)),
    ],
    [
      'api-key',
      'make a token of the operator',
      (own) => own.create(kinds.secret, tokenOf('gx-operator', SYSTEM)),
    ],
    [
      'operator',
      'change a Secret of somebody else',
      (own) =>
        own.patchJson(kinds.secret, foreign, [{ op: 'add', path: '/data/c', value: 'ZA==' }]),
    ],
    ['operator', 'delete a Secret of somebody else', (own) => own.delete(kinds.secret, foreign)],
    [
      'control-plane',
      'delete a Secret of somebody else',
      (own) => own.delete(kinds.secret, foreign),
    ],
    [
      'control-plane',
      "delete a database's credentials",
      (own) => own.delete(kinds.secret, { namespace: AGENTS, name: 'chat-db' }),
    ],
    [
      'api-key',
      "delete Helm's record of the release",
      (own) => own.delete(kinds.secret, { namespace: SYSTEM, name: 'sh.helm.release.v1.gx.v1' }),
    ],
    [
      'operator',
      'make an API key',
      (own) => own.create(kinds.secret, secret('gx-api-key-0123456789abcdef', SYSTEM)),
    ],
    [
      'control-plane',
      'make an API key under another name',
      (own) =>
        own.create(
          kinds.secret,
          secret('other', SYSTEM, {
            metadata: { name: 'other', namespace: SYSTEM, labels: { 'gx.dev/api-key': 'x' } },
          }),
        ),
    ],
    [
      'operator',
      'make a workload of no deployment',
      (own) => own.create(kinds.workload, workload(AGENTS, {}, {})),
    ],
    [
      'operator',
      'delete a workload of somebody else',
      (own) => own.delete(kinds.workload, foreign),
    ],
    [
      'operator',
      'mount the files of a node',
      (own) =>
        own.create(
          kinds.workload,
          workload(SYSTEM, { volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
        ),
    ],
    [
      'operator',
      'start a pod in the network of a node',
      (own) => own.create(kinds.workload, workload(SYSTEM, { hostNetwork: true })),
    ],
    [
      'operator',
      'start a pod with an account of the platform',
      (own) =>
        own.create(kinds.workload, workload(SYSTEM, { serviceAccountName: 'gx-control-plane' })),
    ],
    [
      'operator',
      'start a pod with the account of the console',
      (own) => own.create(kinds.workload, workload(SYSTEM, { serviceAccountName: 'gx-console' })),
    ],
    [
      'operator',
      'make an autoscaler of no deployment',
      (own) => own.create(kinds.autoscaler, autoscaler),
    ],
    [
      'operator',
      'delete an autoscaler of somebody else',
      (own) => own.delete(kinds.autoscaler, foreign),
    ],
    [
      'operator',
      'change what a Deployment asks for',
      (own) =>
        own.patchJson(kinds.deployment, held, [{ op: 'add', path: '/spec/suspend', value: true }]),
    ],
    [
      'control-plane',
      'take a finalizer away',
      (own) =>
        own.patchJson(kinds.deployment, held, [{ op: 'remove', path: '/metadata/finalizers' }]),
    ],
    [
      'control-plane',
      'lead a GitIntegration to another host',
      (own) =>
        own.patchJson(kinds.gitIntegration, { namespace: SYSTEM, name: 'git' }, [
          { op: 'replace', path: '/spec/host', value: 'https://elsewhere.example' },
        ]),
    ],
    [
      'gateway',
      'change what a Deployment asks for',
      (own) =>
        own.patchJson(kinds.deployment, held, [
          { op: 'add', path: '/spec/hibernate', value: true },
        ]),
    ],
    [
      'gateway',
      'label a Deployment',
      (own) =>
        own.patchJson(kinds.deployment, held, [
          { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
        ]),
    ],
    [
      'gateway',
      'take a finalizer away',
      (own) =>
        own.patchJson(kinds.deployment, held, [{ op: 'remove', path: '/metadata/finalizers' }]),
    ],
    [
      'gateway',
      'ask for another reconcile, or a new key',
      (own) =>
        own.patchJson(kinds.deployment, held, [
          { op: 'add', path: '/metadata/annotations/gx.dev~1reconcile-requested-at', value: 'x' },
        ]),
    ],
    [
      'gateway',
      'change or remove an annotation of somebody else',
      (own) =>
        own.patchJson(kinds.deployment, held, [
          { op: 'remove', path: '/metadata/annotations/mine' },
        ]),
    ],
  ];

  test.each(attempts)('%s: %s', async (account, _what, attempt) => {
    await expect(attempt(accounts[account])).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(
        /ValidatingAdmissionPolicy 'gx-(secrets|children|resources)[.]gx-system'/,
      ),
    });
  });

  test('but the gateway asks a deployment to wake, again and again', async () => {
    for (const since of ['2026-01-05T00:00:00Z', '2026-01-06T00:00:00Z']) {
      const metadata = { ...held, annotations: { [WAKE]: since } };
      await accounts.gateway.apply<KubeObject>(kinds.deployment, {
        apiVersion: 'gx.dev/v1alpha1',
        kind: 'Deployment',
        metadata,
      });
      expect((await kube.get(kinds.deployment, held)).metadata.annotations).toEqual({
        mine: 'yes',
        [WAKE]: since,
      });
    }
  });

  test.each<[string, (own: Kube) => Promise<unknown>]>([
    ['reads no Secret', (own) => own.get(kinds.secret, foreign)],
    ['reads no pod', (own) => own.listAll(kinds.pod, { namespace: AGENTS })],
    ['writes no status', (own) => own.patchStatus(kinds.deployment, held, { keyHashes: [] })],
    ['deletes no deployment', (own) => own.delete(kinds.deployment, held)],
  ])('and the gateway %s, because its Role has no such right', async (_what, attempt) => {
    await expect(attempt(accounts.gateway)).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/cannot/),
    });
  });

  test('and somebody else is not asked', async () => {
    expect(
      await kube.create(kinds.secret, tokenOf('gx-operator', AGENTS), { dryRun: true }),
    ).toMatchObject({ kind: 'Secret' });
  });
});

test('the command by which people make keys starts a pod that the strictest pod security lets through', async () => {
  const guide = readFileSync('docs/how-to/install.md', 'utf8');
  const [, command = ''] = /^api-key\(\) \{\n([^]*?)\n\}$/m.exec(guide) ?? [];
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await kube.apply(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: SYSTEM, labels },
  });
  const { kubectl } = await ensureTools(['kubectl']);
  const asked = command
    .replace('--rm --stdin --quiet', '--dry-run=server -o yaml')
    .replace(/"\$\(kubectl.*?\)"/, 'registry.example/gx-platform:1')
    .replace('"$@"', 'list');
  const script = `kubectl() { ${kubectl} --kubeconfig=${server.kubeconfig} "$@"; }\n${asked}`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script]);
  const pod = parse(stdout) as {
    spec: { serviceAccountName: string; containers: { args: string[]; env: object[] }[] };
  };
  expect(pod.spec).toMatchObject({
    serviceAccountName: 'gx-api-key',
    containers: [{ args: ['api-key', 'list'], env: [{ name: 'GX_NAMESPACE', value: SYSTEM }] }],
  });
});

test('the platform does all of its work under the policies, without one refusal', async () => {
  const printed: string[] = [];
  const config = {
    ...readControlPlaneConfig({}),
    host: '127.0.0.1',
    port: 0,
    healthPort: 0,
    namespace: SYSTEM,
    namespaces: [AGENTS],
    shutdownDelaySeconds: 0,
  };
  const make = ['create', '--name', 'ci', '--role', 'admin', '--quiet'];
  await runApiKeyCommand(make, {
    kube: accounts['api-key'],
    config,
    out: (line) => printed.push(line),
  });
  const [key = ''] = printed;
  const agent = {
    fieldManager: 'gx-control-plane',
    userAgent: 'gx-control-plane/at-work',
    kubeconfig: files['control-plane'],
  };
  const stopping = new AbortController();
  const own = {
    kube: await connect(agent),
    keys: await connect(agent),
    logs: await connect(agent),
  };
  const plane = await startControlPlane({
    config,
    ...own,
    log: silentLog(),
    signal: stopping.signal,
  });
  const url = `http://127.0.0.1:${plane.port}`;
  await until('the control plane is ready', async () => (await fetch(`${url}/readyz`)).ok);
  const call = async <T>(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: T }> => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as T };
  };
  const secrets = [{ name: 'A', value: 'b' }];
  const made = await call<Deployment>('POST', '/v2/deployments', {
    name: 'worker',
    source: 'external_container',
    source_config: { resource_spec: {} },
    source_revision_config: { image_uri: 'registry.example/agent:1' },
    secrets,
  });
  expect(made).toMatchObject({ status: 201 });
  const path = `/v2/deployments/${made.body.id}`;
  await look(kube, AGENTS).untilReady('worker');
  expect((await call('PATCH', path, { secrets: [{ name: 'A', value: 'c' }] })).status).toBe(200);
  await look(kube, AGENTS).untilReady('worker');
  expect(
    (await call('POST', `${path}/revisions/${made.body.latest_revision_id}/redeploy`)).status,
  ).toBe(200);
  const passwordRequestedAt = '2026-01-05T00:00:00Z';
  await kube.patchJson(kinds.deployment, { namespace: AGENTS, name: 'worker' }, [
    { op: 'add', path: '/spec/database', value: { passwordRequestedAt } },
  ]);
  const password = async () =>
    (await look(kube, AGENTS).deployment('worker')).status?.passwordRequestedAt;
  await until('the password is changed', async () => (await password()) === passwordRequestedAt);
  expect((await call('DELETE', `${path}?delete_data=true`)).status).toBe(204);
  await until('it is gone', async () => (await call('GET', path)).status === 404);
  await runApiKeyCommand(['list'], {
    kube: accounts['api-key'],
    config,
    out: (line) => printed.push(line),
  });
  expect(printed.at(-1)).toContain(' ci');
  stopping.abort();
  await plane.stop();
  const users = [operator.userAgent, agent.userAgent];
  const refused = users
    .flatMap((user) => auditEvents(server.auditLog, user))
    .filter(({ responseStatus }) => responseStatus?.code === 403);
  expect(refused).toEqual([]);
});

test('with the policy of the guide, an owner who may label a namespace has it join a tenant, and makes it no gateway', async () => {
  const namespace = 'owned';
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  const rules = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'patch'] }];
  const kubeconfig = await accountWith(kube, { namespace, kubeconfig: server.kubeconfig, rules });
  const owner = await connect({ fieldManager: 'owner', userAgent: 'owner/admission', kubeconfig });
  const label = (own: Kube, key: string, value?: string): Promise<KubeObject> => {
    const path = `/metadata/labels/gx.dev~1${key}`;
    return own.patchJson(kinds.namespace, { name: namespace }, [
      value === undefined ? { op: 'remove', path } : { op: 'add', path, value },
    ]);
  };
  const guide = readFileSync(new URL('../../docs/how-to/network.md', import.meta.url), 'utf8');
  const yaml = guide.split('```yaml\n').find((part) => part.includes('gx-gateway-label')) ?? '';
  for (const { contents } of parseAllDocuments(yaml.split('```')[0] ?? '')) {
    const object = contents?.toJSON() as KubeObject;
    await kube.apply(kindOf(object), object);
  }
  const refusal = (value?: string): Promise<string> =>
    label(owner, 'gateway', value).then(String, ({ message }: Error) => message);
  // A value that is already there would be no change.
  let attempt = 0;
  await until('it is in force', async () =>
    /Only administrators/.test(await refusal(`attempt-${++attempt}`)),
  );
  await label(owner, 'tenant', 'other');
  await label(kube, 'gateway', 'true');
  await label(owner, 'tenant', 'another');
  expect(await refusal()).toMatch(/Only administrators/);
  await owner.close();
});

describe('a user of kubectl', () => {
  const image = (namespace: string): string => `${REGISTRY}/${namespace}/other:other-00001`;
  const own = image(AGENTS);
  const making = (
    name: string,
    { uri = own, ...resourceSpec }: Record<string, unknown> & { uri?: string },
  ): Promise<string> => {
    const spec = {
      source: 'external_container',
      template: { sourceRevisionConfig: { imageUri: uri }, resourceSpec },
    };
    const object = {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      metadata: { name, namespace: AGENTS },
      spec,
    };
    return kube.create(kinds.deployment, object as never, { dryRun: true }).then(
      () => 'made',
      ({ message }: Error) => message,
    );
  };

  test('runs no image that was built for a deployment of another namespace, and has no node pull one', async () => {
    expect(await making('fine', {})).toBe('made');
    expect(await making('peek', { uri: image('team-b') })).toMatch(
      /built are for deployments of their own namespace/,
    );
    for (const other of [
      'Registry.example.com',
      'registry.example.com:443',
      'registry.example.com:0443',
    ])
      expect(
        await making('peek', { uri: image('team-b').replace('registry.example.com', other) }),
      ).toMatch(/their own namespace/);
    expect(
      await making('fine', {
        uri: image(AGENTS).replace('registry.example.com', 'registry.example.com:443'),
      }),
    ).toBe('made');
    expect(
      await making('fine', {
        uri: image('team-b').replace('registry.example.com', 'registry-example.com'),
      }),
    ).toBe('made');
    for (const field of ['initContainers', 'sidecars'])
      expect(await making('peek', { [field]: [{ name: 'x', image: image('team-b') }] })).toMatch(
        /their own namespace/,
      );
    expect(await making('pull', { imagePullSecrets: [{ name: 'pull' }] })).toMatch(
      /The pull credential of builds/,
    );
    expect(await making('own-pull', { imagePullSecrets: [{ name: 'mine' }] })).toBe('made');
  });

  test('is warned where no operator watches, and not in namespaces of this or another installation', async () => {
    const { kubectl } = await ensureTools(['kubectl']);
    const labels = { 'app.kubernetes.io/part-of': 'gx-platform' };
    await kube.create(kinds.namespace, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'of-another', labels },
    });
    const applyTo = async (namespace: string): Promise<string> => {
      const file = 'config/samples/deployment.yaml';
      const sample = readFileSync(file, 'utf8').replace(/namespace: .*/, `namespace: ${namespace}`);
      const flags = ['--kubeconfig', server.kubeconfig, 'apply', '--dry-run=server', '-f', '-'];
      const applying = promisify(execFile)(kubectl, flags);
      applying.child.stdin?.end(sample);
      const { stdout, stderr } = await applying;
      expect(stdout).toContain('created (server dry run)');
      return stderr;
    };
    let warning = '';
    await until('the policy gx-namespaces is in force', async () => {
      warning = await applyTo('default');
      return warning !== '';
    });
    expect(warning).toMatch(/^Warning: .*: the platform in gx-system does not watch the namespace/);
    expect(warning).toContain(`Apply it to a watched one, such as ${AGENTS}, or add default to`);
    expect([await applyTo(AGENTS), await applyTo('of-another')]).toEqual(['', '']);
  });
});
