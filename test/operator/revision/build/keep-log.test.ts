import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Kube, KubeObject, PodLogOptions } from '../../../../src/kube/kube.ts';
import type { OperatorDeps } from '../../../../src/operator/view/deps.ts';
import { keepBuildLog } from '../../../../src/operator/revision/build/keep-log.ts';
import { silentLog } from '../../../kit/log.ts';
import { deployment, fromGit, revision } from '../../../kit/objects.ts';

const line = (number: number): string => `2026-01-01T00:00:00Z ${number} ${'x'.repeat(1900)}\n`;

test('of a log without end a bounded part is read, and its newest lines are kept', async () => {
  const lines = Array.from({ length: 20_000 }, (_, number) => line(number));
  const read: number[] = [];
  const created: KubeObject[] = [];
  // As the kubelet answers: the last lines, and of those the first bytes.
  const podLog = (
    _ref: unknown,
    { container, tailLines, limitBytes }: PodLogOptions,
  ): Promise<string> => {
    if (container !== 'build') return Promise.resolve('');
    const text = lines.slice(tailLines === undefined ? 0 : -tailLines).join('');
    const given = limitBytes === undefined ? text : text.slice(0, limitBytes);
    read.push(given.length);
    return Promise.resolve(given);
  };
  const deps = {
    kube: { readPodLog: podLog } as unknown as Kube,
    writer: { create: (object: KubeObject) => Promise.resolve(created.push(object)) },
  } as unknown as Pick<OperatorDeps, 'kube' | 'writer'>;
  const pod = { metadata: { name: 'build', namespace: 'builds' } } as KubeObject;
  const keeping = {
    decision: { phase: 'BUILD_FAILED' },
    build: { pod },
    signal: new AbortController().signal,
    log: silentLog(),
  };
  expect(await keepBuildLog(deps, revision(deployment(fromGit('main'))), keeping as never)).toBe(
    'chat-00001-build-log',
  );
  expect(Math.max(...read)).toBeLessThanOrEqual(8 * 1024 * 1024);
  const [kept] = created as { binaryData?: Record<string, string> }[];
  const text = gunzipSync(Buffer.from(kept?.binaryData?.['log.gz'] ?? '', 'base64')).toString();
  expect(text.trimEnd().split('\n').at(-1)).toContain(' [build] 19999 ');
});
