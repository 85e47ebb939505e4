import axe from 'axe-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import {
  buildManagedLabels,
  PUSHED_AT,
  UNMATCHED_PUSH,
} from '../../../src/schema/platform/objects/labels.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';
import {
  creation,
  letGo,
  startPlane,
  type Plane,
} from '../../control-plane/kit/api-server-plane.ts';
import { fromGit, GIT, newDeployment } from '../../kit/objects.ts';
import { openConsole, type ConsoleStage, type OpenConsole } from './open-console.ts';

let plane: Plane;
let stage: ConsoleStage;
let tab: OpenConsole;
const made: Record<string, Deployment> = {};

const SERVING = {
  type: 'Serving',
  status: 'True',
  reason: 'Serving',
  message: 'It serves.',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const ref = (name: string) => ({ namespace: plane.namespace, name });
const report = (name: string, status: object) =>
  plane.kube.patchStatus(kinds.deployment, ref(name), status);
const path = (name: string, rest = ''): string => `/v2/deployments/${made[name]?.id}${rest}`;
const place = (name: string, rest = ''): string => `d/${made[name]?.id}${rest}`;
const revisions = async (name: string): Promise<Revision[]> =>
  (await plane.call<{ resources: Revision[] }>('GET', path(name, '/revisions'))).body.resources;
const nameOfNewest = async (name: string): Promise<string> => {
  const generation = (await plane.kube.get(kinds.deployment, ref(name))).metadata.generation ?? 1;
  return `${name}-${String(generation).padStart(5, '0')}`;
};

async function create(name: string): Promise<void> {
  const body = creation(name, { secrets: [{ name: 'TOKEN', value: 'hidden-value' }] });
  made[name] = (await plane.call<Deployment>('POST', '/v2/deployments', { body })).body;
  await plane.kube.patchStatus(kinds.revision, ref(`${name}-00001`), { phase: 'DEPLOYED' });
  await report(name, {
    phase: 'READY',
    activeRevision: `${name}-00001`,
    conditions: [SERVING],
    serverVersion: '1.2.3',
  });
}

beforeAll(async () => {
  plane = await startPlane('console-deployment');
  for (const name of ['chat', 'doomed', 'sleeper', 'argo']) await create(name);
  await plane.call('PATCH', path('chat'), {
    body: { source_revision_config: { image_uri: 'registry.example/agent:2' } },
  });
  const failed = {
    phase: 'DEPLOY_FAILED',
    reason: 'CrashLooping',
    message: 'The container exits.',
    logTail: 'Error: no stove',
  };
  await plane.kube.patchStatus(kinds.revision, ref(await nameOfNewest('chat')), failed);
  await report('sleeper', {
    phase: 'READY',
    activeRevision: 'sleeper-00001',
    asleepSince: '2026-01-01T00:00:00Z',
    conditions: [],
  });
  const labels = [
    { op: 'add', path: '/metadata/labels/argocd.argoproj.io~1instance', value: 'shop' },
  ] as const;
  await plane.kube.patchJson(kinds.deployment, ref('argo'), [...labels]);
  stage = await openConsole(plane.url);
});
afterAll(async () => {
  await stage?.stop();
  await plane?.stop();
});
afterEach(async () => {
  const { failures } = tab;
  await tab.close();
  if (failures.length > 0) throw new Error(`The page has failed: ${failures.join(', ')}`);
});

async function open(at: string, key = plane.keys.write): Promise<void> {
  tab = await stage.open(at);
  await tab.until('it is there', `document.querySelector('.top, [name=api_key]') !== null`);
  if ((await tab.text('h1')) === 'Sign in') await tab.signIn(key);
  await tab.shows('Live');
  await tab.until('the deployment is shown', `document.querySelector('.about') !== null`);
}

test('a failure stands in its place: the reason, its meaning, the remedy and the last log lines', async () => {
  await open(place('chat'));
  expect(await tab.texts('.timeline > li h2')).toEqual([
    expect.stringContaining('agent:2'),
    expect.stringContaining('serves now'),
  ]);
  const newest = await tab.text('.timeline > li');
  for (const text of ['Failed', 'The container exits.', 'Error: no stove'])
    expect(newest).toContain(text);
  const head = await tab.text('.trouble');
  for (const text of ['CrashLooping', "A container can't start", 'Read the log lines'])
    expect(head).toContain(text);
  expect(newest).not.toContain("A container can't start");
  expect(await tab.texts('.timeline .actions button')).toEqual([
    'Try again',
    'Go back to this (serves now)',
  ]);
  await tab.press('Try again');
  await tab.shows('Unless its cause is gone, it fails again.');
  await tab.press('Cancel', 'dialog');
});

test('two clicks roll back, and the first one shows the differences', async () => {
  await open(place('chat'));
  await plane.kube.patchStatus(kinds.revision, ref(await nameOfNewest('chat')), {
    phase: 'DEPLOYED',
    reason: null,
    logTail: null,
  });
  await report('chat', {
    phase: 'READY',
    activeRevision: await nameOfNewest('chat'),
    conditions: [SERVING],
  });
  await tab.until(
    'the new one serves',
    `document.querySelector('.timeline > li').innerText.includes('serves now')`,
  );
  await tab.press('Roll back to this', '.timeline > li:last-child');
  await tab.shows('After the rollback');
  await expect
    .poll(() => tab.texts('dialog tbody tr'))
    .toEqual([
      expect.stringMatching(/image_uri\s+registry\.example\/agent:2\s+registry\.example\/agent:1/),
    ]);
  await tab.press('Roll back', 'dialog');
  await tab.shows('It is being rolled back.');
  await expect
    .poll(async () => (await revisions('chat'))[0]?.source_revision_config.image_uri)
    .toBe('registry.example/agent:1');
  await expect.poll(() => tab.texts('.timeline > li')).toHaveLength(3);
  await tab.until('its dialog is closed', `document.querySelector('dialog') === null`);
});

test('a revision that has not ended shows its steps, and is given up by a click', async () => {
  await open(place('chat'));
  await tab.until('its steps are shown', `document.querySelector('.steps .current') !== null`);
  await tab.press('Interrupt');
  await tab.shows('The revision is being interrupted.');
  const stored = await plane.kube.get(kinds.revision, ref(await nameOfNewest('chat')));
  expect(JSON.stringify(stored.metadata.annotations)).toContain('interrupt');
});

test('any two revisions are compared, and the address names them', async () => {
  const all = await revisions('chat');
  await open(place('chat', `/compare/${all.at(-1)?.id}/${all[1]?.id}`));
  await tab.shows('Compare two revisions');
  await expect
    .poll(() => tab.texts('.differences tbody tr'))
    .toEqual([expect.stringMatching(/image_uri\s+\S+agent:1\s+\S+agent:2/)]);
});

test('a sleeper is woken by a click and never by looking', async () => {
  await open(place('sleeper'));
  await tab.shows('Asleep since');
  const annotations = async (): Promise<string> =>
    JSON.stringify(
      (await plane.kube.get(kinds.deployment, ref('sleeper'))).metadata.annotations ?? {},
    );
  expect(await annotations()).not.toContain('gx.dev/wake');
  await tab.press('Wake');
  await tab.shows('It is being woken.');
  expect(await annotations()).toContain('gx.dev/wake');
});

test('a deployment that follows a branch shows the last push event, and where its host sends the next one', async () => {
  const at = '2026-01-02T03:04:05.000Z';
  const unmatched = JSON.stringify({ repository: 'team/chat-renamed', branch: 'main', at });
  await plane.kube.create(kinds.gitIntegration, {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: {
      name: 'local',
      namespace: plane.namespace,
      annotations: { [UNMATCHED_PUSH]: unmatched },
    },
    spec: { id: GIT.id, name: 'local', kind: 'generic', host: 'https://git.example' },
  });
  const given = fromGit('main', {
    spec: { database: { storageClass: 'fast' } },
    metadata: { name: 'follower', annotations: { [PUSHED_AT]: `c0ffee ${at}` } },
  });
  const { uid } = (await plane.kube.create(kinds.deployment, newDeployment(plane.namespace, given)))
    .metadata;
  await report('follower', { followedRef: 'main', followedCommit: 'c0ffee', conditions: [] });
  tab = await stage.open(`d/${uid}/settings`);
  if ((await tab.text('h1')) === 'Sign in') await tab.signIn(plane.keys.write);
  await tab.shows('Pushes to main make revisions.');
  const text = await tab.text('main');
  expect(text).toMatch(/was for no deployment .*team\/chat-renamed and the branch main/s);
  for (const part of [
    'of the class fast',
    'The last push event came',
    `/v1/integrations/git/${GIT.id}/push`,
  ])
    expect(text).toContain(part);
});

test('a deployment that Argo CD keeps warns before a change', async () => {
  await open(place('argo', '/settings'));
  await tab.shows('Argo CD keeps this deployment (shop).');
  await tab.press('Hibernate');
  await tab.shows('End hibernation');
  const readHibernate = async (): Promise<boolean | undefined> =>
    (await plane.kube.get(kinds.deployment, ref('argo'))).spec.hibernate;
  expect(await readHibernate()).toBe(true);
  await tab.press('Undo', '.notice');
  await tab.shows('The change was taken back.');
  expect(await readHibernate()).toBeUndefined();
});

test('a revision that is tried out names its share of the new threads', async () => {
  await create('tried');
  await plane.call('PATCH', path('tried'), {
    body: { source_revision_config: { image_uri: 'registry.example/agent:2' } },
  });
  const revision = await nameOfNewest('tried');
  await plane.kube.patchStatus(kinds.revision, ref(revision), { phase: 'DEPLOYED' });
  const since = '2026-01-01T00:00:00Z';
  await report('tried', {
    rollout: {
      madeAt: since,
      current: 'tried-00001',
      living: ['tried-00001', revision],
      draining: [],
      candidate: { revision, step: 1, share: 25, by: 'thread', since },
    },
  });
  await open(place('tried'));
  await tab.shows('25 % of new threads');
  expect(await tab.text('.timeline > li')).toContain('25 % of new threads');
  expect(await tab.text('.timeline > li + li')).toContain('serves now');
});

test('values of secrets are shown when somebody asks, and a .env file is pasted as it is', async () => {
  await open(place('chat', '/secrets'));
  await tab.shows('TOKEN');
  expect(await tab.page.evaluate('document.documentElement.outerHTML')).not.toContain(
    'hidden-value',
  );
  await tab.press('Show TOKEN');
  await tab.shows('hidden-value');
  await tab.press('Hide');
  await tab.page.evaluate(`document.querySelector('[name=dotenv]').focus()`);
  await tab.session.send('Input.insertText', { text: '# new ones\nMODE="a\nb"\nTOKEN=other\n' });
  await tab.shows('New: MODE. Replaced: TOKEN.');
  await tab.press('Save the secrets');
  await tab.shows('Saved. A new revision rolls out.');
  await expect
    .poll(async () =>
      (await plane.call<Deployment>('GET', path('chat'))).body.secrets.toSorted((a, b) =>
        a.name < b.name ? -1 : 1,
      ),
    )
    .toEqual([
      { name: 'MODE', value: 'a\nb' },
      { name: 'TOKEN', value: 'other' },
    ]);
});

test('a secret is removed once that is confirmed', async () => {
  await open(place('chat', '/secrets'));
  await tab.press('Remove MODE');
  await tab.shows('A new revision rolls out without it.');
  await tab.press('Remove it');
  await expect
    .poll(async () =>
      (await plane.call<Deployment>('GET', path('chat'))).body.secrets.map(({ name }) => name),
    )
    .toEqual(['TOKEN']);
});

test('changes of settings are listed before they are saved, and can be undone', async () => {
  await open(place('chat', '/settings'));
  const set = (seconds: string): Promise<void> =>
    tab.page.evaluate(`(() => {
      const field = document.querySelector('.settings [type=number]');
      field.value = '${seconds}';
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    })()`);
  await tab.until(
    'the form is there',
    `document.querySelector('.settings [type=number]') !== null`,
  );
  const hasSave = `[...document.querySelectorAll('.settings button')].find(({ innerText }) => innerText === 'Save').disabled`;
  expect(await tab.page.evaluate(hasSave)).toBe(true);
  await set('600');
  await expect
    .poll(() => tab.texts('.pending tbody tr'))
    .toEqual([expect.stringMatching(/^Idle seconds\s+default of the installation\s+600$/)]);
  await tab.press('Undo');
  await expect.poll(() => tab.texts('.pending')).toEqual([]);
  await set('700');
  await tab.press('Save');
  await tab.shows('The settings of sleep and queue were changed.');
  const { spec } = await plane.kube.get(kinds.deployment, ref('chat'));
  expect(spec.sleep?.afterSeconds).toBe(700);
});

test('a deployment that is deleted while it is looked at says so, and stays to be read', async () => {
  await open(place('doomed', '/settings'));
  await tab.press('Delete this deployment');
  expect(await tab.page.evaluate(`document.querySelector('dialog [type=submit]').disabled`)).toBe(
    true,
  );
  expect(await tab.text('dialog')).toContain('It sets no deletionPolicy');
  await tab.page.type('[name=confirm]', 'doomed');
  await tab.press('Delete', 'dialog');
  await tab.shows('Deleting');
  await letGo(plane, 'doomed');
  await tab.shows('This deployment was deleted');
  expect(await tab.text('h1')).toBe('doomed');
  expect(
    await tab.page.evaluate(
      `[...document.querySelectorAll('.deployment button')].every((one) => one.disabled)`,
    ),
  ).toBe(true);
});

test('one that does not exist is a sentence', async () => {
  tab = await stage.open('d/00000000-0000-4000-8000-000000000000');
  await tab.shows('Go to the deployments');
  expect(await tab.text('.fault')).toContain('not found');
});

test('the YAML of the resource is shown, with the command that prints it', async () => {
  await open(place('chat', '/resource'));
  await tab.shows(`kubectl get deployments.gx.dev chat -n ${plane.namespace} -o yaml`);
  await tab.shows('kind: Deployment');
  expect(await tab.text('.deployment table')).toContain('It serves.');
});

test('pods and events are shown, and a revision says all about itself when it is opened', async () => {
  const labels = buildManagedLabels('argo', 'queue', 'argo-00001');
  const spec = {
    containers: [{ name: 'agent', image: 'agent:1' }],
    tolerations: [{ operator: 'Exists' }],
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...ref('argo-00001-queue-1'), labels },
    spec,
  };
  await plane.kube.create(kinds.pod, pod);
  const waiting = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } };
  const containerStatuses = [
    { name: 'agent', image: 'agent:1', imageID: '', ready: false, restartCount: 7, state: waiting },
  ];
  await plane.kube.patchStatus(kinds.pod, ref('argo-00001-queue-1'), {
    phase: 'Pending',
    containerStatuses,
  });
  await plane.kube.create(kinds.event, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: ref('argo-event'),
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'test',
    reportingInstance: 'test',
    action: 'Test',
    type: 'Warning',
    reason: 'BackOff',
    note: 'Back-off pulling image',
    regarding: { kind: 'Pod', ...ref('argo-00001-queue-1') },
  });
  await open(place('argo', '/pods'));
  await tab.shows('ImagePullBackOff');
  expect(await tab.texts('.deployment tbody tr')).toEqual([
    expect.stringMatching(
      /argo-00001-queue-1\s+queue\s+1\s+✗ no, Pending\s+7\s+ImagePullBackOff no such image/,
    ),
    expect.stringMatching(
      /Warning\s+BackOff\s+Pod argo-00001-queue-1\s+Back-off pulling image\s+1/,
    ),
  ]);
  await tab.press('Revisions');
  await tab.page.evaluate(
    `document.querySelector('.timeline details:last-of-type summary').click()`,
  );
  await tab.shows('Made by');
  const facts = await tab.text('.facts');
  for (const text of ['writer', 'TOKEN', 'registry.example/agent:1']) expect(facts).toContain(text);
  expect(facts).not.toContain('hidden-value');
});

