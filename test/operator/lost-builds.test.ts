import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { auditEvents, type AuditEvent } from '../kit/audit-log.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';
import { startGitHubAppStub, type GitHubAppStub } from '../kit/github-app-stub.ts';
import { BUILDER, fromGit, newDeployment } from '../kit/objects.ts';
import type { OperatorGiven } from '../kit/operator.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { stagedStatus } from '../kit/status-of-stages.ts';
import { until } from '../kit/until.ts';

/* Builds with the token of a GitHub App, in both namespaces, and what is left of them when their revision is lost. */
const ID = '44444444-4444-4444-8444-444444444444';
const NEEDS = { reason: 'NeedsDockerfile', message: '"dockerfile_lines" needs BuildKit.' };
let git: GitHttp;
let github: GitHubAppStub;
let [stage, builds, buildkit, credentials]: Stage[] = [];

beforeAll(async () => {
  git = await startGitHttp();
  git.push('main');
  github = await startGitHubAppStub([]);
  const names = ['lost', 'lost-first', 'lost-second', 'lost-credentials'];
  [stage, builds, buildkit, credentials] = await Promise.all(names.map((name) => openStage(name)));
  const { kube, namespace } = stage!;
  stage!.startKubelet();
  const listener = {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace },
  };
  await kube.create(kinds.listener, {
    ...listener,
    spec: { computeId: 'test', namespaces: [namespace] },
  });
  const app = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'app', namespace: credentials!.namespace },
    type: 'Opaque',
  };
  await kube.create(kinds.secret, { ...app, stringData: github.app });
  const integration = {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'app', namespace },
  };
  const addresses = { host: git.url, apiUrl: `${github.url}/api/v3`, credentialSecret: 'app' };
  await kube.create(kinds.gitIntegration, {
    ...integration,
    spec: { id: ID, name: 'app', kind: 'github', ...addresses },
  });
}, 600_000);
afterAll(async () => {
  for (const one of [stage, builds, buildkit, credentials]) await one?.stop();
  await Promise.all([git.stop(), github.stop()]);
});

