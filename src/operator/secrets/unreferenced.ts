import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';

/** Secrets made for deployments that no deployment and no revision of their namespace names (pure). */
export function unreferenced(secrets: KubeObject[], deployments: DeploymentResource[], revisions: RevisionResource[]): KubeObject[] {
  const at = (namespace: string | undefined, name: string | undefined): string => `${namespace}/${name}`;
  const named = new Set([
    ...deployments.map(({ metadata, spec }) => at(metadata.namespace, spec.template.secretName)),
    ...revisions.flatMap(({ metadata, spec, status }) => [
      at(metadata.namespace, spec.template.secretName),
      at(metadata.namespace, status?.secretName),
    ]),
  ]);
  // What has an owner goes with it.
  return secrets.filter(({ metadata }) => metadata.ownerReferences === undefined && !named.has(at(metadata.namespace, metadata.name)));
}
