// Keeps the promises of a cluster one by one, and fails at the first that is broken.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { clusterDown, clusterUp, type Cluster } from './cluster.ts';
import { until } from './wait.ts';
import { kubectlOf, type Kubectl } from './proof/kubectl.ts';
import { kernelSettings, tracesOf } from './proof/traces.ts';
import { nodePort, restrictedNamespace, store, web } from './proof/workloads.ts';
import { seconds } from './report.ts';
import { shellImage } from './native/images.ts';
import { fileOf, stateOf, type Layout } from './native/layout.ts';
import { clustersWithState } from './native/host.ts';
import { readRecord } from './native/record.ts';

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: 'gx-proof' },
    keep: { type: 'boolean', default: false },
    outside: { type: 'string', default: 'example.com' },
  },
});
const { name } = values;
const report = (line: string) => process.stdout.write(`  ${line}\n`);

async function promise(sentence: string, keep: () => Promise<unknown>): Promise<void> {
  const started = Date.now();
  try {
    await keep();
  } catch (error) {
    throw new Error(`broken: ${sentence}`, { cause: error });
  }
  process.stdout.write(`kept: ${sentence} (${seconds(started)})\n`);
}

async function proveLife(cluster: Cluster): Promise<void> {
  const kubectl = kubectlOf(cluster);
  await promise('a running cluster is returned at once', async () => {
    const started = Date.now();
    await clusterUp({ name, report });
    assert.ok(Date.now() - started < 5000);
  });
  await proveWorkload(cluster, kubectl);
  await proveVolume(kubectl);
  await proveWayOut(kubectl);
}

async function proveWorkload(cluster: Cluster, kubectl: Kubectl): Promise<void> {
  await promise('a workload of two restricted replicas rolls out', async () => {
    await kubectl.apply([restrictedNamespace]);
    await until({ what: 'the default service account', seconds: 20 }, () =>
      kubectl.run(['get', 'serviceaccount', 'default']).then(
        () => true,
        () => false,
      ),
    );
    await kubectl.apply([...web(shellImage), ...store(shellImage)]);
    await kubectl.rolledOut('deployment/web');
  });
  await promise('logs and exec work', async () => {
    assert.match(await kubectl.run(['logs', 'deployment/web']), /serving/);
    assert.match(await kubectl.exec('deployment/web', 'id -u'), /^10001$/m);
  });
  await promise('a service answers soon after its pods are ready', () =>
    until({ what: 'the service', seconds: 5 }, () =>
      kubectl.exec('deployment/web', 'ask http://web/').then(
        () => true,
        () => false,
      ),
    ),
  );
  await promise('a service answers by name and by address, from either pod', async () => {
    const address = await kubectl.run(['get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}']);
    const pods = (await kubectl.run(['get', 'pods', '-l', 'app=web', '-o', 'name'])).trim().split('\n');
    for (const pod of pods) {
      for (const host of ['web', 'web.proof.svc.cluster.local', address]) {
        // Four times, as the service may choose the asking pod itself.
        const ask = `for i in 1 2 3 4; do ask http://${host}/ || exit 1; done`;
        assert.match(await kubectl.exec(pod, ask), /^web-/);
      }
    }
  });
  await promise('the node port answers on the host', () =>
    until({ what: 'the node port', seconds: 10 }, () =>
      fetch(`http://${cluster.nodeAddress}:${nodePort}/`).then(
        (response) => response.ok,
        () => false,
      ),
    ),
  );
  await promise('a pod reaches the API server', async () => {
    const ask = 'ask http://kubernetes.default.svc.cluster.local:443/version 2>&1 || true';
    assert.match(await kubectl.exec('deployment/web', ask), /HTTP request to an HTTPS server/);
  });
}

async function proveVolume(kubectl: Kubectl): Promise<void> {
  const starts = async () => (await kubectl.exec('store-0', 'cat /data/starts')).trim().split('\n').length;
  await promise('a restricted stateful set writes to its claimed volume', async () => {
    await kubectl.rolledOut('statefulset/store');
    assert.equal(await starts(), 1);
  });
  await promise('the volume outlives its pod', async () => {
    await kubectl.run(['delete', 'pod', 'store-0']);
    await kubectl.rolledOut('statefulset/store');
    await until({ what: 'the second start', seconds: 30 }, () =>
      starts().then(
        (count) => count === 2,
        () => false,
      ),
    );
  });
  await promise('the folder goes with the claim', async () => {
    const folder = fileOf({ state: stateOf(name) }).volumes;
    assert.equal(readdirSync(folder).length, 1);
    await kubectl.run(['delete', 'statefulset/store', 'pvc/data-store-0']);
    await until({ what: 'the folder to go', seconds: 60 }, () => readdirSync(folder).length === 0);
  });
}

async function proveWayOut(kubectl: Kubectl): Promise<void> {
  const url = `http://${values.outside}/`;
  if (!(await answers(url))) {
    report(`${values.outside} does not answer this machine: the way out is not proved (--outside HOST)`);
    return;
  }
  await promise('a pod reaches the outside by name', async () => {
    assert.doesNotMatch(await kubectl.exec('deployment/web', `ask ${url} 2>&1 || true`), /dial|lookup|timeout/i);
  });
}

const answers = (url: string): Promise<boolean> =>
  fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(5000) }).then(
    () => true,
    () => false,
  );

async function proveEnd(layout: Layout, settings: string): Promise<void> {
  await promise('nothing of it is left after down', async () => {
    assert.notDeepEqual(await tracesOf(layout), []);
    await clusterDown({ name, report });
    assert.deepEqual(await tracesOf(layout), []);
    if (clustersWithState().length === 0) assert.equal(kernelSettings(), settings);
  });
}

async function main(): Promise<void> {
  await clusterDown({ name, report });
  const settings = kernelSettings();
  let cluster: Cluster | undefined;
  await promise('a cluster comes up', async () => (cluster = await clusterUp({ name, report })));
  const layout = readRecord(name)?.layout;
  if (cluster === undefined || layout === undefined) throw new Error('The proof is about the native cluster.');
  await proveLife(cluster);
  if (!values.keep) await proveEnd(layout, settings);
}

await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n${error.cause instanceof Error ? error.cause.message : ''}\n`);
  process.exitCode = 1;
});
