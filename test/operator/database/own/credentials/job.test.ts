import { expect, test } from 'vitest';
import type { Task } from '../../../../../src/operator/database/own/credentials/next-step.ts';
import { passwordJob } from '../../../../../src/operator/database/own/credentials/job.ts';
import { deployment, settings } from '../../../../kit/objects.ts';

type Reference = { name: string; key: string; optional?: boolean };
type Job = { spec: { template: { spec: { containers: { env: { valueFrom?: { secretKeyRef: Reference } }[] }[] } } } };

/** Returns the keys that a pod can't start without, as `secret key`. */
function wanted(task: Task, from: string, to: string): string[] {
  const job = passwordJob(deployment(), { task, from: { secret: from, number: 0 }, to: { secret: to, number: 1 } }, settings());
  const { env } = (job as unknown as Job).spec.template.spec.containers[0] ?? { env: [] };
  const references = env.flatMap(({ valueFrom }) => (valueFrom === undefined ? [] : [valueFrom.secretKeyRef]));
  return references.filter(({ optional }) => optional !== true).map(({ name, key }) => `${name} ${key}`);
}

test.each(['set', 'retire'] as const)('no key of the former password is needed, which may be lost: %s', (task) => {
  const keys = wanted(task, 'former', 'next');
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => key.startsWith('former '))).toEqual([]);
});
