import { Invalid } from '../../errors.ts';
import { GROUP } from '../../schema/custom-resources.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { DeploymentCreateRequest } from '../../schema/deployment.ts';
import { hashOf } from '../../schema/revision-of.ts';
import type { Needs } from '../needs.ts';
import { makeRevision } from '../revisions/make.ts';
import { belongsTo, type Asking } from './find.ts';

/** Annotation that remembers which request made a deployment: hashes of its Idempotency-Key and of its body without secret values. */
const MADE_BY = `${GROUP}/made-by-request`;

const keyHash = (key: string): string => hashOf(['idempotency-key', key]);

/** Values of secrets stay out: even their hash would let a reader of the resource try guesses. */
const bodyHash = ({ secrets, ...body }: DeploymentCreateRequest): string => hashOf([body, secrets.map(({ name }) => name)]);

export const rememberAs = (key: string, body: DeploymentCreateRequest): Record<string, string> => ({
  [MADE_BY]: `${keyHash(key)}.${bodyHash(body)}`,
});

/** The deployment that the same request made before, with its first revision if that process came no further. The same key with another body is a client's mistake. */
export async function replayed(
  needs: Needs,
  body: DeploymentCreateRequest,
  { key, ...asking }: Asking & { key: string | undefined },
): Promise<DeploymentResource | undefined> {
  if (key === undefined) return undefined;
  const mine = belongsTo(needs, asking.caller);
  const prefix = `${keyHash(key)}.`;
  const made = needs.stored
    .deployments()
    .find((deployment) => mine(deployment) && deployment.metadata.annotations?.[MADE_BY]?.startsWith(prefix));
  if (made === undefined) return undefined;
  if (made.metadata.annotations?.[MADE_BY] === `${prefix}${bodyHash(body)}`) {
    if (needs.stored.revisionsOf(made).length === 0) await makeRevision(needs, made);
    return made;
  }
  throw new Invalid([{ loc: ['header', 'Idempotency-Key'], msg: 'was used for another request', type: 'idempotency_key_reused' }]);
}
