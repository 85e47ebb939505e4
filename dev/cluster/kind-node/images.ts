import { realpathSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runProcess } from '../../commands.ts';
import { extendEnvironment } from '../../env.ts';
import { ensureBases } from '../../images/native/bases.ts';
import { readDebianMirror } from '../../images/native/mirror.ts';
import type { Report } from '../../steps.ts';
import { ensureParts } from '../parts.ts';
import type { DockerEngine } from './engine.ts';

/*
 * Every image that kind and the Dockerfile pull, made of Debian's and npm's packages and of the native cluster's parts.
 * The engine then has them under the names that are pulled, and pulls nothing.
 */

export const NODE_IMAGE = 'localhost/gx-kind-node:1';
const BASE = 'localhost/gx-kind-base';
const SUITE = 'bookworm';
const KUBERNETES = 'v1.36.3';
const KIND_MODULE = 'sigs.k8s.io/kind@v0.33.0';
const kubeNames = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'].map(
  (name) => `registry.k8s.io/${name}:${KUBERNETES}`,
);
const KUBE = [...kubeNames, 'registry.k8s.io/etcd:3.6.8-0'];
const COREDNS = 'registry.k8s.io/coredns/coredns:v1.14.2';
const PAUSE = 'registry.k8s.io/pause:3.10';

type Work = { engine: DockerEngine; folder: string; report: Report };

