import type { Builder } from '../../../config/platform/builder.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { buildImageRepository } from '../../../schema/platform/source/built-image.ts';
import type { RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import type { WorkloadSpec } from '../../objects/workload-spec.ts';

export type BuildPlace = { namespace: string; image: string; hasBuildkit: boolean };

/** Returns where a revision is built: without root, or with BuildKit once a build has reported that it needs that. */
export const chooseBuildPlace = (
  { status }: RevisionResource,
  { image, namespace, buildkit }: Builder,
): BuildPlace =>
  status?.buildsWith === 'buildkit' && buildkit !== undefined
    ? { ...buildkit, hasBuildkit: true }
    : { namespace, image, hasBuildkit: false };

/** Returns the name that a revision's image is to be pushed under. */
export const buildTargetImage = (
  { metadata, spec }: RevisionResource,
  { repository }: Builder,
): string =>
  `${buildImageRepository(repository, { namespace: metadata.namespace ?? '', deployment: spec.deployment })}:${metadata.name}`;

/**
 * Returns whether pods may get users of their own, as far as the nodes say. Where there is no ready node the scheduler
 * says so itself.
 */
export function mayHaveOwnUsers(nodes: readonly KubeObject[]): boolean {
  const ready = nodes
    .map(
      ({ status }) =>
        (status ?? {}) as {
          conditions?: { type: string; status: string }[];
          runtimeHandlers?: { features?: { userNamespaces?: boolean } | null }[];
        },
    )
    .filter(({ conditions = [] }) =>
      conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    );
  return (
    ready.length === 0 ||
    ready.some(({ runtimeHandlers = [] }) =>
      runtimeHandlers.some(({ features }) => features?.userNamespaces === true),
    )
  );
}

/** An API server of which the feature is off drops the field without a word. */
export const hasUserNamespace = (job: KubeObject | undefined): boolean =>
  job === undefined || (job.spec as WorkloadSpec).template.spec.hostUsers === false;

/** The message to authors of `dockerfile_lines`. */
export const USERS_OFF =
  'gx.json asks for Dockerfile lines, which only run in pods with user namespaces (hostUsers: false), and this cluster has none: build without a Dockerfile, or turn user namespaces on (Kubernetes 1.33, containerd 2.0 or CRI-O 1.25, Linux 6.3).';
