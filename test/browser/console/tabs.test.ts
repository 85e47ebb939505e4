import { afterAll, beforeAll, expect, test } from 'vitest';
import { creation, startPlane, type Plane } from '../../control-plane/kit/api-server-plane.ts';
import { openConsole, type ConsoleStage, type OpenConsole } from './open-console.ts';

/* Tabs of one browser share a stream, and a bad network is between the page and the server. */

let plane: Plane;
let stage: ConsoleStage;

beforeAll(async () => {
  plane = await startPlane('console-tabs');
  stage = await openConsole(plane.url);
});
afterAll(async () => {
  await stage?.stop();
  await plane?.stop();
});

const create = (name: string): Promise<unknown> =>
  plane.call('POST', '/v2/deployments', { body: creation(name) });

async function open(): Promise<OpenConsole> {
  const tab = await stage.open();
  await tab.until('it is there', `document.querySelector('.top, [name=api_key]') !== null`);
  if ((await tab.text('h1')) === 'Sign in') await tab.signIn(plane.keys.write);
  await tab.shows('Live');
  return tab;
}

test('a tab that sleeps loses the lead, and has missed nothing when it wakes up', async () => {
  const sleeper = await open();
  const other = await open();
  await sleeper.session.send('Page.setWebLifecycleState', { state: 'frozen' });
  await create('in-the-night');
  await other.shows('in-the-night', 60);
  expect(await other.text('.connection')).toBe('Live');
  await sleeper.session.send('Page.setWebLifecycleState', { state: 'active' });
  await sleeper.shows('in-the-night');
  await create('in-the-morning');
  await sleeper.shows('in-the-morning');
  await other.shows('in-the-morning');
  expect([...sleeper.failures, ...other.failures]).toEqual([]);
  await Promise.all([sleeper.close(), other.close()]);
});

test('streams that are cut again and again lose no change', async () => {
  const tab = await open();
  for (let round = 0; round < 4; round += 1) {
    stage.server.cut();
    await create(`round-${round}`);
    stage.server.mend();
    await tab.shows(`round-${round}`);
  }
  await tab.shows('Live');
  const names = await tab.texts('.rows .body .name a');
  expect(names.filter((name) => name.startsWith('round'))).toEqual([
    'round-0',
    'round-1',
    'round-2',
    'round-3',
  ]);
  expect(tab.failures).toEqual([]);
  await tab.close();
});

test('a page of the release before says that a part is gone, and is whole when it is loaded again', async () => {
  await create('after-an-upgrade');
  const tab = await open();
  await tab.shows('after-an-upgrade');
  await tab.session.send('Network.enable');
  await tab.session.send('Network.setBlockedURLs', { urls: ['*/assets/*'] });
  await tab.press('after-an-upgrade');
  await tab.shows("A part of this page can't be loaded");
  expect(await tab.text('main')).toContain('A newer release may have replaced it');
  await tab.session.send('Network.setBlockedURLs', { urls: [] });
  await tab.press('Load the page again');
  await tab.until('the deployment is shown', `document.querySelector('.about') !== null`);
  expect(await tab.text('h1')).toContain('after-an-upgrade');
  expect(tab.failures).toEqual([]);
  await tab.close();
});
