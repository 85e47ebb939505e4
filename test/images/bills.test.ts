import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('each stage of the Dockerfile that installs Debian packages lists them afterwards', () => {
  const stages = readFileSync('Dockerfile', 'utf8')
    .split(/^(?=FROM )/m)
    .filter((stage) => stage.includes('apt-get install'))
    .map((stage) => ({ name: / AS (\S+)/.exec(stage)?.[1] ?? '', stage }));
  expect(stages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['gx-postgres', 'gx-valkey', 'python-app', 'gx-builder']),
  );
  const silent = stages.filter(
    ({ stage }) =>
      stage.lastIndexOf('sh /tmp/sbom/debian >') < stage.lastIndexOf('apt-get install'),
  );
  // Others take files of this stage, which is no image.
  expect(silent.map(({ name }) => name)).toEqual(['python-packages']);
});
