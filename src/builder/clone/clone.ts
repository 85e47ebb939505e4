import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { StageFailed } from '../../errors.ts';
import type { ClonedCommit } from '../../schema/wire/build-message.ts';
import { COMMIT, checkGitRef, checkGitUrl } from '../../schema/platform/source/git-source.ts';
import { expandRef } from '../../git/ls-refs.ts';
import { logLine, step } from '../progress.ts';
import { keepJson, getTrustedPaths, getWorkPaths, type Cloned } from '../work.ts';
import { cloneFailure } from './failure.ts';
import { runProgram, type ProgramEnd } from '../command.ts';
import { showGitCredential } from './credentials.ts';

/** Milliseconds between two looks at how much has been fetched. */
const LOOK = 500;

/**
 * Fetches one commit into the build's folder, without its history. Only the files stay: no folder of git's, no
 * credential, no submodules and nothing of large file storage.
 */
export async function clone(config: ImageBuildConfig, signal: AbortSignal): Promise<ClonedCommit> {
  const { url, wanted } = readRequest(config);
  const { source } = getWorkPaths(config.work);
  // A container that starts again finds the files of its first try.
  const scratch = buildScratchPath(config);
  for (const place of [source, `${source}.git`, scratch])
    rmSync(place, { recursive: true, force: true });
  const folder = `${source}.git`;
  mkdirSync(source, { recursive: true });
  const tooLarge = new AbortController();
  const git = buildGit(source, config, AbortSignal.any([signal, tooLarge.signal]));
  const at = ['--git-dir', folder, '--work-tree', source];
  const watch = setInterval(
    () => measureMegabytes(folder) > config.git.limitMb && tooLarge.abort(),
    LOOK,
  );
  try {
    const fetchInto = async (format: 'sha1' | 'sha256'): Promise<void> => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      await requireGitSuccess(
        git,
        ['init', '--quiet', '--bare', `--object-format=${format}`, folder],
        url,
      );
      await step('fetch', () =>
        fetchCommit((args, prefix) => git([...at, ...args], prefix), url, wanted),
      );
    };
    // A clone names its objects as its repository does. Without a commit only the repository's refusal tells how.
    await fetchInto(wanted.commit?.length === SHA256_DIGITS ? 'sha256' : 'sha1').catch(
      (thrown: unknown) => {
        if (
          wanted.commit === undefined &&
          thrown instanceof StageFailed &&
          OTHER_FORMAT.test(thrown.message)
        )
          return fetchInto('sha256');
        throw thrown;
      },
    );
    const megabytes = await measureUnpacked((args) => git([...at, ...args]));
    if (megabytes > config.git.limitMb) throw buildTooLarge(config);
    await step('check out', () =>
      requireGitSuccess(
        git,
        [...at, 'checkout', '--quiet', '--force', '--detach', 'FETCH_HEAD'],
        url,
      ),
    );
    const [commit = '', time = ''] = (
      await git([...at, 'show', '--no-patch', '--format=%H %cI', 'HEAD'])
    ).output
      .trim()
      .split(' ');
    const cloned: Cloned = { commit, at: new Date(time).toISOString() };
    keepJson(getTrustedPaths(config).commit, cloned);
    reportAbsentParts(source);
    logLine(`commit ${commit} of ${url}`);
    return { commit };
  } catch (thrown) {
    throw tooLarge.signal.aborted && !signal.aborted ? buildTooLarge(config) : thrown;
  } finally {
    clearInterval(watch);
    for (const place of [folder, scratch]) rmSync(place, { recursive: true, force: true });
  }
}

/** Later stages run the repository's own commands and see this stage's files, so that a key is never left there. */
const buildScratchPath = ({ work }: ImageBuildConfig): string =>
  path.join(tmpdir(), `gx-clone-${createHash('sha256').update(work).digest('hex').slice(0, 16)}`);

type WantedCommit = { commit?: string; ref?: string };

function readRequest({ git }: ImageBuildConfig): { url: string; wanted: WantedCommit } {
  const { url, ref, commit } = git;
  if (url === undefined) throw new StageFailed('CloneFailed', 'GX_GIT_URL is not set.');
  const isLocal = git.local && url.startsWith('file:///');
  const fault = isLocal ? undefined : checkGitUrl(url, git);
  if (fault !== undefined)
    throw new StageFailed('CloneFailed', `The repository can't be cloned: ${fault}.`);
  const badRef = ref === undefined ? undefined : checkGitRef(ref);
  if (badRef !== undefined)
    throw new StageFailed('RefMissing', `repo_ref can't be followed: ${badRef}.`);
  if (commit !== undefined && !COMMIT.test(commit))
    throw new StageFailed('RefMissing', 'GX_GIT_COMMIT is not the full name of a commit.');
  return { url, wanted: { ...(commit && { commit }), ...(ref && { ref }) } };
}

