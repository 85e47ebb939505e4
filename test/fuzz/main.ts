import process from 'node:process';
import { createKey } from '../../src/control-plane/auth/keys.ts';
import { controlPlaneConfig } from '../../src/config/control-plane.ts';
import { startControlPlane } from '../../src/control-plane/start.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kube.ts';
import { createLog } from '../../src/log.ts';
import { API_VERSION } from '../../src/schema/custom-resources.ts';
import { program, step } from '../../dev/steps.ts';
import { startApiServer } from '../kit/api-server.ts';
import { agent } from './agent.ts';
import { fuzz } from './schemathesis.ts';

const CASES = 10_000;

/** Answers without an end while what they follow exists. Their own tests are in test/control-plane. */
const ENDLESS = ['', '/revisions/{revision_id}'].flatMap((of) =>
  ['events', 'logs/stream'].map((what) => `/v2/deployments/{deployment_id}${of}/${what}`),
);

/** Fuzzes the control plane on a real API server with generated requests of every operation in its document. */
async function controlPlane(cases: number): Promise<void> {
  const server = await step('API server', () => startApiServer());
  try {
    const kube = await connect({ fieldManager: 'gx-control-plane', userAgent: 'gx-control-plane', kubeconfig: server.kubeconfig });
    const namespace = 'default';
    const listener = {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata: { name: 'default', namespace },
      spec: { computeId: 'fuzz', namespaces: [namespace] },
    };
    await kube.create(kinds.listener, listener);
    const config = { ...controlPlaneConfig({}), host: '127.0.0.1', port: 0, namespace, shutdownDelaySeconds: 0 };
    const { key } = await createKey(kube, namespace, { name: 'fuzz', role: 'write', tenantId: config.defaultTenantId });
    const log = createLog({ level: 'error', process: 'control-plane' });
    const plane = await startControlPlane({ config, kube, log, signal: new AbortController().signal });
    const url = `http://127.0.0.1:${plane.port}`;
    // No operator ends a revision here, so a request that waits for one would wait until its limit.
    const target = { url, headers: { 'x-api-key': key }, cases, excludePaths: ENDLESS, fixed: { 'query.wait': 0 } };
    await step('fuzz the control plane', (report) => fuzz(target, report));
    await plane.stop();
  } finally {
    await server.stop();
  }
}

const TARGETS: Record<string, (cases: number) => Promise<void>> = { 'control-plane': controlPlane, agent };

/** Arguments: `[control-plane|agent] [cases]`. The default is both, and 10,000 cases each. */
await program(async () => {
  const [first = '', second] = process.argv.slice(2);
  const named = TARGETS[first];
  const cases = Number((named === undefined ? first : second) || CASES);
  for (const target of named === undefined ? Object.values(TARGETS) : [named]) await target(cases);
});
