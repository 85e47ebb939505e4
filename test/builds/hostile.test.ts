import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { requireRunningCluster } from '../../dev/cluster/cluster.ts';
import { told, type BuiltRevision, type GitDeployment } from '../kit/git-deployment.ts';
import { buildLog, deploy, LONG, reaches, removeMade, unique, withSettings } from './kit.ts';

/* What builds run is other people's code. Each of these repositories tries what a build must not be able to do. */

const system = inject('system');
const SERVED = "export const WORD = 'good';\n";

let deployment: GitDeployment;

beforeAll(async () => {
  // The command is given with the deployment, as its owner may, and runs what each commit brings.
  deployment = await deploy(system, {
    name: unique('hostile'),
    config: { build_command: 'node attempt.js' },
    files: {
      ...files(),
      'word.js': SERVED,
      'attempt.js': '',
    },
  });
  await reaches(deployment, 'DEPLOYED');
}, LONG);
afterAll(() => removeMade(system));

const files = (): Record<string, string> =>
  Object.fromEntries(
    ['gx.json', 'graph.js', 'package.json', 'package-lock.json'].map((name) => [
      name,
      readFileSync(new URL(`../system/teller/${name}`, import.meta.url), 'utf8'),
    ]),
  );

/** Pushes the attempt, and returns how its build ended and what it logged. What served goes on serving. */
async function attempt(script: string): Promise<{ revision: BuiltRevision; log: string }> {
  const revision = await deployment.ended(await deployment.push({ 'attempt.js': script }));
  expect(await told(await deployment.client())).toBe('good 60000');
  return { revision, log: await buildLog(system, deployment, revision) };
}

/** Says what came of each try as one line of JSON, and fails the build. */
const tries = (body: string): string => `
  const { readdirSync, readFileSync, existsSync } = await import('node:fs');
  const found = {};
  const attempt = async (name, work) => { found[name] = await Promise.resolve().then(work).catch((error) => error.cause?.code ?? error.code ?? error.message); };
  ${body}
  console.log('FOUND ' + JSON.stringify(found));
  process.exit(1);
`;

function foundIn(log: string): Record<string, unknown> {
  const line = /FOUND (\{.*\})/.exec(log)?.[1];
  if (line === undefined) throw new Error(`The build did not say what it found:\n${log}`);
  return JSON.parse(line) as Record<string, unknown>;
}

