import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import type { Wish } from './decide.ts';
import { workload } from './objects/workload.ts';

/** The workloads a revision shall have, the api before the queue (pure). */
export function desiredRevision(
  revision: RevisionResource,
  given: { wish: Wish; secretName: string | undefined; databaseSecret: string },
  settings: OperatorSettings,
): KubeObject[] {
  const { wish, secretName, databaseSecret } = given;
  return (['api', 'queue'] as const).flatMap((component) => {
    const replicas = wish[component];
    return replicas === undefined ? [] : [workload(revision, { component, replicas, secretName, databaseSecret }, settings)];
  });
}
