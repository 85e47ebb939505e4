import type { KubeObject } from '../../kube/kube.ts';
import { settledTemplate, withTemplateHash } from '../pods/settled-template.ts';
import { isSetUp } from '../pods/workload-state.ts';

type SetSpec = { template: { spec: { containers: { resources?: { limits?: { memory?: string } } }[] } } };

const memoryOf = ({ spec }: KubeObject): string | undefined => (spec as SetSpec).template.spec.containers[0]?.resources?.limits?.memory;

/**
 * Returns the set of a store with the pod that it has, as long as that serves and has the size that is asked for. So an
 * upgrade restarts none. `seen` is the form of its pods in the status. Sets of the first version have no hash of their
 * template.
 */
export function settledStore(made: KubeObject, live: KubeObject | undefined, seen: string | undefined): KubeObject {
  const hashed = withTemplateHash(made);
  if (live === undefined || !isSetUp(live) || memoryOf(live) !== memoryOf(made)) return hashed;
  const { annotations } = withTemplateHash(live).metadata;
  const known = { ...live, metadata: { ...live.metadata, annotations: { ...annotations, ...live.metadata.annotations } } };
  return settledTemplate(hashed, known, seen);
}
