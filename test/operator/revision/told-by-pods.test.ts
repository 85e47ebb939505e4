import { expect, test } from 'vitest';
import type { Kube } from '../../../src/kube/kube.ts';
import type { Decision } from '../../../src/operator/revision/decision.ts';
import type { RevisionWorld } from '../../../src/operator/revision/observe.ts';
import { toldByPods } from '../../../src/operator/revision/told-by-pods.ts';
import { Unavailable } from '../../../src/errors.ts';
import { silentLog } from '../../kit/log.ts';
import { deployment, revision, settings } from '../../kit/objects.ts';

type Status = NonNullable<ReturnType<typeof revision>['status']>;

/** What is read from this log, and how often somebody asks for it. */
async function read(log: string | Error, status: Status = { phase: 'DEPLOYING' }, rolledOut = true) {
  let asked = 0;
  const podLog = (): Promise<string> => {
    asked += 1;
    return typeof log === 'string' ? Promise.resolve(log) : Promise.reject(log);
  };
  const world = { apiPods: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }], queuePods: [] } as unknown as RevisionWorld;
  const seen = { decision: { rolledOut } as Decision, world, settings: settings(), signal: AbortSignal.timeout(1000), log: silentLog() };
  const told = await toldByPods({ podLog } as unknown as Kube, revision(deployment(), { status }), seen);
  return { ...told, asked };
}

const LINE = '{"level":"info","process":"agent-server","server_version":"1.2.3","port":8000,"msg":"agent server ready"}';

test('the version stands in the first lines of the log, among others', async () => {
  expect(await read(`loading\n${LINE}\nmore`)).toEqual({ version: '1.2.3', guard: 'unknown', asked: 1 });
});

test('what guards the agents stands on the same line, and nowhere else counts', async () => {
  const line = LINE.replace('"port"', '"guard":"key","port"');
  expect(await read(line)).toEqual({ version: '1.2.3', guard: 'key', asked: 1 });
  expect(await read(`{"guard":"key"}\n${LINE}`)).toEqual({ version: '1.2.3', guard: 'unknown', asked: 1 });
  expect((await read(line.replace('"key"', '"magic"'))).guard).toBe('unknown');
});

test('what stands before every path stands there too, if it is a path', async () => {
  const mounted = (prefix: string): string => LINE.replace('"port"', `"mount_prefix":"${prefix}","port"`);
  expect((await read(mounted('/team/agents'))).mountPrefix).toBe('/team/agents');
  expect((await read(mounted('/a?b=c'))).mountPrefix).toBeUndefined();
});

test('a server that tells none, or whose log can not be read, has none', async () => {
  expect(await read('{"msg":"ready"}')).toEqual({ asked: 1 });
  expect(await read('"server_version":"<script>"')).toEqual({ asked: 1 });
  expect(await read(new Unavailable('no kubelet'))).toEqual({ asked: 1 });
});

test('it is asked for once: not before the pods are out, nor again afterwards', async () => {
  expect((await read(LINE, { phase: 'DEPLOYING' }, false)).asked).toBe(0);
  expect((await read(LINE, { phase: 'DEPLOYED' })).asked).toBe(0);
  expect((await read(LINE, { phase: 'DEPLOYING', serverVersion: '1.0.0' })).asked).toBe(0);
  const conditions = [{ type: 'RolledOut', status: 'True' as const, reason: 'RolledOut', message: '', lastTransitionTime: '' }];
  expect((await read(LINE, { phase: 'DEPLOYING', conditions })).asked).toBe(0);
});
