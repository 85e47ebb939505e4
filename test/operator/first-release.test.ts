import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseVersionNotes } from '../../dev/release/changelog.ts';
import { requireCommit, exportCommit } from '../../dev/release/source.ts';
import type { ConnectedKube, KubeObject } from '../../src/kube/kube.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import { hashJson } from '../../src/schema/canonical-json.ts';
import { isObject } from '../../src/schema/json.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { OPERATOR_VERSION } from '../../src/schema/platform/objects/labels.ts';
import { operatorAccess } from '../../src/operator/access.ts';
import { readPlatformVersion } from '../../src/config/own-version.ts';
import { requireSupportedJump } from '../../src/operator/versions.ts';
import { accountWith } from '../kit/account.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { silentLog } from '../kit/log.ts';
import { newDeployment } from '../kit/objects.ts';
import { holderOf } from '../kit/operator-process.ts';
import { platformProcess, type PlatformProcess } from '../kit/platform-process.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { still, until } from '../kit/until.ts';

/*
 * The operator and the control plane of the first release, as processes from the commit that CHANGELOG.md names, then
 * those of this tree, on one API server. Definitions are upgraded first. What serves goes on.
 */
const TODAY = process.cwd();
const FIRST = parseVersionNotes(readFileSync('CHANGELOG.md', 'utf8'), '0.1.0').commit;
let server: ApiServer;
let stage: Stage;
let folder: string;
let key: string;
/** The kubeconfig of an account with the rights of the operator. */
let operators: string;
const running: PlatformProcess[] = [];

type Tree = { folder: string; name: string };
const first = (): Tree => ({ folder, name: 'first' });
const today: Tree = { folder: TODAY, name: 'today' };

/** Applies the definitions of a tree as its files have them. */
async function define(tree: Tree): Promise<void> {
  const files = readdirSync(join(tree.folder, 'crds')).filter((file) => file.endsWith('.yaml'));
  const read = files.map(
    (file) => parse(readFileSync(join(tree.folder, 'crds', file), 'utf8')) as KubeObject,
  );
  await Promise.all(
    read.map((definition) => stage.kube.apply(kinds.customResourceDefinition, definition)),
  );
  await until('the definitions are established', async () => {
    const live = await Promise.all(
      read.map(({ metadata }) =>
        stage.kube.get(kinds.customResourceDefinition, { name: metadata.name }),
      ),
    );
    return live.every(({ status }) => JSON.stringify(status).includes('"type":"Established"'));
  });
}

const environment = (): Record<string, string> => ({
  KUBECONFIG: server.kubeconfig,
  GX_NAMESPACE: stage.namespace,
  GX_WATCH_NAMESPACES: stage.namespace,
  GX_AGENT_NAMESPACES: stage.namespace,
  GX_SERVER_HOST: '127.0.0.1',
});

const start = (tree: Tree, args: string[], env: Record<string, string> = {}): PlatformProcess =>
  platformProcess(tree.folder, args, { ...environment(), ...env });

async function operate(tree: Tree): Promise<PlatformProcess> {
  const operator = start(tree, ['operator'], {
    GX_PROFILE: 'small',
    GX_HEALTH_PORT: '0',
    GX_IDENTITY: tree.name,
  });
  running.push(operator);
  await until(`the operator of ${tree.name} leads`, async () => {
    if (operator.output().includes('operator:')) throw new Error(operator.output());
    return (await holderOf(stage.kube, stage.namespace).catch(() => undefined)) === tree.name;
  });
  return operator;
}

type Call = <T>(method: string, path: string, body?: object) => Promise<T>;

