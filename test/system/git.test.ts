import { afterAll, expect, inject, test } from 'vitest';
import { call } from '../../dev/run/control-plane.ts';
import { deployFromGit, told, type GitDeployment } from '../kit/git-deployment.ts';
import { prober } from '../kit/prober.ts';
import { until } from '../kit/until.ts';

/* From a repository to a serving agent, and from a push to the next one, with a real git host and a real registry. */

const system = inject('system');
const name = `from-git-${Date.now().toString(36).slice(-5)}`;
const word = (text: string) => ({ 'word.js': `export const WORD = '${text}';\n` });
/** Short of the five minutes that a build gets twice, and of vitest's limit. */
const LONG = 900_000;

let deployment: GitDeployment;

// Other tests need its place on the node.
afterAll(() =>
  call({ url: system.controlPlane, key: system.key }, 'DELETE', `/v2/deployments/${deployment.id}`),
);

test(
  'a repository becomes an agent that answers; its image stands under its digest, with the commit that it is made of',
  async () => {
    deployment = await deployFromGit(system, { name });
    const [revision] = await until(
      'it is deployed',
      async () => {
        const all = await deployment.revisions();
        if (all[0]?.status === 'DEPLOYED') return all;
        throw new Error(JSON.stringify(all));
      },
      300,
    );
    expect(revision?.source_revision_config).toMatchObject({
      image_uri: expect.stringMatching(
        new RegExp(
          `^registry\\.gx-platform\\.local:5000/agents/gx-agents/${name}@sha256:[0-9a-f]{64}$`,
        ),
      ),
      repo_commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    expect(await told(await deployment.client())).toBe('first 60000');
  },
  LONG,
);

test(
  'a push is built and serves without a failed request',
  async () => {
    const client = await deployment.client();
    const heard = new Set<string>();
    const asked = prober(async () => void heard.add(await told(client)), 100);
    const commit = await deployment.push(word('second'));
    const revision = await deployment.ended(commit);
    await until('the new one answers', () => heard.has('second 60000'));
    const { rounds, failures } = await asked.stop();
    expect(revision.status).toBe('DEPLOYED');
    expect(failures).toEqual([]);
    expect(rounds).toBeGreaterThan(10);
    expect([...heard]).toEqual(['first 60000', 'second 60000']);
  },
  LONG,
);

test(
  'a broken commit fails with what its author needs to know, and the one before goes on serving',
  async () => {
    const before = await deployment.read();
    const wanted = {
      name: 'teller',
      private: true,
      type: 'module',
      dependencies: { ms: '2.1.3', 'left-pad': '1.3.0' },
    };
    const commit = await deployment.push({ 'package.json': JSON.stringify(wanted) });
    const revision = await deployment.ended(commit);
    const log_tail = expect.stringContaining('Missing: left-pad@1.3.0 from lock file');
    expect(revision).toMatchObject({ status: 'BUILD_FAILED', reason: 'InstallFailed', log_tail });
    expect(await deployment.read()).toMatchObject({
      status: 'READY',
      active_revision_id: before.active_revision_id,
    });
    expect(await told(await deployment.client())).toBe('second 60000');
  },
  LONG,
);
