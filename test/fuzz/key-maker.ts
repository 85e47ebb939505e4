import { setTimeout as wait } from 'node:timers/promises';
import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { CURRENT_KEY } from '../../src/schema/wire/agent-key.ts';
import { type DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { ROTATE_KEY } from '../../src/schema/platform/objects/labels.ts';
import { names } from '../../src/schema/names.ts';

const PAUSE = 200;

/** Does what the operator does for a key that is asked for, because a request for one waits until it is there. */
export async function makeKeys(kube: Kube, namespace: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const deployment of await kube.listAll(kinds.deployment, { namespace })) {
      const asked = deployment.metadata.annotations?.[ROTATE_KEY];
      if (asked !== undefined && asked !== deployment.status?.keyRequest)
        await makeKey(kube, deployment, asked).catch(unlessGone);
    }
    await wait(PAUSE, undefined, { signal }).catch(() => undefined);
  }
}

async function makeKey(kube: Kube, { metadata }: DeploymentResource, asked: string): Promise<void> {
  const { namespace = '', name, uid = '' } = metadata;
  await kube.apply(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      namespace,
      name: names.agentKey(name),
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'Deployment', name, uid }],
    },
    data: { [CURRENT_KEY]: Buffer.from(`key ${asked}`).toString('base64') },
  });
  await kube.patchStatus(kinds.deployment, { namespace, name }, { keyRequest: asked });
}

/** A deployment may be deleted meanwhile. */
function unlessGone(error: unknown): void {
  if (!(error instanceof NotFound)) throw error;
}
