import { beforeAll, describe, expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml, type PodSpec, type Renderer } from './render.ts';

/* Where images come from, and with which credentials. */

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

const DIGEST = `sha256:${'0a'.repeat(32)}`;
const BUILDS = { builds: { registry: 'registry.example.com/agents', buildkit: { enabled: true } } };
/** The variable of the operator with each image but its own. */
const VARIABLES = {
  postgres: 'GX_POSTGRES_IMAGE',
  valkey: 'GX_VALKEY_IMAGE',
  builder: 'GX_BUILD_IMAGE',
  agentServer: 'GX_BUILD_BASE_IMAGE',
  agentServerPython: 'GX_BUILD_PYTHON_BASE_IMAGE',
  buildkit: 'GX_BUILDKIT_IMAGE',
};

const podsOf = (objects: KubeYaml[]): PodSpec[] =>
  objects.flatMap(({ spec }) => spec?.template?.spec ?? []);
function environment(objects: KubeYaml[]): Record<string, string> {
  const operator = objects.find((object) => idOf(object) === 'Deployment/gx-system/gx-operator');
  const variables = operator?.spec?.template?.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Returns each image of the installation by its name in the values. */
async function images(values: object): Promise<Record<string, string | undefined>> {
  const objects = await render.chart({ ...BUILDS, ...values });
  const env = environment(objects);
  const [platform, ...others] = new Set(
    podsOf(objects).flatMap(({ containers }) => containers.map(({ image }) => image)),
  );
  expect(others).toEqual([]);
  return {
    platform,
    ...Object.fromEntries(
      Object.entries(VARIABLES).map(([name, variable]) => [name, env[variable]]),
    ),
  };
}

const NAMES = ['platform', ...Object.keys(VARIABLES)];

test('every image is of the version of the chart, in one registry', async () => {
  const found = await images({});
  expect(found).toMatchObject({
    platform: 'registry.invalid/gx/gx-platform:0.1.0',
    agentServer: 'registry.invalid/gx/gx-agent-server:0.1.0',
  });
  for (const name of NAMES)
    expect(found[name]).toMatch(/^registry[.]invalid\/gx\/gx-[a-z-]+:0[.]1[.]0$/);
});

test.each([
  ['images.registry', { images: { registry: 'registry.internal:5000/mirror/' } }],
  [
    'global.imageRegistry',
    {
      global: { imageRegistry: 'registry.internal:5000/mirror' },
      images: { registry: 'elsewhere' },
    },
  ],
])('%s moves all of them', async (_value, values) => {
  const found = await images(values);
  for (const name of NAMES)
    expect(found[name]).toMatch(/^registry[.]internal:5000\/mirror\/gx\/gx-[a-z-]+:0[.]1[.]0$/);
});

test.each(NAMES)('%s may have a place, a tag and a digest of its own', async (name) => {
  const global = { imageRegistry: 'mirror.internal' };
  const own = { registry: 'own.internal/a', repository: 'team/image', tag: '1.2' };
  expect((await images({ global, images: { [name]: own } }))[name]).toBe(
    'own.internal/a/team/image:1.2',
  );
  expect((await images({ images: { [name]: { ...own, digest: DIGEST } } }))[name]).toBe(
    `own.internal/a/team/image:1.2@${DIGEST}`,
  );
  expect((await images({ images: { [name]: { digest: DIGEST } } }))[name]).toMatch(
    new RegExp(`^registry[.]invalid/gx/gx-[a-z-]+@${DIGEST}$`),
  );
});

describe('a value that is no part of a reference ends the render with its name', () => {
  test.each([
    [
      { images: { postgres: { digest: 'sha256:abc' } } },
      'images.postgres.digest: "sha256:abc" is no digest',
    ],
    [{ images: { valkey: { digest: DIGEST.toUpperCase() } } }, 'images.valkey.digest'],
    [
      { global: { imageRegistry: 'https://registry.internal' } },
      'global.imageRegistry: https://registry.internal has a scheme',
    ],
    [
      { images: { registry: 'http://registry.internal' } },
      'images.registry: http://registry.internal has a scheme',
    ],
    [
      { images: { builder: { registry: 'oci://registry.internal' } } },
      'images.builder.registry: oci://registry.internal has a scheme',
    ],
    [
      { images: { registry: 'registry internal' } },
      'images.registry: "registry internal" is no registry',
    ],
    [{ images: { registry: '' } }, 'images.registry is empty: name the registry'],
    [{ images: { platform: { repository: 'gx/gx-platform:1' } } }, 'images.platform.repository'],
    [{ images: { platform: { tag: `1@${DIGEST}` } } }, 'images.platform.tag'],
  ])('%j', async (values, sentence) => {
    await expect(render.chart(values)).rejects.toThrow(sentence);
  });
});

test('credentials for all are those of the platform and of every pod that the operator makes', async () => {
  const secrets = {
    global: { imagePullSecrets: ['mirror', { name: 'second' }] },
    images: { pullSecrets: ['platform', 'mirror'] },
  };
  const objects = await render.chart(secrets);
  const names = ['mirror', 'second', 'platform'].map((name) => ({ name }));
  expect(podsOf(objects).map(({ imagePullSecrets }) => imagePullSecrets)).toEqual([
    names,
    names,
    names,
    names,
  ]);
  // Its account pulls for the pods of the command api-key.
  const account = objects.find((object) => idOf(object) === 'ServiceAccount/gx-system/gx-api-key');
  expect(account?.imagePullSecrets).toEqual(names);
  expect(readOperatorConfig(environment(objects)).settings.imagePullSecrets).toEqual([
    'mirror',
    'second',
  ]);
  expect(readOperatorConfig(environment(await render.chart())).settings.imagePullSecrets).toEqual(
    [],
  );
});

test('images for one kind of processors keep every pod with them on such nodes, unless a value names others', async () => {
  const objects = await render.chart({
    images: { architecture: 'arm64' },
    gateway: { nodeSelector: { 'kubernetes.io/arch': 'amd64' } },
    console: { nodeSelector: { pool: 'web' } },
  });
  const nodes = Object.fromEntries(
    objects.flatMap((object) => {
      const pod = object.spec?.template?.spec;
      return pod === undefined ? [] : [[idOf(object).split('/').at(-1), pod.nodeSelector]];
    }),
  );
  const arm = { 'kubernetes.io/arch': 'arm64' };
  expect(nodes).toEqual({
    'gx-operator': arm,
    'gx-control-plane': arm,
    'gx-gateway': { 'kubernetes.io/arch': 'amd64' },
    'gx-console': { ...arm, pool: 'web' },
  });
  expect(readOperatorConfig(environment(objects)).settings.imageArchitecture).toBe('arm64');
  const usual = await render.chart();
  expect(podsOf(usual).map(({ nodeSelector }) => nodeSelector)).toEqual(
    podsOf(usual).map(() => undefined),
  );
  expect(readOperatorConfig(environment(usual)).settings.imageArchitecture).toBeUndefined();
});
