import { expect, test } from 'vitest';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import {
  sortRevisions,
  buildRevision,
  hashTemplate,
} from '../../src/schema/platform/resources/revision-of.ts';
import { formatCanonicalJson, hashJson } from '../../src/schema/canonical-json.ts';

const deployment = (
  spec: Partial<DeploymentResource['spec']> = {},
  metadata: Partial<DeploymentResource['metadata']> = {},
): DeploymentResource => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Deployment',
  metadata: { name: 'chat', namespace: 'agents', uid: 'uid-1', generation: 7, ...metadata },
  spec: {
    source: 'external_container',
    template: { sourceRevisionConfig: { imageUri: 'chat:1' } },
    ...spec,
  },
});

test.each([
  [{ b: { 10: 'x', 9: 'y', a: 1, '01': 2 }, a: undefined }],
  [[undefined, null, 1.5, true, 'é"\n\u2028', [], {}]],
  [{ at: new Date(0), none: () => 1, ['__proto__']: { z: 1, y: 2 } }],
  ['text'],
  [null],
])(
  'the text of %j is the one that JSON gives with sorted keys: stored hashes depend on it',
  (value) => {
    const sorted = (_: string, inner: unknown): unknown =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner;
    expect(formatCanonicalJson(value)).toBe(JSON.stringify(value, sorted));
  },
);

test('keys in another order are the same value', () => {
  expect(formatCanonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe(
    '{"a":null,"b":[{"c":2,"d":1}]}',
  );
  expect(hashJson({ a: 1, b: 2 })).toBe(hashJson({ b: 2, a: 1 }));
  expect(hashJson([1, 2])).not.toBe(hashJson([2, 1]));
});

test('the revision is an owned snapshot, named by the generation that asked for it', () => {
  const revision = buildRevision(
    deployment(
      { requestedAt: '2026-01-01T00:00:00Z', rollbackOf: 'chat-00003' },
      { labels: { 'gx.dev/tenant': 't' } },
    ),
  );
  expect(revision.metadata).toMatchObject({
    name: 'chat-00007',
    namespace: 'agents',
    labels: { 'gx.dev/deployment': 'chat', 'gx.dev/tenant': 't' },
    ownerReferences: [
      {
        kind: 'Deployment',
        name: 'chat',
        uid: 'uid-1',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
  expect(revision.spec).toMatchObject({
    deployment: 'chat',
    deploymentUid: 'uid-1',
    number: 7,
    rollbackOf: 'chat-00003',
    template: { sourceRevisionConfig: { imageUri: 'chat:1' } },
  });
});

test('two processes arrive at the same revision', () => {
  expect(buildRevision(deployment())).toEqual(buildRevision(structuredClone(deployment())));
});

test('another template or another request is another hash; nothing else is', () => {
  const hash = hashTemplate(deployment());
  expect(
    hashTemplate(deployment({ template: { sourceRevisionConfig: { imageUri: 'chat:2' } } })),
  ).not.toBe(hash);
  expect(hashTemplate(deployment({ requestedAt: '2026-01-01T00:00:00Z' }))).not.toBe(hash);
  expect(
    hashTemplate(
      deployment({ suspend: true, sourceConfig: { customUrl: 'https://x' } }, { generation: 8 }),
    ),
  ).toBe(hash);
});

test('the newest revision is the one with the greatest number, not the last in the alphabet', () => {
  const numbered = [99_999, 100_000, 2].map((generation) =>
    buildRevision(deployment({}, { generation })),
  );
  expect(sortRevisions(numbered).map(({ spec }) => spec.number)).toEqual([100_000, 99_999, 2]);
});
