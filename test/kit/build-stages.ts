import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { BuildStage } from '../../src/schema/wire/build-message.ts';
import { DEFAULT_TOOLS } from '../../src/builder/packages/managers.ts';
import { fetchBlob } from '../../src/builder/registry/images.ts';
import { parseImageReference } from '../../src/builder/registry/reference.ts';
import type { TestRegistry } from './registry.ts';

/** A git repository on this machine. */
export type Repository = {
  folder: string;
  url: string;
  /** Writes files and commits all. Returns the commit. */
  commit(files?: Record<string, string>): string;
};

/** Makes a repository of a fixture's files. */
export function repositoryOf(
  fixture: string | undefined,
  files: Record<string, string> = {},
  objectFormat = 'sha1',
): Repository {
  const folder = mkdtempSync(join(tmpdir(), 'gx-repository-'));
  if (fixture !== undefined)
    cpSync(`test/builder/fixtures/${fixture}`, folder, { recursive: true });
  const git = (...args: string[]): string => {
    const who = [
      '-c',
      'user.name=author',
      '-c',
      'user.email=author@example.com',
      '-c',
      'commit.gpgsign=false',
      '-c',
      'core.hooksPath=/dev/null',
    ];
    const env = {
      ...process.env,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z',
      GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z',
    };
    return execFileSync('git', [...who, ...args], { cwd: folder, env, encoding: 'utf8' }).trim();
  };
  git('init', '--quiet', '--initial-branch=main', `--object-format=${objectFormat}`);
  const repository: Repository = {
    folder,
    url: `file://${folder}`,
    commit(changed = {}) {
      for (const [name, text] of Object.entries(changed)) {
        mkdirSync(join(folder, name, '..'), { recursive: true });
        writeFileSync(join(folder, name), text);
      }
      git('add', '--all');
      git('commit', '--quiet', '--allow-empty', '--message', 'a change');
      return git('rev-parse', 'HEAD');
    },
  };
  repository.commit(files);
  return repository;
}

export type StageEnd = { code: number | null; output: string; told: Record<string, unknown> };

/** One build, whose stages run as processes of this machine with nothing but their settings. */
export type TestBuild = {
  work: string;
  /** The folder that no command of the repository can write in a pod. */
  kept: string;
  /** Runs a stage; `within` stands before its command, and starts it in namespaces of its own. */
  run(
    stage: BuildStage,
    env?: Record<string, string>,
    within?: readonly string[],
  ): Promise<StageEnd>;
  /** Runs all stages, and returns the end of the last one. */
  all(env?: Record<string, string>): Promise<StageEnd>;
};

/** Package managers stay on this machine between tests, as they do in the builder's image. */
export const TOOLS = join(homedir(), '.cache/gx-platform/builder-tools');

type Built = { registry: TestRegistry; url: string; env?: Record<string, string>; image?: string };

