import { expect, test } from 'vitest';
import {
  findImageDigest,
  parseImageRepository,
} from '../../../src/operator/revision/image-name.ts';
import { findRepeatedImage } from '../../../src/operator/revision/image.ts';
import { deployment, fromGit, revision } from '../../kit/objects.ts';

const DIGEST = `sha256:${'c'.repeat(64)}`;

test.each([
  ['agent', 'agent'],
  ['agent:1', 'agent'],
  ['localhost:5000/a/agent', 'localhost:5000/a/agent'],
  [`localhost:5000/a/agent:1@${DIGEST}`, 'localhost:5000/a/agent'],
])('the name of %s is %s', (image, name) => {
  expect(parseImageRepository(image)).toBe(name);
});

test.each([
  [`docker.io/library/agent@${DIGEST}`, 'agent:1', DIGEST],
  [`docker.io/team/agent@${DIGEST}`, 'team/agent:1', DIGEST],
  [`localhost:5000/agent@${DIGEST}`, 'localhost:5000/agent:1', DIGEST],
  [DIGEST, 'agent:1', undefined],
  [`docker.io/library/import-2026@${DIGEST}`, 'agent:1', undefined],
  ['', 'agent:1', undefined],
])('of %s for %s the digest is %s', (id, image, digest) => {
  expect(findImageDigest(id, image)).toBe(digest);
});

test('a rollback repeats the digest, or the built image; not when it asks for something else', () => {
  const rollback = deployment({ spec: { rollbackOf: 'chat-00001' }, metadata: { generation: 2 } });
  const former = (status: object) => revision(deployment(), { status });
  expect(findRepeatedImage(revision(rollback), [former({ imageDigest: DIGEST })])).toEqual({
    image: `agent@${DIGEST}`,
  });
  expect(findRepeatedImage(revision(rollback), [former({})])).toBeUndefined();
  expect(findRepeatedImage(revision(rollback), [])).toBeUndefined();
  const other = deployment({
    spec: { rollbackOf: 'chat-00001' },
    metadata: { generation: 2 },
    image: 'agent:2',
  });
  expect(findRepeatedImage(revision(other), [former({ imageDigest: DIGEST })])).toBeUndefined();
  const built = revision(deployment(fromGit('main')), {
    status: { image: 'r/a:1', imageArchitecture: 'arm64' },
  });
  const again = revision(
    deployment(
      fromGit('main', { spec: { rollbackOf: 'chat-00001' }, metadata: { generation: 2 } }),
    ),
  );
  expect(findRepeatedImage(again, [built])).toEqual({ image: 'r/a:1', architecture: 'arm64' });
});
