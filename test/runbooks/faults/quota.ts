import {
  agent,
  conditionOf,
  isReady,
  labelsOf,
  NAMESPACE,
  newName,
  removed,
  variablesOf,
} from '../agents.ts';
import type { Fault } from '../fault.ts';

/** A quota of pods would refuse that of the database, too, which its controller reports by an event alone. */
const RESOURCE = 'count/deployments.apps';

export const quota: Fault = {
  name: 'a quota without room for the agents of a deployment',
  plant: async (scene) => {
    const { kubectl, system } = scene;
    const name = newName('no-room');
    await kubectl('create', 'quota', name, '-n', NAMESPACE, `--hard=${RESOURCE}=0`);
    await kubectl.apply(agent(name, system.image));
    return {
      labels: labelsOf(name),
      isSeen: async () => (await conditionOf(scene, name, 'Ready'))?.reason === 'QuotaExceeded',
      variables: { ...variablesOf(name), QUOTA: name, RESOURCE, LIMIT: '100' },
      isCured: () => isReady(scene, name),
      remove: async () => {
        await kubectl('delete', 'quota', name, '-n', NAMESPACE);
        await removed(scene, name);
      },
    };
  },
  found: { alert: 'GxDeploymentNotReady', seconds: 60 },
  page: { file: 'deployment-not-ready.md', entry: '`QuotaExceeded`' },
  cured: { seconds: 120 },
};