export function newBuild({ registry, url, env = {}, image = 'team/agent' }: Built): TestBuild {
  const work = mkdtempSync(join(tmpdir(), 'gx-work-'));
  const kept = mkdtempSync(join(tmpdir(), 'gx-kept-'));
  const log = join(work, '..', `${work.split('/').at(-1)}.told`);
  const git = {
    GX_GIT_URL: url,
    GX_GIT_REF: 'main',
    GX_GIT_LOCAL: 'true',
    GX_GIT_CREDENTIALS: '/nowhere',
  };
  const ofRegistry = {
    GX_IMAGE: `${registry.host}/${image}:1`,
    GX_CACHE_IMAGE: `${registry.host}/${image}/cache`,
    GX_REGISTRY_INSECURE: 'true',
    GX_REGISTRY_CREDENTIALS: registry.credentials,
  };
  const own: Record<BuildStage, Record<string, string>> = {
    clone: git,
    restore: ofRegistry,
    build: toolsFolder(),
    push: { ...ofRegistry, GX_GIT_URL: url },
  };
  const build: TestBuild = {
    work,
    kept,
    async run(stage, more = {}, within = []) {
      rmSync(log, { force: true });
      const settings = {
        GX_WORK_FOLDER: work,
        GX_KEPT_FOLDER: kept,
        GX_TERMINATION_LOG: log,
        GX_BASE_IMAGE: registry.base,
      };
      const [program, ...args] = [...within, process.execPath, 'src/main.ts', 'builder', stage];
      const child = spawn(program, args, {
        env: { PATH: process.env.PATH, ...network(), ...settings, ...own[stage], ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (piece: Buffer) => (output += piece.toString()));
      await once(child, 'close');
      const told = existsSync(log)
        ? (JSON.parse(readFileSync(log, 'utf8')) as Record<string, unknown>)
        : {};
      return { code: child.exitCode, output, told };
    },
    async all(more) {
      let outputs = '';
      for (const stage of ['clone', 'restore', 'build', 'push'] as const) {
        const end = await build.run(stage, more);
        outputs += end.output;
        if (end.code !== 0 || stage === 'push') return { ...end, output: outputs };
      }
      throw new Error('a build has a last stage');
    },
  };
  return build;
}

/** Installs the package managers of the builder's image, once on each machine. */
export function installTools(): void {
  for (const tool of [DEFAULT_TOOLS.pnpm, DEFAULT_TOOLS.yarn, DEFAULT_TOOLS.berry]) {
    if (existsSync(join(TOOLS, tool))) continue;
    mkdirSync(join(TOOLS, tool, '..'), { recursive: true });
    const making = mkdtempSync(join(TOOLS, '.new-'));
    execFileSync(
      'npm',
      ['install', '--prefix', making, '--no-save', '--no-audit', '--no-fund', tool],
      { stdio: 'ignore' },
    );
    // Two tests may install at once. The first one counts.
    if (existsSync(join(TOOLS, tool))) rmSync(making, { recursive: true });
    else renameSync(making, join(TOOLS, tool));
  }
}

/** Installs uv, as the builder's image has it, once on each machine. Returns its program. */
export function installUv(): string {
  const [, version = ''] =
    /^uv==(\S+)/m.exec(readFileSync('python/image/requirements.txt', 'utf8')) ?? [];
  const program = join(TOOLS, 'uv/bin/uv');
  const isThere =
    existsSync(program) &&
    execFileSync(program, ['--version'], { encoding: 'utf8' }).includes(` ${version}`);
  if (isThere) return program;
  mkdirSync(TOOLS, { recursive: true });
  const making = mkdtempSync(join(TOOLS, '.new-'));
  execFileSync('python3', ['-m', 'venv', making]);
  execFileSync(join(making, 'bin/pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    `uv==${version}`,
  ]);
  rmSync(join(TOOLS, 'uv'), { recursive: true, force: true });
  renameSync(making, join(TOOLS, 'uv'));
  return program;
}

function toolsFolder(): Record<string, string> {
  const node = resolve(process.execPath, '../..');
  return {
    GX_BUILDER_TOOLS: TOOLS,
    ...(existsSync(join(node, 'include/node')) ? { GX_NODE_HEADERS: node } : {}),
  };
}

/** What processes need to reach the registry of npm from this machine. */
const network = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] =>
      /^(https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_file)$/i.test(entry[0]),
    ),
  );

/** Unpacks what an image has above its base, as a node does, and returns the folder. */
export async function unpackedImage(registry: TestRegistry, name: string): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'gx-root-'));
  const { manifest } = (await registry.manifest(name))!;
  for (const { digest } of manifest.layers) {
    const file = join(root, 'layer.tar.gz');
    if (!(await fetchBlob(registry.ask, parseImageReference(name)!, digest, file)))
      throw new Error(`${digest} has another content`);
    execFileSync('tar', ['-xzf', file, '--no-same-owner', '-C', root]);
    rmSync(file);
  }
  // As in the base image, where a graph without LangGraph finds ours.
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  return root;
}
