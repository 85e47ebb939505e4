import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import type { DeploymentSpec } from '../../src/schema/platform/resources/custom-resources.ts';
import { setBuildStage } from '../kit/build-stage.ts';
import type { Stage } from '../kit/stage.ts';
import { still, until } from '../kit/until.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { fromGit, newDeployment } from '../kit/objects.ts';
import { look } from '../kit/operator.ts';

/*
 * What a person sees who asks kubectl. These are golden files in which everything is replaced that differs from run to
 * run. Their diff is read as a user reads it.
 */
let kube: Kube;
let namespace: string;
let kubectl: Kubectl;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await setBuildStage('told');
  ({ kube, namespace, see } = stage);
  const { kubectl: path } = await ensureTools(['kubectl']);
  kubectl = kubectlFor({ kubectl: path, kubeconfig: stage.kubeconfig });
});
afterAll(() => stage.stop());

const inNamespace = (...args: string[]): Promise<string> =>
  kubectl(...args, '--namespace', namespace);

/**
 * Replaces times, ages, identities and addresses of one run. Columns are as wide as their widest value, so every run of
 * blanks becomes two.
 */
const settledText = (text: string): string =>
  text
    .replaceAll(namespace, 'NAMESPACE')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replace(/(Resource Version: +)\d+/g, '$1VERSION')
    .replace(/sha256:[0-9a-f]{64}/g, 'sha256:DIGEST')
    .replace(/-db-[0-9a-f]{8}/g, '-db-HASH')
    .replace(/((?:Spec Hash|Hash): +)[0-9a-f]{32}/g, '$1HASH')
    .replace(/(Key Hashes:\n +)\S+/g, '$1HASH')
    .replace(/(Template: +)\S+/g, '$1SEEN')
    .replace(/(Build Seconds: +)\d+/g, '$1SECONDS')
    .replace(/ +\d+[smh](\d+[sm])?$/gm, '  AGE')
    .replace(/^ *-+$/gm, '---')
    .replace(/(\S) {2,}/g, '$1  ');

/** Returns the text without the events, which come and go. The test reads their last words separately. */
const withoutEvents = (text: string): string => text.slice(0, text.search(/^Events:/m)).trimEnd();

async function told(name: string): Promise<string> {
  const shown = async (...args: string[]): Promise<string> =>
    `$ kubectl ${args.join(' ')}\n${await inNamespace(...args)}`;
  const deployment = `gxd/${name}`;
  const { latestRevision } = (await see.deployment(name)).status ?? {};
  const revisions =
    latestRevision === undefined
      ? []
      : [
          await shown('get', 'gxr', '-o', 'wide', '-l', `gx.dev/deployment=${name}`),
          withoutEvents(await shown('describe', `gxr/${latestRevision}`)),
        ];
  const all = [
    await shown('get', deployment),
    await shown('get', deployment, '-o', 'wide'),
    withoutEvents(await shown('describe', deployment)),
    ...revisions,
  ];
  return `${settledText(all.join('\n\n')).replace(/\n{3,}/g, '\n\n')}\n`;
}
const golden = (name: string): string => `../golden/kubectl/${name}.txt`;

const deploy = (
  name: string,
  spec: Partial<DeploymentSpec> = {},
  image = 'agent:1',
): Promise<object> => {
  const { template, ...others } = spec;
  return kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      image,
      spec: others,
      ...(template && { template }),
    }),
  );
};
const change = (name: string, path: string, value: unknown): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [{ op: 'add', path, value }]);
const untilReason = (name: string, reason: string): Promise<true> =>
  until(
    `${name} says ${reason}`,
    async () =>
      (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'Ready')
        ?.reason === reason,
  );
const untilEvent = (name: string, line: RegExp): Promise<true> =>
  until(`an event of ${name} says so`, async () =>
    line.test(await inNamespace('events', '--for', `gxd/${name}`)),
  );
