import { once } from 'node:events';
import { readFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { choose } from '../../dev/cluster/choose.ts';
import { removeCluster, ensureCluster, type Cluster } from '../../dev/cluster/cluster.ts';
import { getRegistriesFolder } from '../../dev/cluster/native/parts/registry.ts';
import { readRecord } from '../../dev/cluster/native/record.ts';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { buildImages, chooseEngine } from '../../dev/images/build.ts';
import { pushArchive } from '../../dev/images/push.ts';
import { applyBuildObjects } from '../../dev/run/builds.ts';
import { waitForControlPlane, type Api } from '../../dev/run/control-plane.ts';
import { readFolderFiles } from '../../dev/run/git-host.ts';
import { createAdminKey, buildLocalValues } from '../../dev/run/platform.ts';
import { step } from '../../dev/steps.ts';
import { addressToward } from '../kit/address.ts';
import { deployCounting, executions } from '../kit/counting-agent.ts';
import { deployFromGit, TELLER, told } from '../kit/git-deployment.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { commandOf, runInShell } from '../kit/page-commands.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';
import { until } from '../kit/until.ts';
import { nodeNetwork } from './closed-node.ts';
import { releaseFolder } from './release-folder.ts';

/*
 * The page on installing without a way out, as it stands: the folder of a release is mirrored into a registry, and a
 * cluster whose node reaches nothing but this registry installs from it, runs an agent and builds one.
 */

const PAGE = 'docs/how-to/air-gapped.md';
const NAME = process.env.GX_TEST_CLUSTER ?? 'gx-air-gapped';
const work = mkdtempSync(join(tmpdir(), 'gx-air-gapped-'));
const folder = join(work, 'release');

let cluster: Cluster;
let registry: TestRegistry;
/** A server of this machine that is not the registry. */
let outside: Server;
let api: Api;

/** Returns a block of the page with the registry of this test. */
const onPage = (words: string): string =>
  commandOf(PAGE, words).replaceAll('registry.internal', registry.host);

async function listen(address: string): Promise<string> {
  outside = createServer((_request, response) => response.end()).listen(0, address);
  await once(outside, 'listening');
  return `http://${address}:${(outside.address() as AddressInfo).port}`;
}

/** Has the node ask the registry by plain http. */
function trustRegistry(): void {
  const hosts = join(getRegistriesFolder(readRecord(NAME)!.layout), registry.host);
  mkdirSync(hosts, { recursive: true });
  writeFileSync(join(hosts, 'hosts.toml'), `server = "http://${registry.host}"\n`);
}

beforeAll(async () => {
  await (await choose()).require();
  await step('the folder of a release', () => releaseFolder(folder));
  cluster = await step('cluster', (report) =>
    ensureCluster({ name: NAME, extras: ['git'], report }),
  );
  registry = await startRegistry({
    isOpen: true,
    address: await addressToward(cluster.nodeAddress),
  });
  trustRegistry();
});
afterAll(async () => {
  outside?.close();
  await registry?.stop();
  if (process.env.GX_KEEP_CLUSTER === undefined)
    await step('cluster down', (report) => removeCluster({ name: NAME, report }));
  await rm(work, { recursive: true, force: true });
});

test('the node reaches the registry, and nothing else any more', async () => {
  const network = nodeNetwork(NAME);
  const urls = [
    await listen(await addressToward(cluster.nodeAddress)),
    `http://${registry.host}/v2/`,
  ];
  const reached = (): Promise<boolean[]> => Promise.all(urls.map(network.reaches));
  expect(await reached()).toEqual([true, true]);
  await network.close(registry.host);
  expect(await reached()).toEqual([false, true]);
});

test('the script of the release copies each image of its list into the registry', async () => {
  const { skopeo } = await ensureTools(['skopeo']);
  const [login = '', mirror = ''] = onPage('skopeo login').split('\n');
  expect(login).toBe(`skopeo login ${registry.host}`);
  const tools = { ...cluster, kubectl: skopeo };
  const { code, output } = await step('mirror', () =>
    runInShell(`${mirror} --dest-tls-verify=false`, tools, { cwd: folder }),
  );
  const listed = readFileSync(join(folder, 'images.txt'), 'utf8').trim().split('\n');
  expect([code, output.trim().split('\n')]).toEqual([
    0,
    listed.map(
      (reference) =>
        `${reference} -> ${registry.host}/gx-mirror/${reference.replace('registry.invalid/', '')}`,
    ),
  ]);
  expect(listed.length).toBeGreaterThanOrEqual(6);
});

test('the chart installs from there', async () => {
  const [host, port] = registry.host.split(':');
  const values = (await buildLocalValues(cluster, false)) as {
    builds: { network: { reached: object[] } };
  };
  const { pushSecret: _none, ...builds } = values.builds as Record<string, unknown> &
    typeof values.builds;
  const reached = {
    to: [{ ipBlock: { cidr: `${host}/32` } }],
    ports: [{ port: Number(port), protocol: 'TCP' }],
  };
  const own = {
    ...builds,
    registry: `${registry.host}/agents`,
    network: { reached: [...builds.network.reached, reached] },
  };
  writeFileSync(join(folder, 'local.json'), JSON.stringify({ ...values, builds: own }));
  const install = `${onPage('helm install gx')} --values local.json --wait --timeout 5m`;
  const { code, output } = await step('helm install', () =>
    runInShell(install, cluster, { cwd: folder }),
  );
  expect([code, output]).toEqual([0, expect.stringContaining('STATUS: deployed')]);
  await applyBuildObjects(cluster);
  const url = `http://${cluster.nodeAddress}:${cluster.controlPlanePort}`;
  await waitForControlPlane(url);
  api = { url, key: await createAdminKey(cluster, '.') };
});

test('an agent with a database and a key-value store runs', async () => {
  const [example] = await buildImages({
    engine: await chooseEngine(),
    only: ['gx-example-echo'],
    report: () => undefined,
  });
  await pushArchive(example!.archive, {
    url: `http://${registry.host}`,
    name: 'examples/echo',
    tag: 'own',
  });
  const at = { ...cluster, api, image: `${registry.host}/examples/echo:own` };
  const { client } = await step('an agent', () =>
    deployCounting(at, 'counting', { resources: { redis_memory_mb: 64 } }),
  );
  await client.runs.wait(null, 'counting', { input: { round: 'first', milliseconds: 1 } });
  expect(await executions(client)).toEqual({ first: ['first', 'second'] });
});

test('a repository without packages of its own is built on the mirrored image, and serves', async () => {
  const { 'graph.js': graph = '', ...files } = readFolderFiles(TELLER);
  const bare = { name: 'teller', private: true, type: 'module' };
  const lock = {
    name: 'teller',
    lockfileVersion: 3,
    requires: true,
    packages: { '': { name: 'teller' } },
  };
  const system = {
    ...cluster,
    controlPlane: api.url,
    key: api.key,
    image: '',
    pythonImage: undefined,
    cluster: cluster.kind,
  };
  const deployment = await deployFromGit(system, {
    name: 'built',
    files: {
      ...files,
      'graph.js': graph.replace("import ms from 'ms';\n", '').replace("ms('1m')", '60000'),
      'package.json': JSON.stringify(bare),
      'package-lock.json': JSON.stringify(lock),
    },
  });
  await until(
    'it is built and serves',
    async () => {
      const [revision] = await deployment.revisions();
      if (revision?.status === 'DEPLOYED') return true;
      throw new Error(JSON.stringify(revision));
    },
    300,
  );
  expect(await told(await deployment.client())).toBe('first 60000');
});

test('every container of the cluster runs an image of that registry', async () => {
  type Pods = {
    items: { spec: { containers: { image: string }[]; initContainers?: { image: string }[] } }[];
  };
  const { items } = await kubectlFor(cluster).json<Pods>('get', 'pods', '--all-namespaces');
  const images = new Set(
    items
      .flatMap(({ spec }) => [...spec.containers, ...(spec.initContainers ?? [])])
      .map(({ image }) => image),
  );
  expect([...images].filter((image) => !image.startsWith(`${registry.host}/`))).toEqual([]);
  expect(
    [...images].filter((image) => image.startsWith(`${registry.host}/gx-mirror/`)).length,
  ).toBeGreaterThanOrEqual(4);
});