/** Makes all images in the engine. */
export async function makeImages(engine: DockerEngine, report: Report): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gx-kind-'));
  const work = { engine, folder, report };
  try {
    const parts = await ensureParts(
      ['kube', 'clients', 'containerd', 'runc', 'coredns', 'pause', 'registry', 'gitea', 'kind'],
      report,
    );
    await installDebian(work);
    await makeBases(work);
    await build(work, { name: 'kube', tags: KUBE, files: { kube: parts['kube'] ?? '' } });
    await build(work, {
      name: 'coredns',
      tags: [COREDNS],
      files: { coredns: parts['coredns'] ?? '' },
    });
    await build(work, { name: 'pause', tags: [PAUSE], files: { pause: parts['pause'] ?? '' } });
    await build(work, {
      name: 'registry',
      tags: ['docker.io/library/registry:3.1.2'],
      files: { registry: parts['registry'] ?? '' },
    });
    const gitea = {
      'gitea-part': dirname(parts['gitea'] ?? ''),
      'gitea-start': join(import.meta.dirname, 'gitea-start'),
    };
    await build(work, {
      name: 'gitea',
      tags: ['docker.io/gitea/gitea:1.26.0-rootless'],
      files: gitea,
    });
    await build(work, {
      name: 'node',
      tags: [NODE_IMAGE],
      files: await collectNodeFiles(work, parts),
    });
  } finally {
    // Modules of Go are folders that nobody may write.
    await runProcess('chmod', ['-R', 'u+w', folder]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function installDebian({ engine, folder, report }: Work): Promise<void> {
  report(`Debian ${SUITE} by debootstrap`);
  const [system, archive] = [join(folder, 'system'), join(folder, 'system.tar')];
  await runProcess('debootstrap', [
    '--variant=minbase',
    '--include=ca-certificates',
    SUITE,
    system,
    ...readDebianMirror(),
  ]);
  await runProcess('tar', [
    '--numeric-owner',
    '--exclude=./dev/*',
    '-cf',
    archive,
    '-C',
    system,
    '.',
  ]);
  await engine.run('docker', ['import', archive, BASE]);
  await rm(archive);
}

/** Makes the two bases of the Dockerfile, as buildah gets them, under the names in it. */
async function makeBases({ engine, report }: Work): Promise<void> {
  const made = await ensureBases(
    {
      has: () => Promise.resolve(false),
      async build({ reference, dockerfile, folder, buildArguments }) {
        const args = Object.entries(buildArguments).flatMap(([name, value]) => [
          '--build-arg',
          `${name}=${value}`,
        ]);
        await runPlainBuild(engine, ['--file', dockerfile, '--tag', reference, ...args, folder]);
      },
      report,
    },
    [],
  );
  const names = {
    BASE: 'docker.io/library/debian:trixie-slim',
    NPM: 'docker.io/library/node:22-trixie-slim',
  };
  for (const [argument, name] of Object.entries(names))
    await engine.run('docker', ['tag', made[argument] ?? '', name]);
}

type Built = { name: string; tags: readonly string[]; files: Record<string, string> };

/** Builds one of this folder's Dockerfiles with these files beside it: name -> where it is. */
async function build(
  { engine, folder, report }: Work,
  { name, tags, files }: Built,
): Promise<void> {
  report(`image ${tags[0]}`);
  const context = join(folder, `context-${name}`);
  await mkdir(context);
  for (const [to, from] of Object.entries(files)) {
    await mkdir(dirname(join(context, to)), { recursive: true });
    await cp(from, join(context, to), { recursive: true, dereference: true, force: true });
  }
  await runProcess('chmod', ['-R', 'u+w', context]);
  const named = tags.flatMap((tag) => ['--tag', tag]);
  await runPlainBuild(engine, [
    '--file',
    join(import.meta.dirname, `${name}.Dockerfile`),
    ...named,
    context,
  ]);
  await rm(context, { recursive: true });
}

// BuildKit would ask a registry for images that only this engine has.
const runPlainBuild = (engine: DockerEngine, args: readonly string[]): Promise<string> =>
  engine.run('env', ['DOCKER_BUILDKIT=0', 'docker', 'build', '--quiet', ...args]);

/** Returns the files of the node's image. kind's own come first, so that ours may add to them. */
async function collectNodeFiles(
  work: Work,
  parts: Record<string, string>,
): Promise<Record<string, string>> {
  const { engine, folder } = work;
  const images = join(folder, 'images');
  await mkdir(images);
  await engine.run('docker', [
    'save',
    '--output',
    join(images, 'kubernetes.tar'),
    ...KUBE,
    COREDNS,
    PAUSE,
  ]);
  await writeFile(join(folder, 'version'), KUBERNETES);
  const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => [
    `own/usr/local/bin/${name}`,
    parts[name] ?? '',
  ]);
  return {
    kind: join(await downloadModule(KIND_MODULE, folder), 'images/base/files'),
    own: join(import.meta.dirname, 'files'),
    ...Object.fromEntries(programs),
    'own/usr/local/sbin/runc': parts['runc'] ?? '',
    'own/usr/bin/kube': parts['kube'] ?? '',
    'own/usr/bin/kubectl': realpathSync(parts['kubectl'] ?? ''),
    'own/usr/bin/kubeadm': await compileKubeadm(folder),
    'own/kind/version': join(folder, 'version'),
    'own/kind/images': images,
  };
}

async function downloadModule(module: string, folder: string): Promise<string> {
  const found = await runProcess('go', ['mod', 'download', '-json', module], {
    cwd: folder,
    env: extendEnvironment({ GOFLAGS: '-mod=mod' }),
  });
  return (JSON.parse(found) as { Dir: string }).Dir;
}

/** Compiles kubeadm with the versions of the part `kube`, whose module lacks two checksums that only kubeadm needs. */
async function compileKubeadm(folder: string): Promise<string> {
  const module = join(import.meta.dirname, '..', 'parts', 'kube');
  for (const file of ['go.mod', 'go.sum'])
    await writeFile(join(folder, file), await readFile(join(module, file)));
  const output = join(folder, 'kubeadm');
  const version = ['Version', 'Major', 'Minor'].map(
    (name, at) => `-X k8s.io/component-base/version.git${name}=${[KUBERNETES, '1', '36'][at]}`,
  );
  const flags = [
    `-modfile=${join(folder, 'go.mod')}`,
    '-mod=mod',
    '-trimpath',
    `-ldflags=-s -w ${version.join(' ')}`,
  ];
  const env = extendEnvironment({ CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off' });
  await runProcess('go', ['build', ...flags, '-o', output, 'k8s.io/kubernetes/cmd/kubeadm'], {
    cwd: module,
    env,
  });
  return output;
}
