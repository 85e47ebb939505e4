import type { Fault } from '../fault.ts';
import { installed } from '../platform.ts';

const RESOURCE = 'poddisruptionbudgets';
type Role = { rules: { resources: string[] }[] };

export const deadWatch: Fault = {
  name: 'a watch that the API server refuses',
  plant: async (scene) => {
    const { kubectl, watcher } = scene;
    const role = ['role', 'gx-operator-watched', '-n', 'gx-agents'];
    const { rules } = await kubectl.json<Role>('get', ...role);
    const left = rules.filter(({ resources }) => !resources.includes(RESOURCE));
    await kubectl('patch', ...role, '--type=merge', '-p', JSON.stringify({ rules: left }));
    return {
      labels: { kind: 'PodDisruptionBudget' },
      variables: {},
      isCured: async () => ((await watcher.value('max(watch_last_event_age_seconds)')) ?? 60) < 30,
      remove: () => installed(scene),
    };
  },
  // A watch lasts 18 s, and is dead after 60.
  found: { alert: 'GxWatchDead', seconds: 150 },
  page: { file: 'watch-dead.md', entry: '`Forbidden`' },
  cured: { seconds: 180 },
};
