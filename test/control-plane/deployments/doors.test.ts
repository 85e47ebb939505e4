import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  toDeploymentResource,
  toSpec,
  toWanted,
} from '../../../src/control-plane/deployments/resource.ts';
import { applyPatch } from '../../../src/control-plane/deployments/rules.ts';
import { buildJsonPatch } from '../../../src/control-plane/json-patch.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { startPlane, TENANT_A, type Plane } from '../kit/api-server-plane.ts';
import { container, FORBIDDEN, FORBIDDEN_CHANGES, git, INTEGRATIONS } from './cases.ts';

/** One installation of each hosting, because git is for one and containers for the other. */
let planes: { git: Plane; external_container: Plane };
const name = (): string => `d-${randomUUID().slice(0, 8)}`;

beforeAll(async () => {
  const [cloud, own] = await Promise.all([
    startPlane('cloud', { hosting: 'cloud', gitIntegrations: INTEGRATIONS }),
    startPlane('own', {
      builtImages: { repository: 'registry.example/agents', pullSecret: 'pull' },
    }),
  ]);
  planes = { git: cloud, external_container: own };
});
afterAll(() => Promise.all([planes.git.stop(), planes.external_container.stop()]));

const everything = async ({ kube, namespace }: Plane): Promise<string[]> => {
  const scope = { namespace };
  const lists = await Promise.all([
    kube.listAll(kinds.deployment, scope),
    kube.listAll(kinds.revision, scope),
    kube.listAll(kinds.secret, scope),
  ]);
  return lists.flat().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
};

describe('what may not be made is refused', () => {
  test.each(FORBIDDEN)('by POST, leaving nothing behind: $situation', async ({ body, path }) => {
    const plane = planes[body.source];
    const before = await everything(plane);
    const secrets = [{ name: 'TOKEN', value: 'v' }];
    const { status, body: answer } = await plane.call<{ detail: string }>(
      'POST',
      '/v2/deployments',
      {
        body: { ...body, name: name(), secrets },
      },
    );
    expect(status).toBe(400);
    expect(answer.detail.slice(0, path.length + 2)).toBe(`${path}: `);
    expect(await everything(plane)).toEqual(before);
  });

  test.each(FORBIDDEN.filter(({ door }) => door === 'both'))(
    'by the API server: $situation',
    async ({ body }) => {
      const { kube, namespace } = planes[body.source];
      const resource = toDeploymentResource(
        { ...body, name: name(), secrets: [] },
        { namespace, tenantId: TENANT_A },
        {},
      );
      await expect(kube.create(kinds.deployment, resource, { dryRun: true })).rejects.toMatchObject(
        { name: 'KubeRefused' },
      );
    },
  );
});

test.each(['My Image', 'https://registry.example/agent:1', 'registry.example/Team/agent'])(
  'no door takes the image %j',
  async (image_uri) => {
    const plane = planes.external_container;
    const body = { ...container, source_revision_config: { image_uri }, name: name(), secrets: [] };
    const { status, body: answer } = await plane.call<{ detail: { loc: string[] }[] }>(
      'POST',
      '/v2/deployments',
      { body },
    );
    expect({ status, loc: answer.detail[0]?.loc }).toEqual({
      status: 422,
      loc: ['body', 'source_revision_config', 'image_uri'],
    });
    const resource = toDeploymentResource(
      body,
      { namespace: plane.namespace, tenantId: TENANT_A },
      {},
    );
    await expect(
      plane.kube.create(kinds.deployment, resource, { dryRun: true }),
    ).rejects.toMatchObject({
      name: 'KubeRefused',
      message: expect.stringMatching(/imageUri: Invalid value: .*an image must/) as string,
    });
  },
);

