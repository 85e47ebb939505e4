import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRecorder, trimToBytes, NOTE_LENGTH } from '../../src/kube/events.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { testNamespace } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import { silentLog } from '../kit/log.ts';
import { newDeployment } from '../kit/objects.ts';

let kube: Kube;
let namespace: string;
beforeAll(async () => {
  ({ kube, namespace } = await testNamespace('events'));
});
afterAll(() => kube.close());

test('a text is cut by bytes, from either end, and never in the middle of a character', () => {
  expect(trimToBytes('Wörter', 100)).toBe('Wörter');
  expect(trimToBytes('Wörter', 2)).toBe('W');
  expect(trimToBytes('Wörter', 3)).toBe('Wö');
  expect(trimToBytes('Wörter', 5, 'end')).toBe('rter');
  expect(trimToBytes('🙂🙂', 7)).toBe('🙂');
  expect(trimToBytes('🙂🙂', 7, 'end')).toBe('🙂');
});

test('a note in whatever script, longer than the API server takes, is written all the same', async () => {
  const record = createRecorder({
    kube,
    log: silentLog(),
    controller: 'gx.dev/test',
    instance: 'one',
  });
  const object = await kube.create(kinds.deployment, newDeployment(namespace));
  record(object, {
    type: 'Warning',
    reason: 'Told',
    action: 'Reconcile',
    note: '変'.repeat(NOTE_LENGTH),
  });
  type Told = { reason?: string; note?: string };
  const told = async () =>
    ((await kube.listAll(kinds.event, { namespace })) as Told[]).find(
      ({ reason }) => reason === 'Told',
    );
  await until('it is there', async () => (await told()) !== undefined);
  expect((await told())?.note).toBe('変'.repeat(Math.floor(NOTE_LENGTH / 3)));
});
