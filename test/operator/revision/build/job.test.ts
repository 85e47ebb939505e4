import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Builder } from '../../../../src/config/builder.ts';
import { buildJob } from '../../../../src/operator/revision/build/job.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../../../kit/objects.ts';

const full: Partial<Builder> = {
  command: ['/bin/build'],
  args: ['--push'],
  serviceAccountName: 'builder',
  secretName: 'git-token',
  registrySecretName: 'registry',
};

test.each<[string, Partial<Builder>]>([
  ['defaults', {}],
  ['every-setting', full],
])('the Job of a build: %s', async (name, given) => {
  const job = buildJob(revision(deployment(fromGit('main'))), { ...BUILDER, ...given }, settings());
  await expect(stringify(job, { aliasDuplicateObjects: false })).toMatchFileSnapshot(`../../../golden/build/${name}.yaml`);
});

test('what a user writes is put into no variable of the builder', () => {
  const of = deployment(fromGit('$(GIT_TOKEN)$'));
  const job = buildJob(revision(of), BUILDER, settings());
  expect(JSON.stringify(job)).toContain('{"name":"GX_GIT_REF","value":"$$(GIT_TOKEN)$$"}');
});
