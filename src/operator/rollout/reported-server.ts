import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { chooseStricterGuard } from '../../schema/platform/deployment/guards.ts';
import type { ServerFacts } from '../../schema/wire/work-report.ts';

/**
 * Returns the fields of a revision's status about its server once these facts are reported. Version and prefix keep
 * their first value, and the guard only becomes stricter, so that no later report opens a deployment.
 */
export function mergeServerFields(
  { status = {} }: RevisionResource,
  facts: ServerFacts | undefined,
): NonNullable<RevisionResource['status']> {
  const isNew = status.serverVersion === undefined;
  const [serverVersion, mountPrefix] = isNew
    ? [facts?.version, facts?.mount_prefix]
    : [status.serverVersion, status.mountPrefix];
  const guard = chooseStricterGuard(status.guard, facts?.guard);
  return {
    ...(serverVersion !== undefined && { serverVersion }),
    ...(mountPrefix !== undefined && { mountPrefix }),
    ...(guard !== undefined && { guard }),
  };
}

/** Returns true if these facts change the status of a revision whose pods are there. */
export function isServerNews(revision: RevisionResource, facts: ServerFacts): boolean {
  const { phase, serverVersion, guard } = revision.status ?? {};
  if (phase !== 'DEPLOYING' && phase !== 'DEPLOYED' && phase !== 'AWAITING_DEPLOY') return false;
  const next = mergeServerFields(revision, facts);
  return next.serverVersion !== serverVersion || next.guard !== guard;
}
