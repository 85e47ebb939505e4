import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { PUSHED_AT, RECONCILE_NOW } from '../../src/schema/platform/objects/labels.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';
import { BUILDER, fromGit, newDeployment } from '../kit/objects.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* A branch of a git host that sends no events: the operator looks at it from time to time. */
const ID = '44444444-4444-4444-8444-444444444444';
/** An integration whose branches are looked at each hour. */
const RARE = '55555555-5555-4555-8555-555555555555';
let git: GitHttp;
let [stage, builds]: Stage[] = [];

beforeAll(async () => {
  git = await startGitHttp();
  [stage, builds] = await Promise.all(['polled', 'polled-builds'].map((name) => openStage(name)));
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
  const integration = {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'local', namespace },
  };
  await kube.create(kinds.gitIntegration, {
    ...integration,
    spec: { id: ID, name: 'local', kind: 'generic', host: git.url },
  });
  const rare = {
    id: RARE,
    name: 'rare',
    kind: 'generic' as const,
    host: git.url,
    pollSeconds: 3600,
  };
  await kube.create(kinds.gitIntegration, {
    ...integration,
    metadata: { name: 'rare', namespace },
    spec: rare,
  });
  const builder = { ...BUILDER, namespace: builds!.namespace };
  await stage!.startOperator({ settings: { builder, pollSeconds: 1, gitHosts: [git.url] } });
}, 600_000);
afterAll(async () => {
  for (const one of [stage, builds]) await one?.stop();
  await git.stop();
});

/** The commit of each revision of a deployment, by the revision's name. */
const revisions = async (name: string): Promise<Record<string, string | undefined>> => {
  const { kube, namespace } = stage!;
  const all = await kube.listAll(kinds.revision, {
    namespace,
    labelSelector: `gx.dev/deployment=${name}`,
  });
  return Object.fromEntries(all.map(({ metadata, spec }) => [metadata.name, spec.commit]));
};
/** Waits until the branch has been looked at three times more, so that one look at least began after this call. */
const untilLookedAgain = async (): Promise<void> => {
  const looks = (): number => git.asked.filter((request) => request.endsWith('/info/refs')).length;
  const before = looks();
  await until('the branch was looked at again', async () => looks() >= before + 3);
};

test('a commit to the branch that is followed makes one revision without any event, and a commit to another branch none', async () => {
  const first = git.push('main');
  const sourceConfig = { integrationId: ID, repoUrl: `${git.url}/team/chat`, buildOnPush: true };
  const { kube, namespace, see } = stage!;
  const given = fromGit('main', {
    metadata: { name: 'polled' },
    spec: { source: 'git', sourceConfig },
  });
  await kube.create(kinds.deployment, newDeployment(namespace, given));
  await until('the first build has its commit', async () => (await begun()) === first);
  await untilLookedAgain();
  expect(await revisions('polled')).toEqual({ 'polled-00001': undefined });

  const second = git.push('main');
  await until(
    'the commit has a revision',
    async () => Object.keys(await revisions('polled')).length > 1,
  );
  const both = { 'polled-00001': undefined, 'polled-00001-1': second };
  await untilLookedAgain();
  expect(await revisions('polled')).toEqual(both);

  git.push('other');
  await untilLookedAgain();
  expect(await revisions('polled')).toEqual(both);
  const { metadata, status } = await see.deployment('polled');
  expect(metadata.annotations?.[PUSHED_AT]).toBeUndefined();
  expect(status).toMatchObject({ followedRef: 'main', followedCommit: second });
});

test('a branch that is missing is named until the next look, which a push event asks for at once', async () => {
  const { kube, namespace, see } = stage!;
  const sourceConfig = { integrationId: RARE, repoUrl: `${git.url}/team/chat`, buildOnPush: true };
  const given = fromGit('later', {
    metadata: { name: 'early' },
    spec: { source: 'git', sourceConfig },
  });
  await kube.create(kinds.deployment, newDeployment(namespace, given));
  const condition = async () =>
    (await see.deployment('early')).status?.conditions?.find(
      ({ type }) => type === 'FollowsBranch',
    );
  const annotate = (annotations: Record<string, string>) =>
    kube.apply(kinds.deployment, {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      metadata: { name: 'early', namespace, annotations },
    } as never);
  const missing = await until('it is missing', condition);
  expect(missing).toMatchObject({
    status: 'False',
    reason: 'RefMissing',
    message: 'There is no branch later to follow.',
  });
  await annotate({ [RECONCILE_NOW]: 'now' });
  await until(
    'it was reconciled',
    async () => (await see.deployment('early')).status?.lastHandledReconcileAt === 'now',
  );
  expect(await condition()).toEqual(missing);

  const head = git.push('later');
  await annotate({ [RECONCILE_NOW]: 'now', [PUSHED_AT]: `${head} now` });
  await until(
    'the event is handled',
    async () => (await see.deployment('early')).status?.pushHandled === `${head} now`,
  );
  await until('nothing is missing', async () => (await condition()) === undefined);
  expect(Object.values(await revisions('early'))).toContain(head);
});

const begun = async (): Promise<string | undefined> =>
  (await stage!.see.revision('polled-00001')).status?.commitSha;
