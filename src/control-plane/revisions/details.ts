import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { REQUESTED_BY } from '../../schema/platform/objects/labels.ts';
import { ResourceSpec } from '../../schema/platform/spec/resource-spec.ts';
import type { RevisionDetails } from '../../schema/platform/deployment/revision.ts';
import { toRestForm } from '../../schema/types.ts';
import type { Role } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildRevisionConverter } from './answers.ts';

/** Returns all that is known of a revision, with the names of its secrets and none of their values. */
export async function readRevisionDetails(
  plane: ControlPlane,
  { deployment, revision }: { deployment: DeploymentResource; revision: RevisionResource },
  asking: { role: Role; signal: AbortSignal },
): Promise<RevisionDetails> {
  const { metadata, spec, status = {} } = revision;
  const secret = status.secretName ?? spec.template.secretName;
  return {
    ...buildRevisionConverter(plane, deployment)(revision),
    made_by: metadata.annotations?.[REQUESTED_BY] ?? null,
    rollback_of: spec.rollbackOf ?? null,
    push: spec.push ?? null,
    resource_spec: spec.template.resourceSpec
      ? toRestForm(ResourceSpec, spec.template.resourceSpec)
      : null,
    secrets:
      secret === undefined
        ? []
        : await plane.secrets.listDigests(
            { namespace: metadata.namespace, name: secret },
            { deployment: deployment.metadata.uid ?? '', ...asking },
          ),
    ...pickCourse(status),
  };
}

const pickCourse = (status: NonNullable<RevisionResource['status']>) => ({
  started_at: status.startedAt ?? null,
  built_at: status.builtAt ?? null,
  ended_at: status.endedAt ?? null,
  server_version: status.serverVersion ?? null,
  guard: status.guard ?? null,
  conditions: status.conditions ?? [],
});
