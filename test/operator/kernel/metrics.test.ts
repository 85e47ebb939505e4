import { expect, test } from 'vitest';
import { OperatorMetrics } from '../../../src/operator/kernel/metrics.ts';
import { printed } from '../../kit/operator.ts';
import { WorkQueue } from '../../../src/operator/kernel/queue.ts';

test('a reconcile that hangs shows while it hangs, and no more once it is done', async () => {
  const metrics = new OperatorMetrics();
  const queue = new WorkQueue(metrics.queue('deployment'));
  queue.add('team/chat');
  const value = async (name: string): Promise<number> => {
    const body = await printed(metrics);
    return Number(new RegExp(`^${name}\\{name="deployment"\\} (\\S+)$`, 'm').exec(body)?.[1]);
  };
  const names = [
    'workqueue_unfinished_work_seconds',
    'workqueue_longest_running_processor_seconds',
  ];
  for (const name of names) expect(await value(name)).toBe(0);
  const key = await queue.take();
  for (const name of names) expect(await value(name)).toBeGreaterThan(0);
  queue.finish(key ?? '');
  for (const name of names) expect(await value(name)).toBe(0);
  queue.close();
});
