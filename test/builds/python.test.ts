import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { BUILD_NAMESPACE } from '../../dev/run/builds.ts';
import { readFolderFiles } from '../../dev/run/git-host.ts';
import { installUv, repositoryOf } from '../kit/build-stages.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { buildLog, deploy, LONG, reaches, removeMade, unique, withSettings } from './kit.ts';

/* Projects in Python, from the push to an agent that answers, in real pods. */

const system = inject('system');
const kubectl = kubectlFor(system);
afterEach(() => removeMade(system));

/** Seconds to DEPLOYED on two cores: of a first build, and where sources changed. Only a quiet machine can tell. */
const [FIRST, WARM] = process.env.GX_QUIET_MACHINE === undefined ? [Infinity, Infinity] : [150, 60];

const ANSWERS = 'src/words/answers.py';
const { 'langgraph.json': config = '', ...SOURCES } = readFolderFiles(
  'test/builder/fixtures/python-uv',
);

/** The project with the lock file that its author would commit. */
function locked(): Record<string, string> {
  const { folder } = repositoryOf('python-uv');
  execFileSync(installUv(), ['lock', '--quiet'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lock = readFileSync(join(folder, 'uv.lock'), 'utf8');
  rmSync(folder, { recursive: true });
  return { ...SOURCES, 'gx.json': config, 'uv.lock': lock };
}

const secondsSince = (started: number): number => (performance.now() - started) / 1000;

test(
  'a project with uv.lock is DEPLOYED after its push, and sooner after a push of sources alone',
  async () => {
    const files = locked();
    const begun = performance.now();
    const deployment = await deploy(system, { name: unique('python'), files });
    const first = await reaches(deployment, 'DEPLOYED');
    const cold = secondsSince(begun);
    const asked = async (): Promise<unknown> =>
      (await deployment.client()).runs.wait(null, 'agent', { input: { question: 'a push' } });
    await until('it answers', async () =>
      JSON.stringify(await asked()).includes('uv: a push has a minute'),
    );
    const changed = (files[ANSWERS] ?? '').replace('{question} has', '{question} has again');
    const again = performance.now();
    const second = await deployment.ended(await deployment.push({ [ANSWERS]: changed }));
    const warm = secondsSince(again);
    process.stdout.write(
      `Python, from the push to DEPLOYED: first ${cold.toFixed(1)} s, of sources alone ${warm.toFixed(1)} s\n`,
    );
    expect(second.status).toBe('DEPLOYED');
    await until('the new one answers', async () =>
      JSON.stringify(await asked()).includes('uv: a push has again a minute'),
    );
    expect(await buildLog(system, deployment, first)).toContain('install packages of Python');
    expect(await buildLog(system, deployment, second)).not.toContain('install packages of Python');
    expect(cold).toBeLessThan(FIRST);
    expect(warm).toBeLessThan(WARM);
  },
  LONG,
);

/** Says where a command of the repository finds the credential. The pattern does not match this command itself. */
const LOOKS =
  'ls /gx/indexes; grep -l "cana[r]y" /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env; find / -name indexes.json 2> /dev/null; true';
const FOUND = /\/proc\/\d+\/|indexes\.json|canary/;

test(
  'packages come through the proxy of private indexes, whose credential no command of the repository finds',
  async () => {
    // The public index takes any credential.
    const indexes = JSON.stringify([
      { url: 'https://pypi.org/simple', username: 'ci', password: 'canary' },
    ]);
    const metadata = { name: 'indexes', namespace: BUILD_NAMESPACE };
    await kubectl.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      stringData: { 'indexes.json': indexes },
    });
    try {
      await withSettings(system, { GX_BUILD_INDEX_SECRET: metadata.name }, async () => {
        const deployment = await deploy(system, {
          name: unique('private'),
          files: locked(),
          config: { build_command: LOOKS },
        });
        const log = await buildLog(system, deployment, await reaches(deployment, 'DEPLOYED'));
        expect(log).toContain('private index: https://pypi.org, through the proxy of this pod');
        expect(log).toContain("cannot access '/gx/indexes'");
        expect(log).not.toMatch(FOUND);
      });
    } finally {
      await kubectl('delete', 'secret', metadata.name, '--namespace', metadata.namespace);
    }
  },
  LONG,
);
