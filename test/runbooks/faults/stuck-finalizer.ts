import { until } from '../../kit/until.ts';
import { agent, labelsOf, NAMESPACE, newName, variablesOf } from '../agents.ts';
import type { Fault } from '../fault.ts';

export const stuckFinalizer: Fault = {
  name: 'a finalizer that nobody removes',
  plant: async ({ kubectl, system }) => {
    const name = newName('held');
    const held = `${name}-db`;
    const gone = async (): Promise<boolean> =>
      (await kubectl('get', 'gxd', name, '-n', NAMESPACE, '--ignore-not-found')) === '';
    const hold = (finalizers: string[]): Promise<string> =>
      kubectl(
        'patch',
        'statefulset',
        held,
        '-n',
        NAMESPACE,
        '--type=merge',
        '-p',
        JSON.stringify({ metadata: { finalizers } }),
      );
    await kubectl.apply(agent(name, system.image));
    await until('its database is made', () => hold(['example.com/nobody-removes-it']));
    await kubectl('delete', 'gxd', name, '-n', NAMESPACE, '--wait=false');
    return {
      labels: labelsOf(name),
      isSeen: async () =>
        (await kubectl('get', 'statefulset', held, '-n', NAMESPACE, '-o', 'yaml')).includes(
          'deletionTimestamp',
        ),
      variables: { ...variablesOf(name), KIND: 'statefulset', NAME: held },
      isCured: gone,
      remove: () => hold([]).catch(() => undefined),
    };
  },
  found: { alert: 'GxDeletionStuck', seconds: 60 },
  page: { file: 'deletion-stuck.md', entry: 'finalizer' },
  cured: { seconds: 120 },
};
