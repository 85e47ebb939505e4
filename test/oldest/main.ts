import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { runProcess } from '../../dev/commands.ts';
import { extendEnvironment } from '../../dev/env.ts';
import { DevError } from '../../dev/errors.ts';
import { runMain, printLine } from '../../dev/steps.ts';

/*
 * Tests of a real API server, below which stand the API server and the controllers of the oldest Kubernetes that the
 * chart asks for. kubectl and helm are today's.
 */

const PROGRAMS = ['kube-apiserver', 'kube-controller-manager'];

/** The chart and its definitions, and what the platform's processes ask of Kubernetes. Arguments replace them. */
const FILES = [
  'charts/install-yaml',
  'charts/conformity',
  'charts/upgrade',
  'charts/default-listener',
  'operator/access',
  'operator/admission',
  'operator/denied',
  'operator/labels',
  'operator/network',
  'operator/own-ids',
  'operator/pod-security',
  'operator/sleep',
  'operator/staged-builds',
  'operator/uninstall',
  'control-plane/chain',
].map((name) => `test/${name}.test.ts`);

async function main(): Promise<void> {
  const { 'kube-oldest': oldest } = await ensureTools(['kube-oldest']);
  const folder = await mkdtemp(join(tmpdir(), 'gx-oldest-'));
  try {
    for (const name of PROGRAMS) await symlink(oldest, join(folder, name));
    printLine(await runProcess(join(folder, 'kube-apiserver'), ['--version']));
    const files = process.argv.length > 2 ? process.argv.slice(2) : FILES;
    const args = ['run', '--project', 'kube', '--reporter=dot', ...files];
    const child = spawn('vitest', args, {
      env: extendEnvironment({ KUBEBUILDER_ASSETS: folder }),
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new DevError('Tests on the oldest Kubernetes failed.');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await runMain(main);
