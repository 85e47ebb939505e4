import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Value } from 'typebox/value';
import { requireRestored } from '../../src/backup/feed.ts';
import { readErrorOutput } from '../../src/backup/pipe.ts';
import { replaceLinks } from '../../src/builder/indexes/pages.ts';
import { wrapReadsInTurn } from '../../src/control-plane/reads-in-turn.ts';
import { buildOriginCheck } from '../../src/agent/front/cors.ts';
import { buildLocalCors } from '../../src/agent/front/local-pages.ts';
import { streamWhileAllowed } from '../../src/http/routes/while-allowed.ts';
import { Unauthorized } from '../../src/errors.ts';
import type { CountedKube } from '../../src/kube/kube.ts';
import { kinds } from '../../src/kube/kinds.ts';
import { hasTurn } from '../../src/operator/backup/open.ts';
import { findPlaceInLine } from '../../src/operator/revision/build/turn.ts';
import { createCaches } from '../../src/operator/view/caches.ts';
import { BackupRecord } from '../../src/schema/platform/backup/backup-spec.ts';
import { type BackupResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { findOverlap, checkRoutePatterns } from '../../src/schema/platform/spec/route-place.ts';
import { deployment, settings, UID } from '../kit/objects.ts';
import type { Verdicts } from './report.ts';
import { tell } from './tell.ts';

/*
 * Attacks of which one call of the platform's own modules decides: each is the shortest form of a hole that there was.
 * Those that need a server are with the other targets.
 */

/** Milliseconds of processor time that a page of 16 MiB may take, which somebody has made to take long. */
const PAGE_MS = 3000;
const MEBIBYTE = 1024 * 1024;
const NOBODY = '77777777-7777-4777-8777-777777777777';

const backup = (
  namespace: string,
  given: Partial<BackupResource['spec']>,
  creationTimestamp: string,
): BackupResource => ({
  apiVersion: API_VERSION,
  kind: 'Backup',
  metadata: {
    name: given.backup ?? 'odd',
    namespace,
    creationTimestamp,
    resourceVersion: '1',
    uid: crypto.randomUUID(),
  },
  spec: {
    deployment: 'chat',
    deploymentUid: UID,
    backup: '20260105t000000z',
    target: 'main',
    method: 'dump',
    ...given,
  },
});

/** What one namespace's objects hold, others do not wait for. */
function attackTurns(verdicts: Verdicts): void {
  const now = new Date('2026-01-05T00:00:00Z');
  const caches = createCaches();
  const chat = deployment({
    metadata: { name: 'chat', namespace: 'neighbour', resourceVersion: '1' },
  });
  const evil = deployment({
    metadata: { name: 'chat', namespace: 'attacker', resourceVersion: '1' },
  });
  for (const one of [chat, evil]) caches.deployments.addIfNewer(one);
  const held = [
    backup(
      'attacker',
      { backup: '99991231t235959z', deploymentUid: NOBODY },
      '2026-01-04T23:59:00Z',
    ),
    backup(
      'neighbour',
      { backup: '99991231t235958z', deploymentUid: NOBODY },
      '2026-01-04T23:59:00Z',
    ),
    ...['1', '2', '3'].map((at) =>
      backup('attacker', { backup: `2026010${at}t000000z` }, '2026-01-04T23:59:00Z'),
    ),
  ];
  for (const one of held) caches.backups.addIfNewer(one);
  const given = { caches, settings: settings() };
  const [mine, theirs] = [hasTurn(given, evil, now), hasTurn(given, chat, now)];
  verdicts.check(
    'backups of an attacker, and of nobody',
    `its turns are held: ${!mine}, the other tenant's: ${!theirs}`,
    !mine && theirs,
  );
  const names = ['../../other/secret', 'x', '20269926t020000z'];
  const taken = names.filter((name) =>
    Value.Check(BackupRecord, backup('attacker', { backup: name }, '').spec),
  );
  verdicts.check(
    'names of backups that are no moments',
    `${taken.length} of ${names.length} taken`,
    taken.length === 0,
  );
  const waiting = Array.from({ length: 100 }, (_, at) => ({
    key: `a/${at}`,
    tenant: 'attacker',
    since: '2026-01-01',
  }));
  const own = { key: 'b/1', tenant: 'neighbour', since: '2026-01-05' };
  const running = [{ tenant: 'attacker' }, { tenant: 'attacker' }];
  const place = findPlaceInLine(own, { waiting: [...waiting, own], running, each: 2, all: 4 });
  verdicts.check(
    "the other tenant's build beside a hundred of the attacker",
    `place ${place} in the line`,
    place === 0,
  );
}

/** Reads of one tenant that never end leave places to others. */
async function attackReads(verdicts: Verdicts): Promise<void> {
  const list = (_kind: unknown, { namespace }: { namespace?: string } = {}) =>
    namespace === 'attacker' ? new Promise<never>(() => undefined) : Promise.resolve({ items: [] });
  const kube = wrapReadsInTurn({ list } as unknown as CountedKube, (namespace) => namespace);
  for (let count = 0; count < 500; count += 1)
    void kube.listAll(kinds.backup, { namespace: 'attacker' }).catch(() => undefined);
  const late = new Promise<string>((resolve) => setTimeout(resolve, 2000, 'is not read'));
  const read = await Promise.race([
    kube.listAll(kinds.backup, { namespace: 'neighbour' }).then(() => 'is read'),
    late,
  ]);
  verdicts.check("the other tenant's list beside 500 that never end", read, read === 'is read');
}

/** A container of the tenant's leaves links in the folder that the one with the credential reads. */
async function attackFolder(verdicts: Verdicts): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gx-abuse-'));
  const secret = 'GX_BACKUP_SECRET_ACCESS_KEY=secret-of-the-store';
  for (const way of ['orders', 'answers']) await mkdir(path.join(folder, way));
  await writeFile(path.join(folder, 'environ'), secret);
  await writeFile(path.join(folder, 'answers', 'end'), '3\n');
  await symlink(path.join(folder, 'environ'), path.join(folder, 'answers', 'error'));
  const thrown = await requireRestored(folder, new AbortController().signal).catch(
    (error: unknown) => String(error),
  );
  const words = `${await readErrorOutput(folder)}${String(thrown)}`;
  await rm(folder, { recursive: true });
  verdicts.check(
    'a link in the folder between two containers',
    words.slice(0, 80),
    !words.includes('secret-of-the-store'),
  );
}

