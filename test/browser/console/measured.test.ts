import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { type DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { buildRevision } from '../../../src/schema/platform/resources/revision-of.ts';
import { startPlane, type Plane } from '../../control-plane/kit/api-server-plane.ts';
import { until } from '../../kit/until.ts';
import { measured, share } from './goal.ts';
import { openConsole, type ConsoleStage, type OpenConsole } from './open-console.ts';

/* The times of the list with many deployments. */

const MANY = Number(process.env['CONSOLE_DEPLOYMENTS'] ?? 2000);
const AT_ONCE = 20;
/** Bytes a second of 1.6 Mbit/s. */
const SLOW_LINE = 200_000;

let plane: Plane;
let stage: ConsoleStage;

const nameOf = (at: number): string => `filled-${String(at).padStart(5, '0')}`;
const resource = (name: string, namespace: string): DeploymentResource => ({
  apiVersion: API_VERSION,
  kind: 'Deployment',
  metadata: { name, namespace },
  spec: {
    source: 'external_container',
    template: { sourceRevisionConfig: { imageUri: 'registry.example/agent:1' } },
  },
});

async function fill({ kube, namespace }: { kube: Kube; namespace: string }): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < MANY) {
      const made = await kube.create(kinds.deployment, resource(nameOf((next += 1)), namespace));
      await kube.create(kinds.revision, buildRevision(made));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

beforeAll(async () => {
  plane = await startPlane('console-measured');
  await fill(plane);
  const total = async (): Promise<number> =>
    (await plane.call<{ total: number }>('GET', '/v2/deployment-counts')).body.total;
  await until('all are known', async () => (await total()) === MANY, 300);
  stage = await openConsole(plane.url);
  const tab = await stage.open();
  await tab.signIn(plane.keys.write);
  await tab.close();
}, 900_000);
afterAll(async () => {
  await stage?.stop();
  await plane?.stop();
});

const ROW = `document.querySelector('.rows .body .name a') !== null`;

/** Opens the list in a new tab, which notes when its first row is drawn. */
async function opened(): Promise<OpenConsole> {
  const tab = await stage.open();
  await tab.session.send('Page.enable');
  await tab.session.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `(function look() { ${ROW} ? requestAnimationFrame(() => (window.listShown = performance.now())) : requestAnimationFrame(look); })()`,
  });
  await tab.page.reload();
  await tab.until('the list is shown', 'window.listShown !== undefined');
  return tab;
}

async function loaded(tab: OpenConsole): Promise<void> {
  await tab.until(
    'all are there',
    `document.querySelector('.heading p').innerText === '${MANY}'`,
    60,
  );
  await tab.shows('Live');
}

test(`the list of ${MANY} is painted and shown soon after navigation`, async () => {
  const paints: number[] = [];
  const lists: number[] = [];
  for (let time = 0; time < 5; time += 1) {
    const tab = await opened();
    paints.push(
      await tab.page.evaluate(
        `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`,
      ),
    );
    lists.push(await tab.page.evaluate('window.listShown'));
    expect(tab.failures).toEqual([]);
    await tab.close();
  }
  measured('first contentful paint, loopback, p50', share(paints, 0.5), 300);
  measured(`list of ${MANY} shown after navigation, p50`, share(lists, 0.5), 400);
});

test('a slow machine behind a slow line sees the page soon', async () => {
  const paints: number[] = [];
  for (let time = 0; time < 3; time += 1) {
    const tab = await stage.open();
    await tab.session.send('Network.enable');
    await tab.session.send('Network.setCacheDisabled', { cacheDisabled: true });
    await tab.session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 40,
      downloadThroughput: SLOW_LINE,
      uploadThroughput: SLOW_LINE,
    });
    await tab.session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await tab.page.reload();
    await tab.until(
      'it is painted',
      `performance.getEntriesByName('first-contentful-paint').length > 0`,
      60,
    );
    paints.push(
      await tab.page.evaluate(
        `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
      ),
    );
    expect(tab.failures).toEqual([]);
    await tab.close();
  }
  measured('first contentful paint, CPU / 4, 1.6 Mbit/s, p50', share(paints, 0.5), 1200);
});

test('scrolling and filtering keep up with the hand', async () => {
  const tab = await opened();
  await loaded(tab);
  const frames = await tab.page.evaluate<number[]>(`new Promise((done) => {
    const box = document.querySelector('.rows'), times = [], end = box.scrollHeight - box.clientHeight;
    let last = performance.now(), at = 0;
    const step = (now) => { times.push(now - last); last = now; at += 1; box.scrollTop = (end * at) / 300; at < 300 ? requestAnimationFrame(step) : done(times.slice(1)); };
    requestAnimationFrame(step);
  })`);
  measured('a frame while scrolling end to end in 300 frames, p50', share(frames, 0.5), 17);
  expect(await tab.page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(1500);
  const keys = await tab.page.evaluate<number[]>(`(async () => {
    const field = document.querySelector('[name=q]'), times = [];
    const paint = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (let round = 0; round < 10; round += 1) for (const text of ['f', 'fi', 'filled-0', 'filled-00', '']) {
      const begun = performance.now();
      field.value = text;
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      await paint();
      times.push(performance.now() - begun);
    }
    return times;
  })()`);
  measured('a letter of the filter to the next paint, p95', share(keys, 0.95), 60);
  expect(tab.failures).toEqual([]);
  await tab.close();
});

test('a status that is written is seen', async () => {
  const tab = await opened();
  await loaded(tab);
  await tab.page.evaluate(`(() => {
    window.seen = {};
    const look = () => { for (const cell of document.querySelectorAll('.rows .body .version')) if (cell.innerText !== '') window.seen[cell.innerText] ??= Date.now(); requestAnimationFrame(look); };
    look();
  })()`);
  const times: number[] = [];
  for (let at = 1; at <= 20; at += 1) {
    const version = `9.0.${at}`;
    const written = Date.now();
    await plane.kube.patchStatus(
      kinds.deployment,
      { namespace: plane.namespace, name: nameOf(1 + (at % 5)) },
      { serverVersion: version },
    );
    await tab.until('it is seen', `window.seen['${version}'] !== undefined`);
    times.push((await tab.page.evaluate<number>(`window.seen['${version}']`)) - written);
    await wait(50);
  }
  measured('a status written to its pixel, p95', share(times, 0.95), 500);
  expect(tab.failures).toEqual([]);
  await tab.close();
});
