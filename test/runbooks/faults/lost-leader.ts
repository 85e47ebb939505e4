import type { Fault } from '../fault.ts';
import { installed } from '../platform.ts';

export const lostLeader: Fault = {
  name: 'an operator that may not lead any more',
  plant: async (scene) => {
    await scene.kubectl('delete', 'rolebinding', 'gx-operator', '-n', 'gx-system');
    return {
      variables: {},
      isCured: async () => (await scene.watcher.value('sum(leader_election_master_status)')) === 1,
      remove: () => installed(scene),
    };
  },
  found: { alert: 'GxNoLeader', seconds: 120 },
  page: { file: 'no-leader.md', entry: '`Forbidden`' },
  cured: { seconds: 180 },
};
