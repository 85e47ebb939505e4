import type { RevisionResource } from '../../schema/custom-resources.ts';
import type { OperatorDeps } from '../family/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { settled } from '../kernel/outcome.ts';
import { dropBuild } from './build/make.ts';
import type { RevisionStatusFields } from './status.ts';

/** Removes the build of a deleted revision, which lies in another namespace and so goes with nobody. */
export const finalizeRevision =
  (deps: Pick<OperatorDeps, 'kube' | 'settings'>): Reconcile<RevisionResource, RevisionStatusFields> =>
  async (revision, { signal }) => {
    await dropBuild(deps, revision, signal);
    const { conditions: _conditions, observedGeneration: _generation, ...status } = revision.status ?? {};
    return { outcome: settled('Nothing is left.', 'Deleted'), statements: [], status };
  };
