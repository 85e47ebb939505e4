import { expect, test } from 'vitest';
import { Unavailable } from '../../../src/errors.ts';
import type { Kube, PodLogOptions } from '../../../src/kube/kube.ts';
import { readLogTail } from '../../../src/operator/revision/log-tail.ts';
import type { Decision } from '../../../src/operator/revision/decision.ts';
import { revision } from '../../kit/objects.ts';
import { silentLog } from '../../kit/log.ts';

const failed: Decision = {
  phase: 'DEPLOY_FAILED',
  message: '',
  wish: {},
  started: true,
  rolledOut: false,
  diagnosis: {
    reason: 'CrashLooping',
    message: '',
    final: true,
    log: { pod: 'p', container: 'agent', previous: true },
  },
};
const read = (
  podLog: (options: PodLogOptions, signal: AbortSignal) => Promise<string>,
  decision = failed,
) => {
  const kube = {
    readPodLog: (_: unknown, options: PodLogOptions, signal: AbortSignal) =>
      podLog(options, signal),
  } as unknown as Kube;
  return readLogTail(kube, revision(), {
    decision,
    signal: new AbortController().signal,
    log: silentLog(),
    patience: 50,
  });
};

test('the last lines of a pod that failed', async () => {
  expect(await read(({ tailLines, previous }) => Promise.resolve(`${tailLines} ${previous}`))).toBe(
    '50 true',
  );
  expect(await read(() => Promise.resolve('x'.repeat(20_000)))).toHaveLength(16_000);
});

test('one that has nothing to say, or can not be asked, is no reason to fail', async () => {
  expect(await read(() => Promise.resolve(''))).toBeUndefined();
  expect(
    await read(() => Promise.reject(new Unavailable('no route to the kubelet'))),
  ).toBeUndefined();
  expect(
    await read(() => Promise.reject(new Error('not to be asked')), {
      ...failed,
      phase: 'DEPLOYING',
    }),
  ).toBeUndefined();
});

test('a node that never answers holds up no verdict: the log is asked for once, and not for long', async () => {
  const asked: (boolean | undefined)[] = [];
  const silent = ({ once }: PodLogOptions, signal: AbortSignal): Promise<string> => {
    asked.push(once);
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error)),
    );
  };
  expect(await read(silent)).toBeUndefined();
  expect(asked).toEqual([true]);
});
