import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/kube/kube.ts';
import {
  createAuthority,
  createCertificate,
  type Pair,
} from '../../../../../src/operator/database/own/tls/certificate.ts';
import {
  getRenewalTime,
  countSecondsUntilCheck,
  measureStuckSeconds,
  decideDueParts,
  type AuthorityData,
  type TlsData,
} from '../../../../../src/operator/database/own/tls/due.ts';

const MADE = new Date('2026-03-01T00:00:00Z');
const NAMES: [string, ...string[]] = ['chat-db', 'chat-db.agents'];
const given = (now: Date) => ({ now, random: randomBytes });
type Data = TlsData & AuthorityData;
const dataOf = (authority: Pair, server: Pair): Data => ({
  'ca.crt': authority.certificate,
  'ca.key': authority.key,
  'tls.crt': server.certificate,
  'tls.key': server.key,
});
const authority = createAuthority('chat-db authority', given(MADE));
const sound = dataOf(authority, createCertificate(authority, NAMES, given(MADE)));
const stranger = createAuthority('chat-db authority', given(MADE));
const forged = dataOf(authority, createCertificate(stranger, NAMES, given(MADE)));
const after = (days: number): Date => new Date(MADE.getTime() + days * 86_400_000);
/** Returns both Secrets as they are kept, the authority's key apart from what pods are given. */
const apart = ({ 'ca.key': key = '', ...server }: Partial<Data>) => ({
  authority: { 'ca.crt': server['ca.crt'] ?? '', 'ca.key': key },
  server,
});
const due = (data: Partial<Data>, days = 1, names: string[] = NAMES): string =>
  decideDueParts(apart(data), { names, now: after(days) }).due;

describe('what is due of a certificate', () => {
  test('nothing for two thirds of its life, then another one of the same authority', () => {
    expect(decideDueParts(apart(sound), { names: NAMES, now: after(59) })).toEqual({
      due: 'nothing',
      authority,
      until: after(90),
    });
    expect(getRenewalTime(after(90))).toEqual(after(60));
    expect(decideDueParts(apart(sound), { names: NAMES, now: after(60) })).toEqual({
      due: 'certificate',
      authority,
    });
    expect(due(sound, 400)).toBe('certificate');
  });

  test.each<[string, Partial<Data>, string[]?]>([
    ['names another server', sound, ['chat-db', 'chat-db.elsewhere']],
    ["is another authority's", forged],
    ["has another's key", { ...sound, 'tls.key': stranger.key }],
    ['is no certificate', { ...sound, 'tls.crt': 'spoilt' }],
  ])('another one where it %s', (_, data, names) => {
    expect(due(data, 1, names)).toBe('certificate');
  });

  test('another one where pods are told to trust another authority than the one that signs', () => {
    const found = apart(sound);
    const server = { ...found.server, 'ca.crt': stranger.certificate };
    expect(decideDueParts({ ...found, server }, { names: NAMES, now: after(1) })).toEqual({
      due: 'certificate',
      authority,
    });
  });

  test.each<[string, Partial<Data>, number?]>([
    ['its key is away', { ...sound, 'ca.key': '' }],
    ["its key is another's", { ...sound, 'ca.key': stranger.key }],
    ['it may not sign', { ...sound, 'ca.crt': sound['tls.crt'], 'ca.key': sound['tls.key'] }],
    ['it ends before the next certificate would', sound, 3600],
  ])('all of it where of the authority %s', (_, data, days) => {
    expect(due(data, days)).toBe('all');
  });
});

test('the Secret is looked at when a renewal is due, within what a timer takes, and once a pod has been stuck for a while', () => {
  const left = (days: number, stuck?: number): number =>
    countSecondsUntilCheck(after(90), { now: after(days), stuck });
  expect([left(0), left(50), left(60)]).toEqual([20 * 86_400, 10 * 86_400, 0]);
  expect(left(61)).toBeLessThan(0);
  expect([left(0, 12), left(0, 30)]).toEqual([18, 0]);
});

describe('pods for which the certificate may be the reason that they do not get on', () => {
  type Status = { state: object; started?: boolean; restartCount?: number };
  const pod = (seconds: number, status: Status, isReady = false, leaving = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'chat',
      creationTimestamp: new Date(after(1).getTime() - seconds * 1000).toISOString(),
      ...leaving,
    },
    status: {
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      containerStatuses: [{ name: 'agent', ...status }],
    },
  });
  const running = { state: { running: {} }, started: true };
  const waits = (reason: string) => ({ state: { waiting: { reason } } });

  test.each<[string, KubeObject, number | undefined]>([
    ['waits for a volume', pod(40, waits('ContainerCreating')), 40],
    ['runs and is not ready', pod(7, running), 7],
    ['ended before', pod(90, { ...waits('CrashLoopBackOff'), restartCount: 2 }), 90],
    ['is ready', pod(90, { ...running, restartCount: 2 }, true), undefined],
    ['waits for its image', pod(90, waits('ImagePullBackOff')), undefined],
    ['leaves', pod(90, running, false, { deletionTimestamp: 'now' }), undefined],
  ])('one that %s', (_, one, seconds) => {
    expect(measureStuckSeconds([pod(500, running, true), one], after(1))).toBe(seconds);
  });
});
