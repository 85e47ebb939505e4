import { expect, test } from 'vitest';
import { checkImages } from '../../../src/control-plane/pod-policy/image-rules.ts';
import {
  buildImageRepository,
  buildCacheRepository,
} from '../../../src/schema/platform/source/built-image.ts';

const BUILT = { repository: 'registry.example.com/agents', pullSecret: 'pull' };
const OWN = ['team-a', 'team-a-staging'];
const brokenBy = (image: string) => checkImages(BUILT, { spec: undefined, image, namespaces: OWN });

test.each([
  ['of another tenant', 'registry.example.com/agents/team-b/chat:chat-00001'],
  [
    'of another tenant by digest',
    `registry.example.com/agents/team-b/chat@sha256:${'a'.repeat(64)}`,
  ],
  ['of a namespace that begins alike', 'registry.example.com/agents/team-ab/chat:1'],
  ['of another tenant, at the registry in capitals', 'Registry.Example.com/agents/team-b/chat:1'],
  ['of another tenant, at the usual port', 'registry.example.com:443/agents/team-b/chat:1'],
  [
    'of another tenant, at the usual port in other words',
    'registry.example.com:00443/agents/team-b/chat:1',
  ],
  ['of packages of another tenant', 'registry.example.com/agents/team-b/chat/cache:1'],
])('a deployment runs no image %s', (_what, image) => {
  expect(brokenBy(image)).toEqual([
    expect.stringMatching(/^source_revision_config\.image_uri: images of builds/),
  ]);
});

test.each([
  ['of its own namespace', 'registry.example.com/agents/team-a/chat:chat-00001'],
  ['of another namespace of its tenant', 'registry.example.com/agents/team-a-staging/chat:1'],
  ['of the same registry that no build made', 'registry.example.com/tools/proxy:1'],
  ['whose name begins alike', 'registry.example.com/agents-of-others/team-b/chat:1'],
  ['of another registry', 'ghcr.io/agents/team-b/chat:1'],
])('a deployment may run an image %s', (_what, image) => {
  expect(brokenBy(image)).toEqual([]);
});

test('on Docker Hub, which has two levels, an image is of the namespace before the dot', () => {
  const onHub = (image: string) =>
    checkImages(
      { repository: 'docker.io/acme', pullSecret: 'pull' },
      { spec: undefined, image, namespaces: OWN },
    );
  const built = { namespace: 'team-a', deployment: 'chat' };
  expect(buildImageRepository('docker.io/acme', built)).toBe('docker.io/acme/team-a.chat');
  expect(buildCacheRepository('docker.io/acme/team-a.chat')).toBe(
    'docker.io/acme/team-a.chat.cache',
  );
  expect(buildImageRepository('registry.example.com/agents', built)).toBe(
    'registry.example.com/agents/team-a/chat',
  );
  expect(buildCacheRepository('registry.example.com/agents/team-a/chat')).toBe(
    'registry.example.com/agents/team-a/chat/cache',
  );
  expect(onHub('acme/team-a.chat:1')).toEqual([]);
  for (const image of [
    'acme/team-b.chat:1',
    'docker.io/acme/team-b.chat.cache:1',
    'index.docker.io/acme/team-b.team-a:1',
  ])
    expect(onHub(image)).toEqual([expect.stringMatching(/images of builds/)]);
});

test('init containers and sidecars are bound as the agent is, and nobody names the credential for it', () => {
  const image = 'registry.example.com/agents/team-b/chat:1';
  const spec = {
    init_containers: [{ name: 'peek', image }],
    sidecars: [
      { name: 'good', image: 'proxy:1' },
      { name: 'peek-too', image },
    ],
    image_pull_secrets: [{ name: 'own' }, { name: 'pull' }],
  };
  expect(checkImages(BUILT, { spec, namespaces: OWN })).toEqual([
    expect.stringMatching(/^source_config\.resource_spec\.init_containers\.0\.image: /),
    expect.stringMatching(/^source_config\.resource_spec\.sidecars\.1\.image: /),
    'source_config.resource_spec.image_pull_secrets.1: pull is for images that the platform built',
  ]);
});

test.each(['registry.example.com', 'registry.example.com:443', 'registry:5000'])(
  'images of builds may be right below %s',
  (repository) => {
    const broken = (image: string) =>
      checkImages(
        { repository, pullSecret: undefined },
        { spec: undefined, image, namespaces: OWN },
      );
    expect(broken(`${repository}/team-b/chat:1`)).toHaveLength(1);
    expect(broken(`${repository}/team-a/chat:1`)).toEqual([]);
  },
);

test('a registry of Docker Hub has several names', () => {
  const hub = { repository: 'docker.io/acme', pullSecret: undefined };
  for (const image of [
    'acme/team-b/chat:1',
    'docker.io/acme/team-b/chat:1',
    'index.docker.io/acme/team-b/chat:1',
  ])
    expect(checkImages(hub, { spec: undefined, image, namespaces: OWN })).toHaveLength(1);
});

test('without builds every image and every credential may be named', () => {
  const spec = { image_pull_secrets: [{ name: 'pull' }] };
  const given = { repository: undefined, pullSecret: undefined };
  expect(
    checkImages(given, {
      spec,
      image: 'registry.example.com/agents/team-b/chat:1',
      namespaces: [],
    }),
  ).toEqual([]);
});