/** Waits until the newest revision and its deployment have reported everything. */
const untilQuiet = (name: string): Promise<string> =>
  still(`what is said of ${name}`, () =>
    inNamespace('get', 'gxd,gxr', '-o', 'jsonpath={.items[*].metadata.resourceVersion}'),
  );

test('one that serves', async () => {
  await deploy('ready');
  await see.untilReady('ready');
  await untilQuiet('ready');
  await expect(await told('ready')).toMatchFileSnapshot(golden('ready'));
  await untilEvent('ready', /Normal +Serving +Deployment\/ready +Revision ready-00001 serves\./);
});

test('one that was built from its repository', async () => {
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, fromGit('main', { metadata: { name: 'built' } })),
  );
  await see.untilReady('built');
  await untilQuiet('built');
  await expect(await told('built')).toMatchFileSnapshot(golden('built'));
});

test('one whose next revision serves by now: the former one says so', async () => {
  await deploy('switched');
  await see.untilReady('switched');
  await change('switched', '/spec/template/sourceRevisionConfig/imageUri', 'agent:2');
  await see.untilPhase('switched-00002', 'DEPLOYED');
  await until(
    'the former one knows',
    async () =>
      (await see.revision('switched-00001')).status?.message?.includes('served until') === true,
  );
  await see.untilReady('switched');
  await expect(await told('switched')).toMatchFileSnapshot(golden('switched'));
});

test('one whose next revision is on its way', async () => {
  await deploy('rolling-out');
  await see.untilReady('rolling-out');
  await change('rolling-out', '/spec/template/sourceRevisionConfig/imageUri', 'mute:2');
  await untilReason('rolling-out', 'RollingOut');
  await untilQuiet('rolling-out');
  await expect(await told('rolling-out')).toMatchFileSnapshot(golden('rolling-out'));
});

test('one whose next revision failed while the former one serves', async () => {
  await deploy('failed');
  await see.untilReady('failed');
  await change('failed', '/spec/template/sourceRevisionConfig/imageUri', 'missing:2');
  await see.untilPhase('failed-00002', 'DEPLOY_FAILED');
  await untilReason('failed', 'ImagePullFailed');
  await untilQuiet('failed');
  await expect(await told('failed')).toMatchFileSnapshot(golden('failed'));
  await untilEvent(
    'failed',
    /Warning +ImagePullFailed +Deployment\/failed +Revision failed-00002 ended as DEPLOY_FAILED\./,
  );
});

test('those that failed are found by their reason, and revisions by their deployment', async () => {
  await deploy('found', {}, 'crash:1');
  await untilReason('found', 'CrashLooping');
  const selected = (kind: string, ...fields: string[]): Promise<string> =>
    inNamespace(
      'get',
      kind,
      '-o',
      'jsonpath={.items[*].metadata.name}',
      '--field-selector',
      fields.join(','),
    );
  expect(await selected('gxr', 'spec.deployment=found', 'status.phase=DEPLOY_FAILED')).toBe(
    'found-00001',
  );
  expect(await selected('gxr', 'spec.deployment=found', 'status.phase=DEPLOYED')).toBe('');
  expect((await selected('gxd', 'status.reason=CrashLooping')).split(' ')).toContain('found');
});

test('one that hibernates', async () => {
  await deploy('hibernating');
  await see.untilReady('hibernating');
  await change('hibernating', '/spec/hibernate', true);
  await untilReason('hibernating', 'Hibernated');
  await untilQuiet('hibernating');
  await expect(await told('hibernating')).toMatchFileSnapshot(golden('hibernating'));
});

test('one that only another spec helps: the cluster refuses it', async () => {
  await deploy('stalled', {
    template: {
      sourceRevisionConfig: { imageUri: 'agent:1' },
      resourceSpec: { labels: { 'not a label': 'x' } },
    },
  });
  await until('it is stalled', async () =>
    JSON.stringify(await see.deployment('stalled')).includes('"Stalled"'),
  );
  await untilQuiet('stalled');
  await expect(await told('stalled')).toMatchFileSnapshot(golden('stalled'));
});
