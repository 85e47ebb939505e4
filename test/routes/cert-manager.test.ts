import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { renderer, type KubeYaml } from '../charts/render.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { folderOfModule } from '../kit/go-module.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { installDefinitionsIn } from '../kit/routes/definitions.ts';

/* The one object of cert-manager that the chart writes, held against cert-manager's definitions. It does not run. */

const MODULE = 'github.com/cert-manager/cert-manager@v1.21.2';

let server: ApiServer;
let kube: Kube;
let kubectl: Kubectl;
beforeAll(async () => {
  server = await startApiServer({ controllers: false, definitions: false });
  kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/cert-manager',
    kubeconfig: server.kubeconfig,
  });
  kubectl = kubectlFor({ ...(await ensureTools(['kubectl'])), kubeconfig: server.kubeconfig });
  await installDefinitionsIn([join(await folderOfModule(MODULE), 'deploy/crds')], kube);
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'gx-system' },
  });
});
afterAll(async () => {
  await kube.close();
  await server.stop();
});

async function certificate(): Promise<KubeYaml> {
  const certManager = {
    issuer: 'internal',
    issuerKind: 'ClusterIssuer',
    dnsNames: ['gx.example.com'],
  };
  const objects = await (
    await renderer()
  ).chart({ controlPlane: { tls: { secretName: 'api-tls', certManager } } });
  const found = objects.find(({ kind }) => kind === 'Certificate');
  if (found === undefined) throw new Error('the chart wrote no Certificate');
  return found;
}

const strictly = (object: object): Promise<string> =>
  kubectl.apply(object, '--server-side', '--validate=strict');

test('the Certificate of the control plane has no field and no value that cert-manager does not know', async () => {
  const written = await certificate();
  await expect(strictly(written)).resolves.toContain('serverside-applied');
  await expect(strictly({ ...written, spec: { ...written.spec, secret: 'a' } })).rejects.toThrow(
    /spec.secret/,
  );
  await expect(
    strictly({ ...written, spec: { ...written.spec, usages: ['serving'] } }),
  ).rejects.toThrow(/usages/);
});