/** Hosts of the platform, and patterns by which two deployments could get one. */
function attackHosts(verdicts: Verdicts): void {
  const own = ['console.example.com', 'api.example.com'];
  const asked = ['console.example.com', '*.example.com', 'api.example.com'];
  const free = asked.filter((host) => findOverlap(host, own) === undefined);
  verdicts.check(
    'hosts of the platform',
    `${free.length} of ${asked.length} free`,
    free.length === 0,
  );
  const faults = checkRoutePatterns({ host: '{name}-{namespace}.example.com', path: '/' }, []);
  verdicts.check(
    'a pattern that gives two deployments one host',
    faults.join().slice(0, 60),
    faults.length > 0,
  );
}

/** A stream goes on while its credential is good, and no longer. */
async function attackEnds(verdicts: Verdicts): Promise<void> {
  const began = performance.now();
  const events = async function* () {
    for (;;) {
      yield { event: 'tick', data: 'x' };
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const again = (): Promise<unknown> =>
    performance.now() - began > 300
      ? Promise.reject(new Unauthorized('The pass has expired.'))
      : Promise.resolve();
  const signal = AbortSignal.timeout(20_000);
  for await (const _ of streamWhileAllowed(events, { signal, again })) if (signal.aborted) break;
  const seconds = (performance.now() - began) / 1000;
  verdicts.check(
    'a stream whose pass has ended',
    `open for ${seconds.toFixed(1)} s of 5`,
    seconds < 5,
  );
}

/** Pages of an index that somebody has made to take long, and pages of the web that call a developer's machine. */
function attackPages(verdicts: Verdicts): void {
  const address = new URL('https://pypi.example/simple/thing/');
  let worst = 0;
  for (const piece of ['<a ', '<base ', '<a "', " href ='"]) {
    const began = process.threadCpuUsage();
    replaceLinks(piece.repeat((16 * MEBIBYTE) / piece.length), 'html', {
      address,
      linked: ({ href }) => href,
    });
    const { user, system } = process.threadCpuUsage(began);
    worst = Math.max(worst, (user + system) / 1000);
  }
  verdicts.check(
    'hostile pages of an index',
    `${worst.toFixed(0)} ms of ${PAGE_MS} for 16 MiB`,
    worst < PAGE_MS,
  );
  const permits = buildOriginCheck(buildLocalCors({ allow_origins: ['*'] }));
  const called = permits('https://evil.example');
  verdicts.check(
    'a page of the web and a developer who lets all in',
    called ? 'may call' : 'may not call',
    !called,
  );
}

/** Shows the holes that one call decides. */
export async function attackByCalls(verdicts: Verdicts): Promise<void> {
  tell('holes that one call decides');
  attackTurns(verdicts);
  await attackReads(verdicts);
  await attackFolder(verdicts);
  attackHosts(verdicts);
  await attackEnds(verdicts);
  attackPages(verdicts);
}