async function serve(tree: Tree): Promise<{ call: Call; stop: PlatformProcess['stop'] }> {
  const plane = start(tree, ['control-plane'], {
    GX_SERVER_PORT: '0',
    GX_HEALTH_PORT: '0',
    GX_SHUTDOWN_DELAY_SECONDS: '0',
  });
  running.push(plane);
  const port = (): string => /"port":(\d+)/.exec(plane.output())?.[1] ?? '';
  await until('it listens', () => port() !== '');
  await until('it is ready', async () => (await fetch(`http://127.0.0.1:${port()}/readyz`)).ok);
  const call: Call = async <T>(method: string, path: string, body?: object) => {
    const headers: Record<string, string> = {
      'x-api-key': key,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const answer = await fetch(`http://127.0.0.1:${port()}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  return { call, stop: plane.stop };
}

beforeAll(async () => {
  const made = mkdtempSync(join(tmpdir(), 'gx-first-release-'));
  folder = join(made, 'tree');
  await exportCommit(TODAY, await requireCommit(TODAY, FIRST), folder, () => undefined);
  server = await startApiServer({ definitions: false });
  stage = await openStage('releases', server.kubeconfig);
  await define(first());
  stage.startKubelet();
  await stage.kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace: stage.namespace },
    spec: { computeId: 'test', namespaces: [stage.namespace] },
  });
  const command = start(first(), ['api-key', 'create', '--name', 'ci', '--quiet']);
  await command.closed;
  key = command.output().trim();
  const rules = [...operatorAccess.worked, ...operatorAccess.own];
  operators = await accountWith(stage.kube, {
    namespace: stage.namespace,
    kubeconfig: server.kubeconfig,
    rules,
  });
}, 480_000);
afterAll(async () => {
  await Promise.all(running.map((each) => each.stop()));
  await stage.stop();
  await server.stop();
  await rm(join(folder, '..'), { recursive: true, force: true });
});

const KEPT = [kinds.pod, kinds.workload, kinds.statefulSet, kinds.revision, kinds.service];

/** Returns every object whose change a user would notice: pods by their identity, others also by their spec. */
async function kept(): Promise<string[]> {
  const lists = await Promise.all(
    KEPT.map((kind) => stage.kube.listAll(kind, { namespace: stage.namespace })),
  );
  return lists
    .flat()
    .map(
      ({ kind, metadata, spec }) =>
        `${kind} ${metadata.name} ${metadata.uid} ${kind === 'Pod' ? '' : hashJson(spec)}`,
    )
    .toSorted();
}

const NAMES = ['chat', 'sized', 'stored'] as const;
const wanted: Record<(typeof NAMES)[number], object> = {
  chat: {},
  sized: { min_scale: 2, cpu: 0.1, db_storage_gi: 12, labels: { team: 'research' } },
  stored: { redis_memory_mb: 64 },
};
const creation = (name: (typeof NAMES)[number]): object => ({
  name,
  source: 'external_container',
  source_config: { resource_spec: wanted[name] },
  source_revision_config: { image_uri: 'registry.example/agent:1' },
  secrets: [{ name: 'TOKEN', value: name }],
});

async function lookedAt(request: string): Promise<void> {
  for (const name of NAMES) {
    await stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
      { op: 'test', path: '/metadata/name', value: name },
      { op: 'add', path: '/metadata/annotations/gx.dev~1reconcile-requested-at', value: request },
    ]);
    await until(
      `it has looked at ${name}`,
      async () => (await stage.see.deployment(name)).status?.lastHandledReconcileAt === request,
    );
    await stage.see.untilReady(name);
  }
}

test('deployments of the first release go on under the definitions and the processes of today, and back again', async () => {
  const old = await serve(first());
  const oldOperator = await operate(first());
  const made = await Promise.all(
    NAMES.map((name) => old.call<Deployment>('POST', '/v2/deployments', creation(name))),
  );
  for (const name of NAMES) await stage.see.untilReady(name);
  // The annotation that asks for a look is a change, too.
  const answer = async (call: Call, id: string) => ({
    ...(await call<Deployment>('GET', `/v2/deployments/${id}`)),
    updated_at: '',
  });
  const answers = (call: Call) => Promise.all(made.map(({ id }) => answer(call, id)));
  const shown = await answers(old.call);
  const before = await still('what serves', kept);
  expect(before.filter((line) => line.startsWith('Pod')).length).toBeGreaterThanOrEqual(10);

  await define(today);
  await lookedAt('under today');
  expect(await still('what serves under the definitions of today', kept)).toEqual(before);

  await Promise.all([oldOperator.stop(), old.stop()]);
  const [newOperator, plane] = [await operate(today), await serve(today)];
  await lookedAt('by today');
  expect(await still('what serves with the processes of today', kept)).toEqual(before);
  expect(await answers(plane.call)).toMatchObject(shown);
  const lease = await stage.kube.get(kinds.lease, {
    namespace: stage.namespace,
    name: 'gx-operator',
  });
  expect(lease.metadata.annotations?.[OPERATOR_VERSION]).toBe(readPlatformVersion());

  const [{ id }] = made as [Deployment];
  const changed = await plane.call<Deployment>('PATCH', `/v2/deployments/${id}`, {
    source_revision_config: { image_uri: 'registry.example/agent:2' },
  });
  await until(
    'the revision of today serves',
    async () => (await stage.see.deployment('chat')).status?.activeRevision === 'chat-00002',
  );
  await stage.see.untilReady('chat');
  expect(changed.latest_revision_id).not.toBe(shown[0]?.latest_revision_id);

  const after = await still('what serves after a revision of today', kept);
  await Promise.all([newOperator.stop(), plane.stop()]);
  const [back, former] = [await operate(first()), await serve(first())];
  await lookedAt('by the first release again');
  expect(await still('what serves after the way back', kept)).toEqual(after);
  expect((await answers(former.call)).map(({ status }) => status)).toEqual(
    NAMES.map(() => 'READY'),
  );
  await Promise.all([back.stop(), former.stop()]);
}, 240_000);

/** Says in the definitions that they are of this version, as a later release does. */
async function defineAs(version: string): Promise<void> {
  const file = readFileSync(join(TODAY, 'crds', 'gx.dev_deployments.yaml'), 'utf8');
  const text = file.replace(
    `Defined by gx-platform ${readPlatformVersion()}.`,
    `Defined by gx-platform ${version}.`,
  );
  await stage.kube.apply(kinds.customResourceDefinition, parse(text) as KubeObject);
}

/** Waits until the API server publishes definitions of these versions, and of no others. */
const untilPublished = (
  kube: Pick<ConnectedKube, 'openApi'>,
  versions: string[],
): Promise<boolean> =>
  until('the API server publishes the definitions', async () => {
    const text = JSON.stringify(await kube.openApi(API_VERSION));
    const found = new Set(
      [...text.matchAll(/Defined by gx-platform ([\d.]+)\./g)].map(([, version]) => version),
    );
    return found.size === versions.length && versions.every((version) => found.has(version));
  });

test('definitions of a newer version stop the start of the operator with a sentence, and nothing changes', async () => {
  const before = await still('what serves', kept);
  await defineAs('99.1.0');
  const kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/releases',
    kubeconfig: server.kubeconfig,
  });
  await untilPublished(kube, ['99.1.0', readPlatformVersion()]);
  await kube.close();
  const operator = start(today, ['operator'], { GX_HEALTH_PORT: '0', GX_IDENTITY: 'too-old' });
  expect(await operator.closed).toBe(1);
  expect(operator.output()).toContain('the custom resource definitions have version 99.1.0');
  expect(operator.output()).toContain(`this operator has ${readPlatformVersion()}`);
  expect(await kept()).toEqual(before);
  await defineAs(readPlatformVersion());
});

test('an operator that is two minor versions newer than the last one does not start', async () => {
  const kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/releases',
    kubeconfig: server.kubeconfig,
  });
  const config = { namespace: stage.namespace, leaseName: 'gx-operator' };
  const jump = (own: string): Promise<void> =>
    requireSupportedJump({ kube, config, log: silentLog(), own }, AbortSignal.timeout(30_000));
  await untilPublished(kube, [readPlatformVersion()]);
  const [major, minor] = readPlatformVersion().split('.').map(Number) as [number, number];
  await expect(jump(`${major}.${minor + 2}.0`)).rejects.toThrow(
    `install ${major}.${minor + 1} first`,
  );
  await expect(jump(`${major}.${minor + 1}.0`)).resolves.toBeUndefined();
  await kube.close();
});

/** Returns the paths of fields that an object had before, and has no more. */
const lostOf = (before: unknown, after: unknown, at: string): string[] =>
  isObject(before) && isObject(after)
    ? Object.entries(before).flatMap(([name, value]) =>
        name in after ? lostOf(value, after[name], `${at}.${name}`) : [`${at}.${name}`],
      )
    : [];

/** Runs the check against these definitions, with the rights of the operator. Returns its exit code and its lines. */
async function checkDowngrade(
  definitions: string[],
): Promise<{ code: number | null; output: string }> {
  const file = join(folder, '..', 'definitions.yaml');
  writeFileSync(file, definitions.join('\n---\n'));
  const { closed, output } = start(today, ['downgrade-check', '--crds', file], {
    KUBECONFIG: operators,
  });
  return { code: await closed, output: output() };
}

const definitionsOf = (tree: Tree): string[] =>
  readdirSync(join(tree.folder, 'crds')).map((file) =>
    readFileSync(join(tree.folder, 'crds', file), 'utf8'),
  );

test('the fields that the definitions of the first release drop are named before they are applied, and no others', async () => {
  const { namespace, kube } = stage;
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1', placement: { nodeSelector: { pool: 'agents' } } },
  };
  const spec = { database: { storageClass: 'fast' } };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'placed' }, spec, template }),
  );
  const before = (await stage.see.deployment('placed')).spec;
  expect(before).toMatchObject({ ...spec, template });
  const { code, output } = await checkDowngrade(definitionsOf(first()));
  expect([code, output]).toEqual([1, expect.stringContaining('Nothing is changed.')]);
  expect((await stage.see.deployment('placed')).spec).toEqual(before);

  await define(first());
  const lost = await until('the former definitions count', async () => {
    const now = lostOf(before, (await stage.see.deployment('placed')).spec, 'spec');
    return now.length > 0 && now;
  });
  expect(lost).toContain('spec.template.sourceRevisionConfig.placement');
  expect(output).toContain(`Deployment ${namespace}/placed: ${lost.join(', ')}\n`);
  await define(today);
}, 60_000);

test('definitions of today drop nothing, and a file without definitions is refused', async () => {
  expect(await checkDowngrade(definitionsOf(today))).toEqual({
    code: 0,
    output: 'Those definitions have each field that is stored.\n',
  });
  expect(await checkDowngrade(['kind: Service'])).toEqual({
    code: 1,
    output: expect.stringContaining('no CustomResourceDefinition of gx.dev'),
  });
});
