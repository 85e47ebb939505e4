import type { Stored } from '../stored/stored.ts';
import type { CountedKube } from '../../kube/kube.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { Conflict } from '../../errors.ts';
import { AlreadyExists } from '../../kube/errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { buildRevision } from '../../schema/platform/resources/revision-of.ts';
import type { Caller } from '../caller.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedBy } from '../requested-by.ts';

/**
 * Creation is repeated with this pause while a revision of an earlier deployment of this name waits for garbage
 * collection, or while a quota counted two requests at once.
 */
const PAUSE_MILLISECONDS = 100;
const LOOKS = 50;

/**
 * Creates the revision that a stored deployment asks for. The operator creates the same object, and the second of the
 * two finds it.
 */
export async function makeRevision(
  { kube, stored }: { kube: CountedKube; stored: Stored },
  deployment: DeploymentResource,
  caller: Caller,
): Promise<RevisionResource> {
  const asked = buildRevision(deployment);
  const wanted = {
    ...asked,
    metadata: { ...asked.metadata, annotations: buildRequestedBy(caller) },
  };
  const { namespace, name } = wanted.metadata;
  for (let look = 1; ; look += 1) {
    try {
      return stored.note.revision(await callKube(() => kube.create(kinds.revision, wanted)));
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      const there =
        error instanceof AlreadyExists
          ? await kube.find(kinds.revision, { namespace, name })
          : undefined;
      if (
        there?.spec.deploymentUid === wanted.spec.deploymentUid &&
        there.spec.hash === wanted.spec.hash
      )
        return stored.note.revision(there);
      if (there?.spec.deploymentUid === wanted.spec.deploymentUid || look === LOOKS) throw error;
      await wait(PAUSE_MILLISECONDS);
    }
  }
}
