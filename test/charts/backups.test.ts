import { beforeAll, expect, test } from 'vitest';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

const BUILD = 1_200_000;
const TARGET = {
  name: 'main',
  endpoint: 'https://s3.example.com',
  bucket: 'our-backups',
  secretName: 'gx-backups',
};

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, BUILD);

const envOf = (objects: KubeYaml[], name = 'gx-operator'): Record<string, string> => {
  const process = objects.find((object) => idOf(object) === `Deployment/gx-system/${name}`);
  const env = process?.spec?.template?.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    env.flatMap(({ name: key, value }) => (value === undefined ? [] : [[key, value]])),
  );
};

test('targets of backups reach the operator, with the image that sends them', async () => {
  const targets = [
    TARGET,
    { name: 'disk', claim: 'gx-backups' },
    {
      ...TARGET,
      name: 'other',
      region: 'eu-1',
      prefix: 'gx',
      pathStyle: true,
      ca: 'a certificate',
    },
  ];
  const env = envOf(
    await render.chart({
      settings: { backups: { targets, atOnce: 5, deadlineMinutes: 30, verifyDays: 0 } },
    }),
  );
  const { backups } = readOperatorConfig(env).settings;
  expect(backups).toMatchObject({
    atOnce: 5,
    deadlineMinutes: 30,
    verifyDays: 0,
    image: expect.stringContaining('gx-platform') as string,
  });
  expect(backups.targets).toMatchObject({
    main: { region: 'us-east-1', pathStyle: false },
    disk: { claim: 'gx-backups' },
    other: { prefix: 'gx', ca: 'a certificate' },
  });
});

test('the control plane knows the Secrets and claims of targets, which it refuses to its users', async () => {
  const targets = [
    TARGET,
    { ...TARGET, name: 'other' },
    { ...TARGET, name: 'third', secretName: 'own' },
    { name: 'disk', claim: 'backups' },
  ];
  const { reserved } = readControlPlaneConfig(
    envOf(await render.chart({ settings: { backups: { targets } } }), 'gx-control-plane'),
  );
  expect(reserved).toEqual({ secrets: ['gx-backups', 'own'], claims: ['backups'] });
  expect(
    readControlPlaneConfig(envOf(await render.chart({}), 'gx-control-plane')).reserved,
  ).toEqual({ secrets: [], claims: [] });
});

test.each([
  ['a field of no target', { ...TARGET, claimName: 'disk' }, /claimName/],
  ['a claim and a bucket', { ...TARGET, claim: 'disk' }, /targets\/0|targets\.0/],
  ['an endpoint with a path', { ...TARGET, endpoint: 'https://s3.example.com/path' }, /endpoint/],
  ['no Secret', { ...TARGET, secretName: '' }, /secretName/],
])('a target with %s is refused with the field', async (_, target, words) => {
  await expect(render.chart({ settings: { backups: { targets: [target] } } })).rejects.toThrow(
    words,
  );
});
