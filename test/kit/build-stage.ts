import { kinds } from '../../src/kube/kinds.ts';
import type { Builder } from '../../src/config/platform/builder.ts';
import type { OperatorSettings } from '../../src/config/platform/operator.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { POD_SECURITY } from '../../src/schema/platform/objects/labels.ts';
import { BUILDER, GIT } from './objects.ts';
import type { OperatorGiven } from './operator.ts';
import { openStage, type OperatedStage } from './stage.ts';

/** Returns settings by which what `fromGit` makes is built beside the agents, where the double of the kubelet is. */
export const buildsIn = (
  namespace: string,
  builder: Partial<Builder> = {},
): Partial<OperatorSettings> => ({
  builder: { ...BUILDER, namespace, parallel: 20, ...builder },
  gitIntegrations: [GIT],
});

/** Sets a stage on which what `fromGit` makes is built. */
export async function setBuildStage(
  name: string,
  given: OperatorGiven = {},
  builder: Partial<Builder> = {},
): Promise<OperatedStage> {
  const stage = await openStage(name);
  const { kube, namespace } = stage;
  const labels = { [POD_SECURITY]: 'baseline' };
  await kube.apply(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels },
  });
  const metadata = { name: 'default', namespace };
  await kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata,
    spec: { computeId: 'test', namespaces: [namespace] },
  });
  const kubelet = stage.startKubelet();
  const operator = await stage.startOperator({
    ...given,
    settings: { ...buildsIn(namespace, builder), ...given.settings },
  });
  return { ...stage, kubelet, operator };
}
