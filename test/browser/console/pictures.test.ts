import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, type Plane } from '../../control-plane/kit/api-server-plane.ts';
import { openConsole, type ConsoleStage, type OpenConsole } from './open-console.ts';

/*
 * The pictures of docs/how-to/console.md. The test draws each, and looks that the page of docs has it. With
 * GX_WRITE_PICTURES=1 it writes them; the fonts Inter and JetBrains Mono are the first choice of the page.
 */

const FOLDER = new URL('../../../docs/how-to/pictures/', import.meta.url);
const LEAST_BYTES = 10_000;

let plane: Plane;
let stage: ConsoleStage;
const made: Record<string, Deployment> = {};
const condition = (status: string, reason: string, message: string) => ({
  type: 'Serving',
  status,
  reason,
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const SERVING = condition('True', 'Serving', 'It serves.');
const ref = (name: string) => ({ namespace: plane.namespace, name });

async function create(
  name: string,
  image: string,
  status: object,
  revision: object = { phase: 'DEPLOYED' },
): Promise<void> {
  const body = creation(name, {
    source_revision_config: { image_uri: `registry.example/${image}` },
  });
  made[name] = (await plane.call<Deployment>('POST', '/v2/deployments', { body })).body;
  await plane.kube.patchStatus(kinds.revision, ref(`${name}-00001`), revision);
  await plane.kube.patchStatus(kinds.deployment, ref(name), status);
}
const serving = (name: string, more: object = {}) => ({
  phase: 'READY',
  activeRevision: `${name}-00001`,
  serverVersion: '1.4.0',
  conditions: [SERVING],
  queueReplicas: 2,
  queueReady: 2,
  ...more,
});

beforeAll(async () => {
  plane = await startPlane('agents');
  await create('support', 'support:2.3.0', serving('support', { interruptedThreads: 4 }));
  await create(
    'research',
    'research:1.9.1',
    serving('research', { queueReplicas: 6, queueReady: 5 }),
  );
  await create(
    'invoices',
    'invoices:0.8.0',
    serving('invoices', { asleepSince: '2026-01-01T00:00:00Z', conditions: [] }),
  );
  await create(
    'summaries',
    'summaries:3.0.0',
    { phase: 'READY' },
    { phase: 'DEPLOY_FAILED', reason: 'ImagePullFailed', message: 'There is no such image.' },
  );
  for (const [name, image] of [
    ['billing', 'billing:2.0.4'],
    ['legal-review', 'legal-review:0.3.2'],
    ['tour-guide', 'tour-guide:1.1.0'],
  ] as const)
    await create(name, image, serving(name));
  await create(
    'translator',
    'translator:5.2.1',
    serving('translator', { asleepSince: '2026-01-01T00:00:00Z', conditions: [] }),
  );
  await create(
    'onboarding',
    'onboarding:1.0.0',
    { phase: 'AWAITING_DATABASE' },
    { phase: 'DEPLOYING' },
  );
  await create('shop', 'shop:4.1.0', serving('shop', { interruptedThreads: 1 }));
  await plane.call('PATCH', `/v2/deployments/${made['shop']?.id}`, {
    body: { source_revision_config: { image_uri: 'registry.example/shop:4.2.0' } },
  });
  const { metadata } = await plane.kube.get(kinds.deployment, ref('shop'));
  await plane.kube.patchStatus(kinds.revision, ref(`shop-0000${metadata.generation}`), {
    phase: 'DEPLOY_FAILED',
    reason: 'CrashLooping',
    message: 'The container agent ends again and again, the last time with exit code 1.',
    logTail: 'Error: OPENAI_API_KEY is missing\n    at model (file:///agent/shop.js:12:9)',
  });
  stage = await openConsole(plane.url);
});
afterAll(async () => {
  await stage?.stop();
  await plane?.stop();
});

async function opened(path: string, shown: string): Promise<OpenConsole> {
  const tab = await stage.open(path);
  await tab.until('it is there', `document.querySelector('.top, [name=api_key]') !== null`);
  if ((await tab.text('h1')) === 'Sign in') await tab.signIn(plane.keys.write);
  await tab.session.send('Emulation.setDeviceMetricsOverride', {
    width: 1280,
    height: 720,
    deviceScaleFactor: 1,
    mobile: false,
  });
  await tab.page.evaluate(`document.documentElement.dataset.theme = 'light'`);
  await tab.shows('Live');
  await tab.shows(shown);
  return tab;
}

test.each([
  ['list', (): string => '', 'research'],
  ['deployment', (): string => `d/${made['shop']?.id}`, 'CrashLooping'],
  ['resource', (): string => `d/${made['shop']?.id}/resource`, 'kind: Deployment'],
])('the picture "%s" is drawn, and docs have it', async (name, path, shown) => {
  const tab = await opened(path(), shown);
  const { data } = (await tab.session.send('Page.captureScreenshot', { format: 'png' })) as {
    data: string;
  };
  const picture = Buffer.from(data, 'base64');
  expect(picture.length).toBeGreaterThan(LEAST_BYTES);
  const file = new URL(`console-${name}.png`, FOLDER);
  if (process.env['GX_WRITE_PICTURES'] === '1') {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, picture);
  }
  expect(statSync(file).size).toBeGreaterThan(LEAST_BYTES);
  expect(tab.failures).toEqual([]);
  await tab.close();
});
