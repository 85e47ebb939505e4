import { until } from '../../kit/until.ts';
import { agent, isReady, labelsOf, NAMESPACE, newName, removed, variablesOf } from '../agents.ts';
import type { Fault } from '../fault.ts';

export const missingImage: Fault = {
  name: 'an image that the registry does not have',
  plant: async (scene) => {
    const name = newName('no-image');
    await scene.kubectl.apply(agent(name, 'registry.gx-platform.local:5000/nobody-pushed-it:1'));
    await until('its pods are made', async () =>
      (await scene.kubectl('get', 'pods', '-n', NAMESPACE, '-o', 'name')).includes(
        `${name}-00001-api`,
      ),
    );
    return {
      labels: labelsOf(name),
      isSeen: async () =>
        (
          await scene.kubectl('get', 'gxr', `${name}-00001`, '-n', NAMESPACE, '-o', 'yaml')
        ).includes('ImagePullFailed'),
      variables: { ...variablesOf(name), IMAGE: scene.system.image },
      isCured: () => isReady(scene, name),
      remove: () => removed(scene, name),
    };
  },
  found: { alert: 'GxDeploymentStalled', seconds: 90 },
  page: { file: 'deployment-stalled.md', entry: '`ImagePullFailed`' },
  cured: { seconds: 120 },
};