const start = (given: OperatorGiven = {}) => {
  const second = { namespace: buildkit!.namespace, image: 'registry.example/gx-buildkit:1' };
  const builder = {
    ...BUILDER,
    namespace: builds!.namespace,
    gitNamespace: credentials!.namespace,
    parallel: 5,
    buildkit: second,
  };
  return stage!.startOperator({ settings: { builder, gitHosts: [git.url, github.url] }, ...given });
};
const apply = (name: string) => {
  const sourceConfig = { integrationId: ID, repoUrl: `${git.url}/team/chat` };
  const given = fromGit('main', { metadata: { name }, spec: { source: 'git', sourceConfig } });
  return stage!.kube.create(kinds.deployment, newDeployment(stage!.namespace, given));
};
const made = (kind: Kind, name: string, { kube, namespace }: Stage): Promise<KubeObject[]> =>
  kube.listAll(kind, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component=build`,
  });
const podOf = (name: string, where: Stage): Promise<KubeObject> =>
  until(`the build of ${name} has a pod`, async () => (await made(kinds.pod, name, where))[0]);
/** How many Jobs and Secrets a build has in each namespace. */
const countOf = (name: string): Promise<number[]> =>
  Promise.all(
    [builds!, buildkit!].flatMap((where) =>
      [kinds.job, kinds.secret].map(async (kind) => (await made(kind, name, where)).length),
    ),
  );
const tell = async (name: string, what: Parameters<typeof stagedStatus>[0]) =>
  stage!.kube.patchStatus(
    kinds.pod,
    { namespace: builds!.namespace, name: (await podOf(name, builds!)).metadata.name },
    stagedStatus(what),
  );
const decoded = ({ data }: KubeObject): object =>
  Object.fromEntries(
    Object.entries((data ?? {}) as Record<string, string>).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString(),
    ]),
  );

test('each build gets a fresh token of the App in a Secret of its own, and never the key; what has ended or is lost leaves none behind', async () => {
  const first = await start({ identity: 'first' });
  const tokens: string[] = [];
  for (const name of ['stays', 'ends', 'gone', 'stays-lines', 'gone-lines']) {
    await apply(name);
    const pod = await podOf(name, builds!);
    const [secret] = await made(kinds.secret, name, builds!);
    expect(decoded(secret!)).toEqual({ token: github.given.at(-1), username: 'x-access-token' });
    const { volumes } = pod.spec as { volumes: { secret?: { secretName: string } }[] };
    expect(volumes.flatMap((volume) => volume.secret?.secretName ?? [])).toContain(
      secret!.metadata.name,
    );
    expect(JSON.stringify(pod.spec)).not.toContain('"secretName":"app"');
    tokens.push(github.given.at(-1)!);
    if (!name.endsWith('-lines')) continue;
    await tell(name, { failed: 'restore', message: JSON.stringify(NEEDS) });
    await podOf(name, buildkit!);
    const [lent] = await made(kinds.secret, name, buildkit!);
    expect(decoded(lent!)).toEqual({ token: github.given.at(-1), username: 'x-access-token' });
  }
  expect(new Set(tokens).size).toBe(5);
  await tell('ends', {
    failed: 'build',
    message: JSON.stringify({ reason: 'BuildFailed', message: 'no' }),
  });
  await first.stop();

  // Somebody removes finalizers while no operator works, so that nobody ends the builds.
  const { kube, namespace } = stage!;
  const remove = async (kind: Kind, name: string): Promise<void> => {
    await kube.patchJson(kind, { namespace, name }, [
      { op: 'add', path: '/metadata/finalizers', value: [] },
    ]);
    await kube.delete(kind, { namespace, name });
  };
  for (const name of ['gone', 'gone-lines']) {
    await remove(kinds.deployment, name);
    await remove(kinds.revision, `${name}-00001`);
  }
  const before = { plain: await countOf('stays'), lines: await countOf('stays-lines') };
  expect(before).toEqual({ plain: [1, 1, 0, 0], lines: [0, 0, 1, 1] });
  expect([await countOf('gone'), await countOf('gone-lines')]).toEqual([
    before.plain,
    before.lines,
  ]);

  const { userAgent } = await start({ identity: 'second', times: { sweep: 300 } });
  for (const name of ['gone', 'gone-lines'])
    await until(`nothing of ${name} is left`, async () =>
      (await countOf(name)).every((count) => count === 0),
    );
  await plantStray();
  await until(
    'a stray Secret is swept',
    async () => (await made(kinds.secret, 'stray', builds!)).length === 0,
  );
  expect({ plain: await countOf('stays'), lines: await countOf('stays-lines') }).toEqual(before);
  // The Job says how the build went. What it showed to its host is needed no more.
  await until(
    'the Secret of the build that has ended is gone',
    async () => (await countOf('ends')).join() === '1,0,0,0',
  );

  const requests = auditEvents(inject('auditLog'), userAgent).filter(
    ({ objectRef }) => objectRef?.namespace === builds!.namespace,
  );
  const removed = requests.findIndex(
    ({ verb, objectRef }) => verb === 'delete' && objectRef?.resource === 'jobs',
  );
  expect(removed).toBeGreaterThan(0);
  const isLook = ({ requestURI }: AuditEvent): boolean =>
    /\/jobs\?.*=build,gx\.dev\/revision-uid(&|$)/.test(decodeURIComponent(requestURI));
  expect(requests.slice(0, removed).filter(isLook).length).toBeGreaterThanOrEqual(2);
}, 600_000);

/** Makes a Secret of a build that never had a revision. When it is gone, two looks have begun since. */
async function plantStray(): Promise<void> {
  const labels = {
    'gx.dev/component': 'build',
    'gx.dev/deployment': 'stray',
    'gx.dev/revision-uid': 'stray',
  };
  const metadata = { name: 'stray', namespace: builds!.namespace, labels };
  await stage!.kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
  });
}
