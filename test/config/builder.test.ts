import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';

const builder = (env: Record<string, string | undefined>) =>
  readOperatorConfig(env).settings.builder;
const LEAST = {
  GX_BUILDER_REPOSITORY: 'registry.example:5000/agents/',
  GX_BUILD_IMAGE: 'builder:1',
  GX_BUILD_NAMESPACE: 'builds',
  GX_GIT_NAMESPACE: 'git',
};

test('there is no builder without a place to push to', () => {
  expect(builder({ ...LEAST, GX_BUILDER_REPOSITORY: undefined })).toBeUndefined();
});

test('an image, a place to push to and two namespaces are a whole builder', () => {
  expect(builder(LEAST)).toEqual({
    image: 'builder:1',
    repository: 'registry.example:5000/agents',
    namespace: 'builds',
    gitNamespace: 'git',
    insecureRegistry: false,
    parallel: 2,
    parallelInAll: 4,
    cpu: 0.5,
    memoryMb: 1024,
    diskMb: 4096,
    deadlineSeconds: 1800,
    keepSeconds: 86_400,
  });
});

test.each([
  ['no image', { ...LEAST, GX_BUILD_IMAGE: undefined }, /GX_BUILD_IMAGE/],
  ['no namespace of builds', { ...LEAST, GX_BUILD_NAMESPACE: undefined }, /GX_BUILD_NAMESPACE/],
  [
    'BuildKit without its image',
    { ...LEAST, GX_BUILDKIT_NAMESPACE: 'buildkit' },
    /GX_BUILDKIT_IMAGE/,
  ],
  [
    'a repository with a tag',
    { ...LEAST, GX_BUILDER_REPOSITORY: 'r.example/a:1' },
    /GX_BUILDER_REPOSITORY/,
  ],
  [
    'a path below an organization of Docker Hub',
    { ...LEAST, GX_BUILDER_REPOSITORY: 'docker.io/acme/agents' },
    /docker\.io\/<organization>/,
  ],
  [
    'a URL for a repository',
    { ...LEAST, GX_BUILDER_REPOSITORY: 'https://r.example' },
    /GX_BUILDER_REPOSITORY/,
  ],
])('%s is a problem at the start', (_, env, problem) => {
  expect(() => readOperatorConfig(env)).toThrow(problem);
});