test.each([1280, 1024, 390])(
  'no head, word or time of a table is cut at %i pixels',
  async (width) => {
    await open(place('argo', '/pods'));
    await tab.shows('ImagePullBackOff');
    await tab.session.send('Emulation.setDeviceMetricsOverride', {
      width,
      height: 800,
      deviceScaleFactor: 1,
      mobile: false,
    });
    // A word has one rectangle on each line that it stands on.
    const cut = await tab.page
      .evaluate(`[...document.querySelectorAll('thead th, td:not(.mono, .text)')]
    .filter((cell) => !/\\s/.test(cell.innerText.trim()) || cell.matches('th') || cell.querySelector('time'))
    .filter((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 8))).size > 1;
    })
    .map((cell) => cell.innerText)`);
    expect(cut).toEqual([]);
  },
);

test('a page at twice its size needs no scrolling to the side', async () => {
  for (const rest of ['', '/pods', '/settings']) {
    await open(place('argo', rest));
    await tab.session.send('Emulation.setDeviceMetricsOverride', {
      width: 640,
      height: 400,
      deviceScaleFactor: 2,
      mobile: false,
    });
    expect([rest, await tab.accessibilityFaults(axe.source)]).toEqual([rest, []]);
    expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      640,
    );
    if (rest !== '/settings') await tab.close();
  }
});

test.each(['', '/secrets', '/settings', '/resource', '/logs', '/pods'])(
  'axe finds nothing on %s, light and dark, wide and narrow',
  async (rest) => {
    await open(place('chat', rest));
    for (const [theme, width] of [
      ['light', 1280],
      ['dark', 320],
      ['light', 320],
      ['dark', 1280],
    ] as const) {
      await tab.page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
      await tab.session.send('Emulation.setDeviceMetricsOverride', {
        width,
        height: 800,
        deviceScaleFactor: 1,
        mobile: false,
      });
      expect([theme, width, await tab.accessibilityFaults(axe.source)]).toEqual([theme, width, []]);
      expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
        width,
      );
    }
  },
);

test('a reader sees all, and has no button that changes something', async () => {
  await open(place('chat'));
  await tab.press('Settings', '.top');
  await tab.press('Sign out');
  await tab.signIn(plane.keys.read);
  await tab.until('the deployment is shown', `document.querySelector('.about') !== null`);
  const enabled = await tab.texts('.deployment button:not(:disabled)');
  expect(enabled).toEqual([]);
  await tab.press('Secrets and key');
  await tab.shows('Your key may only read');
});
