import { describe, expect, test } from 'vitest';
import {
  toDeploymentAnswer,
  toDeploymentResource,
  toWanted,
} from '../../../../src/control-plane/deployments/resource.ts';
import {
  applyPatch,
  checkRules,
  checkSecrets,
  checkSpecSize,
  needsRevision,
  findLargeVariables,
  stripEcho,
} from '../../../../src/control-plane/deployments/rules.ts';
import { checkImages } from '../../../../src/control-plane/pod-policy/image-rules.ts';
import { checkPodRules } from '../../../../src/control-plane/pod-policy/rules.ts';
import type { Deployment } from '../../../../src/schema/platform/deployment/deployment.ts';
import { container, FORBIDDEN_BY_SHAPE, git } from '../cases.ts';

const answerOf = (body: typeof container): Deployment => {
  const resource = toDeploymentResource(
    { ...body, name: 'a', secrets: [] },
    { namespace: 'team', tenantId: 't' },
    {},
  );
  return toDeploymentAnswer(resource, { id: 'i', tenantId: 't', secrets: [] });
};

describe('a variable of the environment', () => {
  const secret = (bytes: number) => ({
    secrets: [
      { name: 'A', value: '' },
      { name: 'BUNDLE', value: 'x'.repeat(bytes) },
    ],
  });
  test('has 131,072 bytes at most, with its name and what the kernel adds', () => {
    expect(findLargeVariables(secret(131_064))).toEqual([]);
    expect(findLargeVariables(secret(131_065))).toEqual([
      {
        loc: ['body', 'secrets', 1, 'value'],
        msg: expect.stringMatching(/^BUNDLE and its value have more than 131070 bytes/),
        type: 'value_error',
      },
    ]);
    expect(
      findLargeVariables({ secrets: [{ name: 'A', value: 'é'.repeat(65_535) }] }),
    ).toHaveLength(1);
  });
  test.each(['sidecars', 'init_containers'])('of %s, too', (field) => {
    const large = {
      name: 'x',
      image: 'y',
      env: [{ name: 'E' }, { name: 'BIG', value: 'x'.repeat(140_000) }],
    };
    const [fault] = findLargeVariables({ source_config: { resource_spec: { [field]: [large] } } });
    expect(fault?.loc).toEqual([
      'body',
      'source_config',
      'resource_spec',
      field,
      0,
      'env',
      1,
      'value',
    ]);
  });
});

describe('a deployment', () => {
  test.each(FORBIDDEN_BY_SHAPE)('may not be $situation', ({ body, path }) => {
    const hosting = body.source === 'git' ? 'cloud' : 'self-hosted';
    const { resource_spec: spec } = body.source_config;
    const built = { repository: 'registry.example/agents', pullSecret: 'pull' };
    const asked = { spec, image: body.source_revision_config.image_uri, namespaces: ['team'] };
    const broken = [
      ...checkRules(body, { hosting }),
      ...checkPodRules(spec, []),
      ...checkImages(built, asked),
    ];
    expect(broken[0]).toMatch(new RegExp(`^${path.replaceAll('.', '\\.')}: `));
  });

  test.each([
    ['git', git, 'cloud'],
    ['container', container, 'self-hosted'],
  ] as const)('from %s breaks no rule', (_, body, hosting) => {
    expect(checkRules(body, { hosting })).toEqual([]);
  });

  test.each([
    ['git', git, 'self-hosted'],
    ['container', container, 'cloud'],
  ] as const)('from %s is not for %3$s installations', (_, body, hosting) => {
    expect(checkRules(body, { hosting })[0]).toMatch(/^source: /);
  });
});

test.each([
  ['a name given twice', ['A', 'A'], 'secrets.1.name'],
  ["the server's port", ['PORT'], 'secrets.0.name'],
  ['the database', ['OK', 'DATABASE_URI'], 'secrets.1.name'],
  ['the database by our own name', ['GX_DATABASE_URI'], 'secrets.0.name'],
  ['who the pod is', ['GX_REVISION'], 'secrets.0.name'],
  ['what Kubernetes sets', ['KUBERNETES_SERVICE_HOST'], 'secrets.0.name'],
])('a secret may not be %s', (_, names, path) => {
  const broken = checkSecrets(names.map((name) => ({ name, value: 'x' })));
  expect(broken).toEqual([expect.stringContaining(`${path}: `)]);
});

test('secrets may not be larger together than what Kubernetes stores', () => {
  const large = Array.from({ length: 5 }, (_, index) => ({
    name: `A${index}`,
    value: 'x'.repeat(250_000),
  }));
  expect(checkSecrets(large)).toEqual([expect.stringMatching(/^secrets: /)]);
});

test('a secret may be a setting that the server leaves to its user', () => {
  expect(
    checkSecrets(
      ['GX_AES_JSON_KEYS', 'MOUNT_PREFIX', 'N_JOBS_PER_WORKER'].map((name) => ({
        name,
        value: '',
      })),
    ),
  ).toEqual([]);
});

test.each([
  [
    'an image, even the same one',
    { source_revision_config: { image_uri: 'registry.example/agent:1' } },
    true,
  ],
  ['a resource spec, even an empty one', { source_config: { resource_spec: {} } }, true],
  ['secrets, even none', { secrets: [] }, true],
  ['a branch', { source_revision_config: { repo_ref: 'main' } }, true],
  ['a path to gx.json', { source_revision_config: { gx_config_path: 'gx.json' } }, true],
  ['nothing', {}, false],
  [
    'only nulls',
    {
      secrets: null,
      source_config: { resource_spec: null },
      source_revision_config: { image_uri: null },
    },
    false,
  ],
  ['a URL', { source_config: { custom_url: 'https://a.example' } }, false],
  ['whether pushes are built', { source_config: { build_on_push: true } }, false],
])('a patch of %s makes a revision: %s', (_, patch, makes) => {
  expect(needsRevision(patch)).toBe(makes);
});

test('null keeps what is there, and a resource spec is replaced as a whole', () => {
  const stored = toWanted(
    toDeploymentResource(
      {
        ...container,
        source_config: {
          custom_url: 'https://a.example',
          resource_spec: { cpu: 1, memory_mb: 512 },
        },
        name: 'a',
        secrets: [],
      },
      { namespace: 'n', tenantId: 't' },
      {},
    ),
  );
  const { source_config: after } = applyPatch(stored, {
    source_config: { custom_url: null, resource_spec: { cpu: 2 } },
    source_revision_config: null,
  });
  expect(after).toMatchObject({ custom_url: 'https://a.example', resource_spec: { cpu: 2 } });
  expect(after.resource_spec).not.toHaveProperty('memory_mb');
});

test('an answer that is sent back whole changes nothing but asks for a revision', () => {
  const current = answerOf(container);
  const patch = stripEcho(current, {
    source_config: current.source_config,
    source_revision_config: { image_uri: 'registry.example/agent:1' },
  });
  expect(patch.source_config).toEqual({ resource_spec: current.source_config.resource_spec });
});

test('a deployment that is larger than a spec may be is refused by its size', () => {
  const wanted = (count: number) => {
    const labels = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`k${index}`, 'x'.repeat(50)]),
    );
    return {
      source: 'external_container',
      source_config: { resource_spec: { labels } },
      source_revision_config: {},
    } as const;
  };
  expect(checkSpecSize(wanted(3000))).toEqual([]);
  expect(checkSpecSize(wanted(6000))).toEqual([
    expect.stringMatching(/^source_config: it has some \d+ characters of JSON, and 262144 are/),
  ]);
});