describe('a build', () => {
  test(
    'that looks for secrets finds neither the credential of git, nor that of the registry, nor a token',
    async () => {
      const { revision, log } = await attempt(
        tries(`
        const read = (folder) => readdirSync(folder, { recursive: true }).map(String);
        for (const folder of ['/gx/git', '/gx/registry', '/var/run/secrets/kubernetes.io/serviceaccount']) await attempt(folder, () => read(folder));
        await attempt('environment', () => Object.entries(process.env).filter(([name, value]) => /token|secret|password|auth/i.test(name + value)).map(([name]) => name));
        await attempt('repository', () => readFileSync('.git/config', 'utf8'));
        await attempt('processes', () => readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).flatMap((id) => {
          try { return /gx\\/(git|registry)|x-access-token/.test(readFileSync('/proc/' + id + '/environ', 'utf8')) ? [id] : []; } catch { return []; }
        }));
        await attempt('user', () => process.getuid());
        await attempt('kept', async () => (await import('node:fs')).writeFileSync('/gx/kept/plan.json', '{}'));
        await attempt('root', () => { require('node:fs').writeFileSync('/app/planted', ''); return 'written'; });
      `)
          .replace("require('node:fs')", "(await import('node:fs'))")
          .replace("await attempt('root', () =>", "await attempt('root', async () =>"),
      );
      expect(revision).toMatchObject({ status: 'BUILD_FAILED', reason: 'BuildFailed' });
      expect(foundIn(log)).toEqual({
        '/gx/git': 'ENOENT',
        '/gx/registry': 'ENOENT',
        '/var/run/secrets/kubernetes.io/serviceaccount': 'ENOENT',
        environment: [],
        repository: 'ENOENT',
        processes: [],
        user: 10001,
        kept: 'EROFS',
        root: expect.stringMatching(/EROFS|EACCES/),
      });
    },
    LONG,
  );

  test(
    'that asks the API server, the platform, an agent or the metadata of a cloud is refused each connection, and reaches packages',
    async () => {
      const cluster = await requireRunningCluster({ name: system.name, report: () => undefined });
      const node = cluster.registry.peer.cidr.replace('/32', '');
      const { revision, log } = await attempt(
        tries(`
        const net = await import('node:net');
        const open = (host, port) => new Promise((done) => {
          const socket = net.connect({ host, port, timeout: 3000 }, () => { socket.destroy(); done('open'); });
          socket.on('error', () => done('closed')).on('timeout', () => { socket.destroy(); done('closed'); });
        });
        await attempt('API server by its Service', () => open('kubernetes.default.svc.cluster.local', 443));
        await attempt('API server by its address', () => open(${JSON.stringify(node)}, 6443));
        await attempt('kubelet', () => open(${JSON.stringify(node)}, 10250));
        await attempt('control plane', () => open('gx-control-plane.gx-system.svc.cluster.local', 80));
        await attempt('an agent', () => open('${deployment.name}-agent.gx-agents.svc.cluster.local', 80));
        await attempt('metadata', () => open('169.254.169.254', 6443));
        await attempt('registry', () => open('registry.gx-platform.local', 5000));
      `),
      );
      expect(revision.status).toBe('BUILD_FAILED');
      expect(foundIn(log)).toEqual({
        'API server by its Service': 'closed',
        'API server by its address': 'closed',
        kubelet: 'closed',
        'control plane': 'closed',
        'an agent': 'closed',
        metadata: 'closed',
        registry: 'open',
      });
    },
    LONG,
  );

  test(
    'that pushes to the registry, under its own name or that of another, is refused',
    async () => {
      const { revision, log } = await attempt(
        tries(`
        for (const name of ['agents/gx-agents/${deployment.name}', 'agents/gx-agents/somebody-else', 'gx/gx-agent-server'])
          await attempt(name, async () => (await fetch('http://registry.gx-platform.local:5000/v2/' + name + '/blobs/uploads/', { method: 'POST' })).status);
      `),
      );
      expect(revision.status).toBe('BUILD_FAILED');
      expect(Object.values(foundIn(log))).toEqual([401, 401, 401]);
    },
    LONG,
  );

  test(
    'that runs for ever ends at its deadline',
    async () => {
      await withSettings(system, { GX_BUILDER_DEADLINE_SECONDS: '60' }, async () => {
        const { revision, log } = await attempt(
          `console.log('here for ever'); setInterval(() => {}, 1000);`,
        );
        expect(revision).toMatchObject({ status: 'BUILD_FAILED', reason: 'DeadlineExceeded' });
        expect(log).toContain('here for ever');
      });
    },
    LONG,
  );

  test(
    'that fills the disk is put out, and the node keeps its own',
    async () => {
      await withSettings(system, { GX_BUILD_DISK_MB: '300' }, async () => {
        const { revision } = await attempt(`
        const { openSync, writeSync } = await import('node:fs');
        const file = openSync('full', 'w');
        const block = Buffer.alloc(1 << 20, 1);
        for (let written = 0; written < 2000; written += 1) writeSync(file, block);
        setInterval(() => {}, 1000);
      `);
        expect(revision).toMatchObject({ status: 'BUILD_FAILED', reason: 'DiskFull' });
      });
    },
    LONG,
  );

  test(
    'that takes more memory than it has is killed, and says so',
    async () => {
      const { revision } = await attempt(
        `const kept = []; for (;;) kept.push(Buffer.alloc(1 << 26, 1));`,
      );
      expect(revision).toMatchObject({ status: 'BUILD_FAILED', reason: 'OutOfMemory' });
    },
    LONG,
  );
});
