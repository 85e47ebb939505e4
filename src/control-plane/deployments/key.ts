import { NotFound } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import { CURRENT_KEY, PREVIOUS_KEY, type AgentKey } from '../../schema/wire/agent-key.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { PREVIOUS_UNTIL, ROTATE_KEY } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import type { CallContext } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildJsonPatch } from '../json-patch.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedBy } from '../requested-by.ts';
import { waitFor } from '../stored/follow.ts';
import { findDeployment, readDeployment } from './lookup.ts';
import { deriveLaterTime } from './later-time.ts';

/** Seconds that an answer waits for the operator to make a new key. It takes well under one. */
const PATIENCE = 10;

/** Reads the key of a deployment's agents. Throws `NotFound` until the operator has made it. */
export async function readAgentKey(
  { kube }: ControlPlane,
  deployment: DeploymentResource,
  signal?: AbortSignal,
): Promise<AgentKey> {
  const { namespace, name, uid } = deployment.metadata;
  const secret = await callKube(() =>
    kube.find(kinds.secret, { namespace, name: names.agentKey(name) }, signal),
  );
  const decodeText = (key: string): string =>
    Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
  // A Secret of this name may be another deployment's that is being deleted, or anybody's.
  const isOwn = secret?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  if (!isOwn || decodeText(CURRENT_KEY) === '')
    throw new NotFound('The deployment has no key yet; the operator makes it.');
  const previous = decodeText(PREVIOUS_KEY);
  return {
    api_key: decodeText(CURRENT_KEY),
    previous_api_key: previous === '' ? null : previous,
    previous_until:
      previous === '' ? null : (secret.metadata.annotations?.[PREVIOUS_UNTIL] ?? null),
  };
}

/** Asks the operator for a new key, and waits a little for it. Returns the key, and whether it is the new one. */
export async function rotateKey(
  plane: ControlPlane,
  id: string,
  call: CallContext,
): Promise<{ key: AgentKey; isNew: boolean }> {
  const asked = await retryConflicts(
    () => readDeployment(plane, id, call),
    async (live) => {
      const { annotations = {}, resourceVersion, namespace, name } = live.metadata;
      const wanted = {
        ...annotations,
        ...buildRequestedBy(call.caller),
        [ROTATE_KEY]: deriveLaterTime(parseDate(annotations[ROTATE_KEY]), plane.now()),
      };
      const guard = {
        op: 'replace',
        path: '/metadata/resourceVersion',
        value: resourceVersion,
      } as const;
      const patch = [
        guard,
        ...buildJsonPatch(live.metadata.annotations, wanted, '/metadata/annotations'),
      ];
      return plane.stored.note.deployment(
        await callKube(() => plane.kube.patchJson(kinds.deployment, { namespace, name }, patch)),
      );
    },
  );
  const request = asked.metadata.annotations?.[ROTATE_KEY];
  const now = await waitFor(
    plane,
    { signal: call.signal, seconds: PATIENCE },
    {
      uid: asked.metadata.uid,
      read: () => findDeployment(plane, id, call),
      done: ({ status }) => status?.keyRequest === request,
    },
  );
  return {
    key: await readAgentKey(plane, now, call.signal),
    isNew: now.status?.keyRequest === request,
  };
}

/** Returns the text if it is a time; kubectl users may have asked with any word. */
const parseDate = (text: string | undefined): string | undefined =>
  text !== undefined && !Number.isNaN(Date.parse(text)) ? text : undefined;
