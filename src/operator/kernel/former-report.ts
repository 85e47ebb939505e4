import { Forbidden, Problem } from '../../errors.ts';
import { buildWaitingOutcome, type Report } from './outcome.ts';
import type { Status } from './status.ts';

type Reported<S extends Status> = { status?: S };

/** Returns the former status, and its conditions besides those of the outcome. */
export function getFormerReport<S extends Status>(
  object: Reported<S>,
): Pick<Report<S>, 'status' | 'statements'> {
  const { conditions = [], observedGeneration: _, ...status } = (object.status ?? {}) as Status;
  const statements = conditions.filter(
    ({ type }) => !['Ready', 'Reconciling', 'Stalled'].includes(type),
  );
  return { status: status as Report<S>['status'], statements };
}

/** Returns the former status with the reason why there is no newer one. */
export function buildFailureReport<S extends Status>(
  object: Reported<S>,
  error: unknown,
): Report<S> {
  const message =
    error instanceof Problem
      ? error.message
      : "An internal error occurred; see the operator's log.";
  return {
    outcome: buildWaitingOutcome(
      error instanceof Forbidden ? 'Forbidden' : 'ReconcileFailed',
      message.slice(0, 1024),
    ),
    ...getFormerReport(object),
  };
}
