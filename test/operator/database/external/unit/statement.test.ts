import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/kube/kube.ts';
import type { DatabaseSecret } from '../../../../../src/operator/reports/part-report.ts';
import { describeSecretFault } from '../../../../../src/operator/database/external/secret.ts';
import { buildExternalCondition } from '../../../../../src/operator/database/external/engine.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64');

test.each<[string, Record<string, string> | undefined, string | undefined]>([
  [
    'an address',
    { uri: encoded('postgresql://me:pass@db.example:5433/agents?sslmode=require') },
    undefined,
  ],
  ['the short form of the scheme', { uri: encoded('postgres://db.example/agents') }, undefined],
  ['no Secret', undefined, 'The Secret given of the external database does not exist.'],
  [
    'another key',
    { url: encoded('postgres://db.example/agents') },
    'The Secret given of the external database has no key uri.',
  ],
  [
    'another scheme',
    { uri: encoded('mysql://me:canary@db.example/agents') },
    'Key uri of the Secret given is not an address',
  ],
  [
    'no host',
    { uri: encoded('postgres:///agents') },
    'Key uri of the Secret given is not an address',
  ],
  [
    'no address at all',
    { uri: encoded('canary') },
    'Key uri of the Secret given is not an address',
  ],
])('the Secret of an external database: %s', (_, data, expected) => {
  const problem = describeSecretFault({ secretName: 'given' }, data);
  expect(problem?.slice(0, expected?.length)).toBe(expected);
  expect(problem ?? '').not.toContain('canary');
});

const pod = (
  ready: boolean,
  more: { revision?: string; running?: boolean; deletionTimestamp?: string } = {},
): KubeObject => {
  const { revision = 'chat-00001', running = true, deletionTimestamp } = more;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      annotations: { 'gx.dev/revision': revision },
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    status: {
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      containerStatuses: [
        {
          name: 'agent',
          started: running,
          state: running ? { running: {} } : { waiting: { reason: 'X' } },
        },
      ],
    },
  };
};
const said = (agentPods: KubeObject[], secret: DatabaseSecret | undefined) =>
  buildExternalCondition({ view: { agentPods }, active: 'chat-00001', secret });
const good = { secret: 'given', version: '1' };

test.each<[string, KubeObject[], DatabaseSecret | undefined, string]>([
  ['before any pod', [], good, 'True'],
  ['while a pod is ready', [pod(true), pod(false)], good, 'True'],
  ['when all pods that run are alive and none is ready', [pod(false), pod(false)], good, 'False'],
  ['while pods only start', [pod(false, { running: false })], good, 'True'],
  [
    'while pods of another revision are not ready',
    [pod(false, { revision: 'chat-00002' })],
    good,
    'True',
  ],
  [
    'while a pod that leaves is not ready',
    [pod(false, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    good,
    'True',
  ],
  ['without a good Secret', [pod(true)], { problem: 'It is not there.' }, 'False'],
  ['before its Secret was read', [], undefined, 'False'],
])('an external database %s', (_, pods, secret, status) => {
  expect(said(pods, secret)).toMatchObject({
    type: 'DatabaseReady',
    status,
    reason: status === 'True' ? 'External' : 'DatabaseNotReady',
  });
});
