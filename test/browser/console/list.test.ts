import axe from 'axe-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createKey, deleteApiKey } from '../../../src/control-plane/auth/keys.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import {
  creation,
  letGo,
  startPlane,
  TENANT_A,
  type Plane,
} from '../../control-plane/kit/api-server-plane.ts';
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
const report = (name: string, status: object) =>
  plane.kube.patchStatus(kinds.deployment, { namespace: plane.namespace, name }, status);
const revision = (name: string, status: object) =>
  plane.kube.patchStatus(
    kinds.revision,
    { namespace: plane.namespace, name: `${name}-00001` },
    status,
  );
const serve = async (name: string, more: object = {}): Promise<void> => {
  await revision(name, { phase: 'DEPLOYED' });
  await report(name, {
    phase: 'READY',
    activeRevision: `${name}-00001`,
    conditions: [SERVING],
    ...more,
  });
};
const create = async (name: string): Promise<void> => {
  made[name] = (
    await plane.call<Deployment>('POST', '/v2/deployments', { body: creation(name) })
  ).body;
};

beforeAll(async () => {
  plane = await startPlane('console-list');
  for (const name of ['asleep', 'broken', 'new', 'serves']) await create(name);
  await serve('serves', { serverVersion: '1.2.3' });
  await serve('asleep', { asleepSince: '2026-01-01T00:00:00Z', conditions: [] });
  await revision('broken', {
    phase: 'DEPLOY_FAILED',
    reason: 'ImagePullFailed',
    message: 'There is no such image.',
  });
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

const names = (): Promise<string[]> => tab.texts('.rows .body .name a');
/** Opens a path. The browser keeps its session, so only the first test signs in. */
async function open(path = ''): Promise<void> {
  tab = await stage.open(path);
  await tab.until('it is there', `document.querySelector('.top, [name=api_key]') !== null`);
  if ((await tab.text('h1')) === 'Sign in') await tab.signIn(plane.keys.write);
  await tab.shows('Live');
}

test('a wrong key is refused with a sentence, a right one shows the place that was asked for', async () => {
  tab = await stage.open('?state=failed');
  await tab.page.type('[name=api_key]', 'wrong\n');
  await tab.shows('The API key is not known, or has expired.');
  await tab.page.evaluate(`document.querySelector('[name=api_key]').value = ''`);
  await tab.signIn(plane.keys.write);
  await tab.shows('Live');
  await expect.poll(names).toEqual(['broken']);
  expect(await tab.page.evaluate('localStorage.length + sessionStorage.length')).toBe(3);
  expect(await tab.page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain(
    plane.keys.write,
  );
});

test('each deployment is a row with a word for its state, and sleep is no fault', async () => {
  await open();
  await expect.poll(names).toEqual(['asleep', 'broken', 'new', 'serves']);
  const states = await tab.texts('.rows .body .how');
  expect(states.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
    expect.stringContaining('Asleep'),
    expect.stringContaining('Failed ImagePullFailed'),
    expect.stringContaining('Rolling out'),
    expect.stringContaining('Serving'),
  ]);
  expect(await tab.texts('.rows .body .version')).toEqual(['', '', '', '1.2.3']);
  expect(await tab.page.evaluate(`document.querySelector('[role=grid]').ariaRowCount`)).toBe('5');
});

test('a change is shown without a touch; a new one appears, a deleted one goes', async () => {
  await open();
  await expect.poll(names).toHaveLength(4);
  await create('later');
  await expect.poll(names).toContain('later');
  await revision('later', { phase: 'BUILD_FAILED', reason: 'CloneFailed' });
  await tab.shows('CloneFailed');
  await plane.call('DELETE', `/v2/deployments/${made['later']?.id}`);
  await tab.shows('Deleting');
  await letGo(plane, 'later');
  await expect.poll(names).toEqual(['asleep', 'broken', 'new', 'serves']);
});

test('filters stand in the address, with counts, and come back with it', async () => {
  await open();
  await expect.poll(names).toHaveLength(4);
  await tab.press('Failed 1');
  await expect.poll(names).toEqual(['broken']);
  await tab.press('Asleep 1');
  await expect.poll(names).toEqual(['asleep', 'broken']);
  await tab.page.type('[name=q]', 'bro');
  await expect.poll(names).toEqual(['broken']);
  const address = await tab.page.evaluate<string>('location.search');
  expect(address).toBe('?q=bro&state=failed&state=asleep');
  await tab.page.reload();
  await tab.shows('Live');
  await expect.poll(names).toEqual(['broken']);
  await tab.press('Clear filters');
  await tab.press('State');
  await expect.poll(names).toEqual(['broken', 'new', 'serves', 'asleep']);
  expect(await tab.page.evaluate('location.search')).toBe('?sort=state');
});

test('a connection that is away is shown, and nothing is lost when it is back', async () => {
  await open();
  await expect.poll(names).toHaveLength(4);
  stage.server.cut();
  await tab.shows('No connection since');
  expect(await names()).toHaveLength(4);
  await report('serves', {
    phase: 'READY',
    activeRevision: 'serves-00001',
    conditions: [SERVING],
    serverVersion: '1.3.0',
  });
  stage.server.mend();
  await tab.shows('Live');
  await expect.poll(() => tab.texts('.rows .body .version')).toEqual(['', '', '', '1.3.0']);
});

test('ten tabs of one browser are all live by one stream', async () => {
  await open();
  const others = await Promise.all(Array.from({ length: 9 }, () => stage.open()));
  for (const other of others) await other.shows('Live');
  await create('tenth');
  for (const other of [tab, ...others]) await other.shows('tenth');
  await tab.close();
  await revision('tenth', { phase: 'BUILD_FAILED', reason: 'DiskFull' });
  for (const other of others) await other.shows('DiskFull');
  expect(await Promise.all(others.map((other) => other.text('.connection')))).toEqual(
    others.map(() => 'Live'),
  );
  tab = others.pop() as OpenConsole;
  await Promise.all(others.map((other) => other.close()));
});

test('a session ends with the reason, and the next one is where it was', async () => {
  await open('?sort=state');
  await tab.press('Settings');
  await tab.press('Sign out');
  await tab.shows('You have signed out.');
  await tab.signIn(plane.keys.read);
  await tab.shows('Live');
  expect(await tab.page.evaluate('location.search')).toBe('?sort=state');
});

test('a key that is revoked in mid-session ends it with the reason', async () => {
  await open();
  await tab.press('Settings');
  await tab.press('Sign out');
  const { id, key } = await createKey(plane.kube, plane.namespace, {
    name: 'short-lived',
    tenantId: TENANT_A,
    role: 'write',
  });
  await tab.signIn(key);
  await tab.shows('Live');
  await deleteApiKey(plane.kube, plane.namespace, id);
  await expect.poll(async () => (await plane.call('GET', '/v2/whoami', { key })).status).toBe(401);
  await tab.page.evaluate(`document.querySelector('.rows .body .name a').click()`);
  await tab.shows('its API key is no longer valid');
  await tab.signIn(plane.keys.write);
  await tab.until('the place is that from before', `document.querySelector('.about') !== null`);
});

test('keys alone find a row and open it', async () => {
  await open();
  await expect.poll(names).toContain('serves');
  await tab.keys('/', 'ser', 'Tab');
  await expect.poll(names).toEqual(['serves']);
  await tab.page.evaluate('document.activeElement.blur()');
  await tab.keys('j', 'Enter');
  await tab.until('it is open', `location.pathname.endsWith('/d/${made['serves']?.id}')`);
  await tab.keys('?');
  await tab.shows('Go to the filter of the list');
});

test('some letters of a name lead to a deployment from anywhere', async () => {
  await open();
  await expect.poll(names).toContain('serves');
  await tab.page.evaluate(
    `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true, cancelable: true }))`,
  );
  await tab.until('it asks for letters', `document.activeElement.name === 'jump'`);
  await tab.keys('s');
  await expect.poll(() => tab.texts('.jump-list strong')).toEqual(['serves', 'asleep']);
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
  await tab.keys('Enter');
  await tab.until('it is open', `location.pathname.endsWith('/d/${made['serves']?.id}')`);
});

test.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 320],
  ['dark', 320],
] as const)('axe finds nothing in %s at %i pixels', async (theme, width) => {
  await open();
  await tab.page.evaluate(`localStorage.setItem('gx-console-theme', '${theme}')`);
  await tab.session.send('Emulation.setDeviceMetricsOverride', {
    width,
    height: 800,
    deviceScaleFactor: 1,
    mobile: false,
  });
  await tab.page.reload();
  await tab.shows('Live');
  await expect.poll(names).toContain('serves');
  await tab.press('Settings');
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
  expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
    width,
  );
});
