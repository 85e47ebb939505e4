import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { NAMESPACE } from '../restore/stage.ts';

/* An agent whose first program is one for another processor, on a real node. */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `foreign-${Date.now().toString(36).slice(-5)}`;
/** Seconds in which a container has ended so often that nobody waits for it any more. */
const PATIENCE = 300;

/** A program of Linux for IBM's mainframes, as far as a kernel looks at it before it refuses. */
const program = Buffer.alloc(128);
program.write('\x7fELF\x02\x02\x01', 'latin1');
program.writeUInt16BE(2, 16);
program.writeUInt16BE(22, 18);
program.writeUInt32BE(1, 20);

let id: string | undefined;
beforeAll(async () => {
  const binaryData = { tini: program.toString('base64') };
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE },
    binaryData,
  });
});
afterAll(async () => {
  if (id !== undefined) await call(api, 'DELETE', `/v2/deployments/${id}`);
  await kubectl('delete', 'configmap', name, '-n', NAMESPACE);
});

test('the revision says that the image is for another processor', async () => {
  const volume_mounts = [{ name: 'program', mountPath: '/usr/bin/tini', subPath: 'tini' }];
  const volumes = [{ name: 'program', configMap: { name, defaultMode: 0o755 } }];
  ({ id } = await call<{ id: string }>(api, 'POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: { resource_spec: { volumes, volume_mounts } },
    source_revision_config: { image_uri: system.image },
    secrets: [],
  }));
  type Revision = { status: string; reason: string; status_message: string };
  const revision = await until(
    'it has failed',
    async () => {
      const { resources } = await call<{ resources: Revision[] }>(
        api,
        'GET',
        `/v2/deployments/${id}/revisions`,
      );
      if (resources[0]?.status === 'DEPLOY_FAILED') return resources[0];
      throw new Error(JSON.stringify(resources[0]));
    },
    PATIENCE,
  );
  process.stdout.write(`${JSON.stringify(revision.status_message)}\n`);
  expect(revision).toMatchObject({
    reason: 'CrashLooping',
    status_message: expect.stringContaining('The image is for another processor'),
  });
  const { status } = await kubectl.json<{ status: { message: string } }>(
    'get',
    'gxr',
    `${name}-00001`,
    '-n',
    NAMESPACE,
  );
  expect(status.message).toBe(revision.status_message);
});
