import { expect, test } from 'vitest';
import { operatorConfig } from '../../src/config/operator.ts';

const builder = (env: Record<string, string>) => operatorConfig(env).settings.builder;
const LEAST = { GX_BUILDER_IMAGE: 'builder:1', GX_BUILDER_REPOSITORY: 'registry.example:5000/agents/' };

test('there is no builder without an image', () => {
  expect(builder({ GX_BUILDER_REPOSITORY: 'r' })).toBeUndefined();
});

test('an image and a repository are a whole builder', () => {
  expect(builder(LEAST)).toEqual({
    image: 'builder:1',
    repository: 'registry.example:5000/agents',
    cpu: 0.5,
    memoryMb: 1024,
    deadlineSeconds: 1800,
    keepSeconds: 86_400,
  });
});

test.each([
  ['no repository', { GX_BUILDER_IMAGE: 'b' }, /GX_BUILDER_REPOSITORY/],
  ['a repository with a tag', { ...LEAST, GX_BUILDER_REPOSITORY: 'r.example/a:1' }, /GX_BUILDER_REPOSITORY/],
  ['a URL for a repository', { ...LEAST, GX_BUILDER_REPOSITORY: 'https://r.example' }, /GX_BUILDER_REPOSITORY/],
  ['a command that is no list', { ...LEAST, GX_BUILDER_COMMAND: '"build"' }, /GX_BUILDER_COMMAND/],
  ['arguments that are no JSON', { ...LEAST, GX_BUILDER_ARGS: 'a b' }, /GX_BUILDER_ARGS/],
])('%s is told at the start', (_, env, problem) => {
  expect(() => operatorConfig(env)).toThrow(problem);
});
