import { expect, test } from 'vitest';
import { Forbidden } from '../../../src/errors.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import type { GitIntegrationResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { UNMATCHED_PUSH } from '../../../src/schema/platform/objects/labels.ts';
import type { KnownIntegration } from '../../../src/control-plane/stored/integrations.ts';
import { UnmatchedPushes } from '../../../src/control-plane/stored/unmatched-pushes.ts';

type Annotations = Record<string, string>;

const connection = (id: string, annotations?: Annotations): KnownIntegration => {
  const metadata = { name: id, namespace: 'gx', ...(annotations && { annotations }) };
  return {
    id,
    tenantId: 'a',
    resource: { metadata } as GitIntegrationResource,
  } as KnownIntegration;
};
const KNOWN = new Set(['one']);

type Written = { op: string; path: string; value: unknown };
const started = (fails?: Error): { pushes: UnmatchedPushes; written: Written[] } => {
  const written: Written[] = [];
  const jsonPatch = ((_kind: unknown, _ref: unknown, patch: Written[]) => {
    written.push(...patch);
    return fails === undefined ? Promise.resolve({ metadata: {} }) : Promise.reject(fails);
  }) as unknown as Kube['patchJson'];
  const kube = { patchJson: jsonPatch } as Kube;
  return { pushes: new UnmatchedPushes({ kube, namespace: 'gx' }), written };
};
const at = (time: string) => ({
  repository: 'acme/agent',
  branch: 'main',
  at: new Date(`2026-01-05T${time}Z`),
});

test('an event for no deployment is remembered without the megabytes that its sender may have named it by', async () => {
  const { pushes, written } = started();
  const one = connection('one');
  await pushes.note(
    one,
    {
      repository: 'r'.repeat(5_000_000),
      branch: 'b'.repeat(5_000_000),
      at: new Date(),
    },
    KNOWN,
  );
  const { repository, branch } = (await pushes.findLast(one))!;
  expect([repository.length, branch.length].every((length) => length < 310)).toBe(true);
  expect(JSON.stringify(written).length).toBeLessThan(1000);
});

test('nothing is remembered of a connection that is gone', async () => {
  const { pushes } = started();
  await pushes.note(connection('one'), at('10:00:00'), KNOWN);
  await pushes.note(connection('two'), at('10:00:00'), new Set(['two']));
  expect(await pushes.findLast(connection('one'))).toBeUndefined();
  expect((await pushes.findLast(connection('two')))?.branch).toBe('main');
});

test('it is written to the resource once a minute, beside the annotations that are there', async () => {
  const { pushes, written } = started();
  await pushes.note(connection('one', { 'example.com/other': 'stays' }), at('10:00:00'), KNOWN);
  const value = JSON.stringify({
    repository: 'acme/agent',
    branch: 'main',
    at: '2026-01-05T10:00:00Z',
  });
  expect(written.splice(0)).toEqual([
    { op: 'add', path: '/metadata/annotations/gx.dev~1unmatched-push', value },
  ]);
  const known = connection('one', { [UNMATCHED_PUSH]: value });
  await pushes.note(known, at('10:00:59'), KNOWN);
  expect(written).toEqual([]);
  expect((await pushes.findLast(known))?.at).toBe('2026-01-05T10:00:59Z');
  await pushes.note(known, at('10:01:00'), KNOWN);
  expect(written).toHaveLength(1);
});

test.each([
  ['nonsense', '{'],
  ['no object', '7'],
  ['a time that is none', JSON.stringify({ repository: 'a', branch: 'b', at: 'soon' })],
])('%s that somebody wrote there is nothing', async (_what, value) => {
  const { pushes, written } = started();
  expect(await pushes.findLast(connection('one', { [UNMATCHED_PUSH]: value }))).toBeUndefined();
  await pushes.note(connection('one', { [UNMATCHED_PUSH]: value }), at('10:00:00'), KNOWN);
  expect(written).toHaveLength(1);
});

test('another replica knows it by the resource, and one of an earlier Role remembers it alone', async () => {
  const value = JSON.stringify({
    repository: 'acme/agent',
    branch: 'main',
    at: '2026-01-05T10:00:00Z',
  });
  const { pushes } = started(new Forbidden('no'));
  const known = connection('one', { [UNMATCHED_PUSH]: value });
  expect(await pushes.findLast(known)).toEqual(JSON.parse(value));
  expect(await pushes.note(connection('one'), at('11:00:00'), KNOWN)).toBeUndefined();
  expect((await pushes.findLast(known))?.at).toBe('2026-01-05T11:00:00Z');
});