describe('what may not be changed is refused', () => {
  test.each(FORBIDDEN_CHANGES)(
    'by PATCH, leaving it as it was: $situation',
    async ({ of, patch, path }) => {
      const plane = planes[of.source];
      const made = await plane.call<Deployment>('POST', '/v2/deployments', {
        body: { ...of, name: name(), secrets: [] },
      });
      expect(made.status).toBe(201);
      const before = await everything(plane);
      const { status, body } = await plane.call<{ detail: string }>(
        'PATCH',
        `/v2/deployments/${made.body.id}`,
        {
          body: { ...patch, secrets: [{ name: 'A', value: 'v' }] },
        },
      );
      expect(status).toBe(400);
      expect(body.detail.slice(0, path.length + 2)).toBe(`${path}: `);
      expect(await everything(plane)).toEqual(before);
    },
  );

  test.each(FORBIDDEN_CHANGES.filter(({ door }) => door === 'both'))(
    'by the API server: $situation',
    async ({ of, patch }) => {
      const { kube, namespace } = planes[of.source];
      const stored = await kube.create(
        kinds.deployment,
        toDeploymentResource(
          { ...of, name: name(), secrets: [] },
          { namespace, tenantId: TENANT_A },
          {},
        ),
      );
      const wanted = { ...applyPatch(toWanted(stored), patch), source: patch.source ?? of.source };
      const changes = buildJsonPatch(stored.spec, toSpec(wanted, {}), '/spec');
      await expect(
        kube.patchJson(kinds.deployment, { namespace, name: stored.metadata.name }, changes, {
          dryRun: true,
        }),
      ).rejects.toMatchObject({ name: 'KubeRefused' });
    },
  );

  test.each([
    ['git', { name: undefined, source: 'git', source_config: { ...git.source_config } }],
    ['external_container', { source: 'external_container' }],
  ] as const)('the present value sent again is no change: %s', async (source, patch) => {
    const plane = planes[source];
    const body = FORBIDDEN_CHANGES.find(({ of }) => of.source === source)?.of;
    const made = await plane.call<Deployment>('POST', '/v2/deployments', {
      body: { ...body, name: name(), secrets: [] },
    });
    const { listener_id, listener_config } = made.body.source_config;
    const placement = source === 'git' ? {} : { source_config: { listener_id, listener_config } };
    const { status, body: patched } = await plane.call<Deployment>(
      'PATCH',
      `/v2/deployments/${made.body.id}`,
      {
        body: { ...patch, name: made.body.name, ...placement },
      },
    );
    expect([status, patched]).toEqual([200, made.body]);
  });

  test('a whole answer of git sent back is no change but a revision', async () => {
    const made = await planes.git.call<Deployment>('POST', '/v2/deployments', {
      body: { ...git, name: name(), secrets: [] },
    });
    const {
      source_config,
      source_revision_config: { repo_ref },
    } = made.body;
    const { status, body } = await planes.git.call<Deployment>(
      'PATCH',
      `/v2/deployments/${made.body.id}`,
      {
        body: { source_config, source_revision_config: { repo_ref } },
      },
    );
    expect(status).toBe(200);
    expect(body.latest_revision_id).not.toBe(made.body.latest_revision_id);
    expect(body.source_config).toEqual(made.body.source_config);
  });
});

test.each([
  ['git', 'external_container'],
  ['external_container', 'git'],
] as const)('source %s is not for the hosting of %s', async (source, other) => {
  const body = FORBIDDEN_CHANGES.find(({ of }) => of.source === source)?.of;
  const answer = await planes[other].call<{ detail: string }>('POST', '/v2/deployments', {
    body: { ...body, name: name(), secrets: [] },
  });
  expect([answer.status, answer.body.detail.startsWith('source: ')]).toEqual([400, true]);
});

test('an integration that is not configured is refused', async () => {
  const body = {
    ...git,
    name: name(),
    secrets: [],
    source_config: { ...git.source_config, integration_id: randomUUID() },
  };
  const { status, body: answer } = await planes.git.call<{ detail: string }>(
    'POST',
    '/v2/deployments',
    { body },
  );
  expect([status, answer.detail]).toEqual([
    400,
    'source_config.integration_id: no integration has this id',
  ]);
});

const REPO_URLS = [
  'ext::sh -c id',
  'file:///etc',
  '/etc',
  '-u',
  'git://git.example/a',
  'https://-x/a',
  'a@ext::sh',
  'https://git.example/a/../b',
  'git@git.example:22/team/chat.git',
];
const REPO_REFS = [
  '-x',
  '--upload-pack=id',
  'a b',
  'a..b',
  'a:b',
  '/a',
  '.a',
  'a^',
  'a~1',
  'a?',
  '*',
  'a\\b',
  'a\nb',
  'refs/heads/main',
  'refs/pull/1/head',
  'x.lock',
  'a@{1}',
  '@',
];
const REFUSED_SOURCES = [
  ...[...REPO_URLS, 'https://me:secret@git.example/a'].map((repo_url) => [
    'repo_url',
    repo_url,
    { source_config: { ...git.source_config, repo_url } },
  ]),
  ...REPO_REFS.map((repo_ref) => [
    'repo_ref',
    repo_ref,
    { source_revision_config: { ...git.source_revision_config, repo_ref } },
  ]),
] as [string, string, Partial<typeof git>][];

test.each(REFUSED_SOURCES)('a %s of %j is refused by both doors', async (field, _, part) => {
  const body = { ...git, ...part, name: name(), secrets: [] };
  const answer = await planes.git.call<{ detail: { loc: string[] }[] }>('POST', '/v2/deployments', {
    body,
  });
  expect([answer.status, answer.body.detail.map(({ loc }) => loc.at(-1))]).toEqual([422, [field]]);
  const { kube, namespace } = planes.git;
  const resource = toDeploymentResource(body, { namespace, tenantId: TENANT_A }, {});
  await expect(kube.create(kinds.deployment, resource, { dryRun: true })).rejects.toMatchObject({
    name: 'KubeRefused',
  });
});

test.each([
  ['repo_url', 'https://git.example:8443/team/chat.git'],
  ['repo_url', 'ssh://git@git.example:22/team/chat.git'],
  ['repo_url', 'git@git.example:team/chat.git'],
  ['repo_ref', 'feature/fünf-1.2'],
  ['repo_ref', 'refs/tags/v1.2.3+build'],
])('a %s of %j is taken by both doors', async (field, value) => {
  const part =
    field === 'repo_url' ? { source_config: { ...git.source_config, repo_url: value } } : {};
  const ref =
    field === 'repo_ref'
      ? { source_revision_config: { ...git.source_revision_config, repo_ref: value } }
      : {};
  const body = { ...git, ...part, ...ref, name: name(), secrets: [] };
  expect((await planes.git.call('POST', '/v2/deployments', { body })).status).toBe(201);
});
