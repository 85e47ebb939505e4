import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { ControlPlane } from '../../../src/control-plane/control-plane.ts';
import type { Line } from '../../../src/control-plane/logs/best-lines.ts';
import { readPodLogs } from '../../../src/control-plane/logs/pod-logs.ts';
import { packBuildLog } from '../../../src/operator/revision/build/keep-log.ts';
import { deployment, fromGit, revision } from '../../kit/objects.ts';
import { logPage } from './log-page.ts';

const of = deployment(fromGit('main'));
const built = revision(of, { status: { phase: 'DEPLOYED', buildLog: 'chat-00001-build-log' } });
const running = revision(of, { status: { phase: 'BUILDING' } });
const LOGS: Record<string, string> = {
  clone: '2026-01-01T00:00:01Z cloned\n',
  restore: '',
  build: '2026-01-01T00:00:02Z npm ci\n2026-01-01T00:00:02Z built, as [push] will say\n',
  push: '2026-01-01T00:00:03Z pushed\n',
};
const stages = Object.entries(LOGS).map(([stage, text]) => ({ stage, text }));
const { signal } = new AbortController();

type Kept = { pod: boolean; owner?: string | undefined; packed?: Buffer };

/** A cluster whose build namespace has a pod, or where the log is kept alone. */
function cluster({ pod, owner = built.metadata.uid, packed = packBuildLog(stages) }: Kept) {
  const asked: string[] = [];
  const kept = {
    metadata: { ownerReferences: [{ uid: owner }] },
    binaryData: { 'log.gz': packed.toString('base64') },
  };
  const plane = {
    config: { buildNamespace: 'builds' },
    kube: {
      list: (
        _kind: unknown,
        { namespace, labelSelector }: { namespace: string; labelSelector: string },
      ) => {
        asked.push(`${namespace} ${labelSelector}`);
        return Promise.resolve({
          items:
            pod && namespace === 'builds' ? [{ metadata: { name: 'build-x', namespace } }] : [],
        });
      },
      find: () => Promise.resolve(kept),
    },
    logs: {
      readPodLog: (_ref: unknown, { container }: { container: string }) =>
        Promise.resolve(LOGS[container] ?? ''),
    },
  } as unknown as ControlPlane;
  return { plane, asked };
}
async function linesFrom(plane: ControlPlane, revisionOf: typeof built): Promise<Line[]> {
  const all: Line[] = [];
  await readPodLogs(
    plane,
    { deployment: of, revision: revisionOf, type: 'build', signal },
    (lines) => void all.push(...lines),
  );
  return all;
}
const messages = async (plane: ControlPlane, which = built) =>
  logPage(await linesFrom(plane, which), {}).logs.map(({ message }) => message);
const WHOLE = [
  '[clone] cloned',
  '[build] npm ci',
  '[build] built, as [push] will say',
  '[push] pushed',
];

test('the log of a build is that of its stages, from the namespace of builds, of this revision alone', async () => {
  const { plane, asked } = cluster({ pod: true });
  expect(await messages(plane, running)).toEqual(WHOLE);
  expect(asked).toEqual([
    `builds gx.dev/deployment=chat,gx.dev/agents-namespace=team,gx.dev/component=build,gx.dev/revision-uid=${built.metadata.uid}`,
  ]);
});

test('it is the same, line by line, when its pod is gone', async () => {
  const ids = async (pod: boolean) =>
    (await linesFrom(cluster({ pod }).plane, pod ? running : built))
      .map(({ order }) => order)
      .toSorted();
  expect(await messages(cluster({ pod: false }).plane)).toEqual(WHOLE);
  expect(await ids(false)).toEqual(await ids(true));
});

test('a ConfigMap of somebody else is no log', async () => {
  expect(await messages(cluster({ pod: false, owner: 'another' }).plane)).toEqual([]);
});

test('it is the kept one, too, where the pod is there and its node has removed its containers', async () => {
  const lost = 'unable to retrieve container logs for containerd://575d255ac7ad8a84';
  const { plane } = cluster({ pod: true });
  const given = {
    ...plane,
    logs: { readPodLog: () => Promise.resolve(lost) },
  } as unknown as ControlPlane;
  expect(await messages(given)).toEqual(WHOLE);
  expect(await messages(given, running)).toEqual([]);
});

test('a line that names another stage is shown once, as one of its own', async () => {
  const text = '2026-01-01T00:00:02Z said [push] done\n';
  const { plane } = cluster({ pod: false, packed: packBuildLog([{ stage: 'build', text }]) });
  expect(await messages(plane)).toEqual(['[build] said [push] done']);
});

test('of a log that the owner of the namespace has replaced by a larger one, a bounded part is unpacked, piece by piece', async () => {
  const line = `2026-01-01T00:00:02Z [build] ${'x'.repeat(1000)}\n`;
  const { plane } = cluster({ pod: false, packed: gzipSync(line.repeat(100_000)) });
  let [characters, largest] = [0, 0];
  await readPodLogs(plane, { deployment: of, revision: built, type: 'build', signal }, (lines) => {
    const piece = lines.reduce((sum, { message }) => sum + message.length, 0);
    largest = Math.max(largest, piece);
    characters += piece;
  });
  expect(characters).toBeGreaterThan(20 * 1024 * 1024);
  expect(characters).toBeLessThan(33 * 1024 * 1024);
  expect(largest).toBeLessThan(1024 * 1024);
});
