import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import {
  deriveSeenTemplate,
  settleTemplate,
  addTemplateHash,
} from '../../../src/operator/pods/settled-template.ts';

const workload = (spec: object, { generation = 1, restartedAt = '' } = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'chat', uid: 'u1', generation },
  spec: {
    template: {
      metadata: {
        annotations: { ...(restartedAt && { 'kubectl.kubernetes.io/restartedAt': restartedAt }) },
      },
      spec,
    },
  },
});
const [former, todays] = [
  addTemplateHash(workload({ image: 'a', policy: 'old' })),
  addTemplateHash(workload({ image: 'a', policy: 'new' })),
];
const changed = (spec: object, at: { generation?: number; restartedAt?: string }): KubeObject => ({
  ...workload(spec, at),
  metadata: { ...former.metadata, generation: at.generation ?? 1 },
});
const seen = deriveSeenTemplate(former, undefined);
const kept = (live: KubeObject): unknown => settleTemplate(todays, live, seen).spec;

test('pods stay as a former operator made them: as they are, restarted, scaled, or read otherwise by a newer API server', () => {
  expect(kept(former)).toEqual(former.spec);
  expect(
    kept(changed({ image: 'a', policy: 'old' }, { generation: 2, restartedAt: 'now' })),
  ).toEqual(former.spec);
  expect(kept(changed({ image: 'a', policy: 'old' }, { generation: 7 }))).toEqual(former.spec);
  const defaulted = changed({ image: 'a', policy: 'old', added: 'default' }, { generation: 1 });
  expect(kept(defaulted)).toEqual(defaulted.spec);
});

test('pods that somebody changed are made as today', () => {
  expect(kept(changed({ image: 'evil', policy: 'old' }, { generation: 2 }))).toEqual(todays.spec);
  const other = changed({ image: 'evil', policy: 'old' }, { generation: 1 });
  expect(kept({ ...other, metadata: { ...other.metadata, uid: 'made again' } })).toEqual(
    todays.spec,
  );
});

test('a forged hash is put right, and believed by nobody', () => {
  const forged = {
    ...former,
    metadata: { ...former.metadata, annotations: { 'gx.dev/template': 'forged' } },
  };
  expect(settleTemplate(todays, forged, seen)).toEqual(settleTemplate(todays, former, seen));
  expect(settleTemplate(former, forged, seen)).toEqual(former);
});

test('what was never seen is believed once, and what was seen keeps its word', () => {
  expect(settleTemplate(todays, former, undefined).spec).toEqual(former.spec);
  expect(deriveSeenTemplate(changed({ image: 'a', policy: 'old' }, { generation: 9 }), seen)).toBe(
    seen,
  );
  expect(deriveSeenTemplate(changed({ image: 'b' }, { generation: 9 }), seen)).toMatch(/\/u1\/9$/);
  expect(deriveSeenTemplate(undefined, seen)).toBe(seen);
});
