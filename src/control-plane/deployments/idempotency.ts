import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildTenantFilter } from './lookup.ts';
import { makeRevision } from '../revisions/make.ts';
import { Invalid } from '../../errors.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { DeploymentCreateRequest } from '../../schema/platform/deployment/deployment.ts';
import { MADE_BY } from '../../schema/platform/objects/labels.ts';
import { hashJson } from '../../schema/canonical-json.ts';

const hashKey = (key: string): string => hashJson(['idempotency-key', key]);

/**
 * Hashes the body without the values of secrets, because a reader of the resource could test guesses against the hash.
 */
const hashBody = ({ secrets, ...body }: DeploymentCreateRequest): string =>
  hashJson([body, secrets.map(({ name }) => name)]);

export const buildMadeBy = (
  key: string,
  body: DeploymentCreateRequest,
): Record<string, string> => ({
  [MADE_BY]: `${hashKey(key)}.${hashBody(body)}`,
});

/**
 * Returns the deployment that the same request made before, and makes its first revision if that is missing. Throws
 * `Invalid` when the key came with another body.
 */
export async function completeReplay(
  plane: ControlPlane,
  body: DeploymentCreateRequest,
  { key, ...call }: CallContext & { key: string | undefined },
): Promise<DeploymentResource | undefined> {
  if (key === undefined) return undefined;
  const mine = buildTenantFilter(plane, call.caller);
  const made = plane.stored.listMadeBy(hashKey(key)).find(mine);
  if (made === undefined) return undefined;
  if (made.metadata.annotations?.[MADE_BY] === `${hashKey(key)}.${hashBody(body)}`) {
    if (plane.stored.listRevisions(made).length === 0) await makeRevision(plane, made, call.caller);
    return made;
  }
  throw new Invalid([
    {
      loc: ['header', 'Idempotency-Key'],
      msg: 'was used for another request',
      type: 'idempotency_key_reused',
    },
  ]);
}
