import { expect, test } from 'vitest';
import type { Task } from '../../../../../src/operator/database/own/credentials/next-step.ts';
import { buildPasswordJob } from '../../../../../src/operator/database/own/credentials/job.ts';
import { deployment, settings } from '../../../../kit/objects.ts';

type Volume = { secret?: { secretName: string; items: { key: string }[] } };
type Job = { spec: { template: { spec: { volumes: Volume[] } } } };

/** Returns the keys of Secrets that a pod reads, as `secret key`. */
function wanted(task: Task, from: string, to: string): string[] {
  const job = buildPasswordJob(
    deployment(),
    { task, from: { secret: from, number: 0 }, to: { secret: to, number: 1 } },
    settings(),
  );
  const { volumes } = (job as unknown as Job).spec.template.spec;
  return volumes.flatMap(
    ({ secret }) => secret?.items.map(({ key }) => `${secret.secretName} ${key}`) ?? [],
  );
}

test.each(['set', 'retire'] as const)(
  'no key of the former password is needed, which may be lost: %s',
  (task) => {
    const keys = wanted(task, 'former', 'next');
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => key.startsWith('former '))).toEqual([]);
  },
);
