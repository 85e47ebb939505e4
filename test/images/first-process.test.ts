import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/*
 * The first process of a container gets no signal that it has not asked for. Node asks some time after its start, so a
 * pod that is stopped in that time would stay for its whole grace period. tini passes the signal on, which ends Node.
 */

test('in each image, tini is the first process, and Node is its child', () => {
  const started = readFileSync('Dockerfile', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('ENTRYPOINT') && line.includes('node'));
  expect(started.length).toBeGreaterThanOrEqual(4);
  for (const line of started) expect(line).toMatch(/^ENTRYPOINT \["tini", "--", "node", /);
  expect(readFileSync('dev/images/cli/gx-agent-server', 'utf8')).toContain('set -- tini -- node ');
});
