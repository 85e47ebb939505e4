import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import {
  SourceRevisionConfig,
  type Plan,
  type Secret,
} from '../../schema/platform/deployment/deployment.ts';
import { buildRevision, hashTemplate } from '../../schema/platform/resources/revision-of.ts';
import { toRestForm } from '../../schema/types.ts';

/** Returns the changes that a request would make. `after` is the object that the API server made of it in a dry run. */
export function buildDryRunPlan({
  before,
  after,
  secrets,
}: {
  before: DeploymentResource | undefined;
  after: DeploymentResource;
  secrets: readonly Secret[] | null | undefined;
}): Plan {
  const makesRevision = before === undefined || hashTemplate(before) !== hashTemplate(after);
  const revision = makesRevision ? buildRevision(after) : undefined;
  return {
    revision: revision === undefined ? null : toPlannedRevision(revision),
    objects: [
      ...planSecret(after, secrets ?? []),
      stripManagedFields(after),
      ...(revision === undefined ? [] : [revision]),
    ],
  };
}

const toPlannedRevision = ({ spec }: RevisionResource): NonNullable<Plan['revision']> => ({
  number: spec.number,
  source: spec.source,
  source_revision_config: toRestForm(SourceRevisionConfig, spec.template.sourceRevisionConfig),
});

/** Returns the Secret without its name, which it gets when it is made, and without its values. */
function planSecret(
  { metadata: { namespace } }: DeploymentResource,
  secrets: readonly Secret[],
): Plan['objects'] {
  if (secrets.length === 0) return [];
  const data = Object.fromEntries(secrets.map(({ name }) => [name, '']));
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace },
      immutable: true,
      data,
    } as Plan['objects'][number],
  ];
}

function stripManagedFields({ metadata, ...rest }: DeploymentResource): DeploymentResource {
  const { managedFields: _, ...kept } = metadata as DeploymentResource['metadata'] & {
    managedFields?: unknown;
  };
  return { ...rest, metadata: kept };
}