/** Digits of a commit's name by SHA-256. */
const SHA256_DIGITS = 64;
/** Git's words when a clone and its repository have different ones. */
const OTHER_FORMAT = /mismatched algorithms: client sha1; server sha256/;

async function fetchCommit(git: Git, url: string, { commit, ref }: WantedCommit): Promise<void> {
  const full = ref === undefined ? 'HEAD' : expandRef(ref);
  const fetch = [
    'fetch',
    '--no-tags',
    '--no-recurse-submodules',
    '--no-write-commit-graph',
    '--progress',
  ];
  if (commit === undefined)
    return requireGitSuccess(git, [...fetch, '--depth=1', '--', url, full], url);
  const { code, last } = await git([...fetch, '--depth=1', '--', url, commit]);
  if (code === 0) return;
  const failure = cloneFailure(last, url);
  if (failure.reason !== 'RefMissing') throw failure;
  // An older host gives out no commit by its name, but it may be in the history of the reference.
  await requireGitSuccess(git, [...fetch, '--', url, full], url);
  const found = await git(['cat-file', '-e', `${commit}^{commit}`]);
  if (found.code !== 0) throw failure;
  await requireGitSuccess(git, ['update-ref', '--no-deref', 'FETCH_HEAD', commit], url);
}

async function requireGitSuccess(git: Git, args: string[], url: string): Promise<void> {
  const { code, last } = await git(args);
  if (code !== 0) throw cloneFailure(last, url);
}

const buildTooLarge = ({ git }: ImageBuildConfig): StageFailed =>
  new StageFailed(
    'CloneFailed',
    `The repository has more than ${git.limitMb} MB at this commit; the limit is GX_SOURCE_LIMIT_MB of the builder.`,
  );

const measureMegabytes = (folder: string): number =>
  globSync('objects/**/*', { cwd: folder }).reduce(
    (sum, name) => sum + (statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  ) / 1_000_000;

/** A small pack may hold files without end. */
async function measureUnpacked(git: Git): Promise<number> {
  const { code, output, last } = await git([
    'ls-tree',
    '-r',
    '--format=%(objectsize)',
    'FETCH_HEAD',
  ]);
  if (code !== 0)
    throw new StageFailed('CloneFailed', `The commit can't be read. Git printed: ${last}`);
  return output.split('\n').reduce((sum, size) => sum + (Number(size) || 0), 0) / 1_000_000;
}

function reportAbsentParts(source: string): void {
  if (existsSync(path.join(source, '.gitmodules')))
    logLine('submodules are not fetched: their folders are empty');
  const attributes = path.join(source, '.gitattributes');
  if (existsSync(attributes) && readFileSync(attributes, 'utf8').includes('filter=lfs'))
    logLine('large file storage is not fetched: its files are pointers');
}

type Git = (args: string[], prefix?: string) => Promise<ProgramEnd>;

/** Settings that a repository can't change: it runs no program of its own, and names no other place to read from. */
const SAFE: Record<string, string> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'fetch.fsckObjects': 'false',
  'submodule.recurse': 'false',
  'protocol.allow': 'never',
  'advice.detachedHead': 'false',
  'init.defaultBranch': 'main',
  'gc.auto': '0',
  // Bytes a second and seconds: a host that falls silent does not hold the build.
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '60',
  'http.followRedirects': 'initial',
};

const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Git takes one file of certificates, so that further ones are joined with the system's. */
function writeCertificates({ work, network }: ImageBuildConfig): Record<string, string> {
  const more = network['NODE_EXTRA_CA_CERTS'];
  if (more === undefined || !existsSync(more)) return {};
  const joined = path.join(work, 'certificates.crt');
  writeFileSync(
    joined,
    [SYSTEM_CERTIFICATES, more]
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n'),
  );
  return { 'http.sslCAInfo': joined };
}

/** Returns git for one repository and its credential. It reads no settings of this machine. */
function buildGit(folder: string, config: ImageBuildConfig, signal: AbortSignal): Git {
  const { git, network, work } = config;
  const url = git.url ?? '';
  const protocols = [
    'https',
    'ssh',
    ...(git.insecure ? ['http'] : []),
    ...(git.local ? ['file'] : []),
  ];
  const credential = showGitCredential(git.credentials, url, buildScratchPath(config));
  const settings = Object.entries({
    ...SAFE,
    ...Object.fromEntries(protocols.map((name) => [`protocol.${name}.allow`, 'always'])),
    ...writeCertificates(config),
    ...credential.config,
  });
  const env: Record<string, string> = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: work,
    LANG: 'C.UTF-8',
    ...network,
    ...credential.env,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: protocols.join(':'),
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  };
  return (args, prefix) =>
    runProgram({
      run: ['git', ...args],
      folder,
      env,
      hidden: credential.hidden,
      signal,
      ...(prefix && { prefix }),
    });
}
