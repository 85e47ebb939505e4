import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { parseArgs } from 'node:util';
import type { Client } from '@langchain/langgraph-sdk';
import { choose } from '../../dev/cluster/choose.ts';
import { removeCluster, ensureCluster } from '../../dev/cluster/cluster.ts';
import { call, type Api } from '../../dev/run/control-plane.ts';
import {
  FIRST_IMAGES,
  listCurrentImages,
  LATER_IMAGES,
  loadImages,
  startImages,
} from '../../dev/run/images.ts';
import { installPlatform } from '../../dev/run/platform.ts';
import { runMain, printAside } from '../../dev/steps.ts';
import type { BackupAnswer } from '../../src/schema/wire/backup-answer.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { deploy, NAMESPACE, putGraphs, startStore, TARGET, type Agent } from '../restore/stage.ts';
import { megabytes, quantile, seconds, Table } from './operator/table.ts';

const HELP = `Backups in real pods with a real S3 server: how long a dump, a restore and a clone take, and how runs fare
meanwhile. It prints one table, and ends with 1 if a goal is missed. The volumes need 12 times the size of the threads
(12 GB by default), which are free again afterwards. A small one: --threads 2000 --rest 15.

Usage: node test/bench/backup.ts [options]

  --threads COUNT     threads of the database (100,000)
  --kilobytes COUNT   bytes of each that do not compress (10)
  --rest SECONDS      runs are measured for so long before the backup (60)
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    threads: { type: 'string', default: '100000' },
    kilobytes: { type: 'string', default: '10' },
    rest: { type: 'string', default: '60' },
  },
});
const THREADS = Number(values.threads);
const REST = Number(values.rest) * 1000;
/** Pieces of 64 bytes that make up the bytes of a thread. */
const PIECES = Math.ceil((Number(values.kilobytes) * 1000) / 64);
const BATCH = 10_000;
/** Clients that start a run as soon as their last one is over: one, and as many as leave no processor time over. */
const CLIENTS = { one: 1, saturating: 4 };
const CLUSTER = 'gx-bench';
const NAME = 'large';
/** Seconds and ratios that the product is to keep. */
const GOALS = { dump: 180, back: 300, clone: 180, median: 1.25, tail: 2 };

type Bench = {
  api: Api;
  kubectl: Kubectl;
  table: Table;
  system: SystemUnderTest;
  encryptionKey: string;
};

async function measure(system: SystemUnderTest, table: Table): Promise<void> {
  const kubectl = kubectlFor(system);
  const encryptionKey = randomBytes(32).toString('base64');
  const bench: Bench = {
    api: { url: system.controlPlane, key: system.key },
    kubectl,
    table,
    system,
    encryptionKey,
  };
  const store = await startStore(system);
  try {
    await putGraphs(kubectl, NAME);
    const agent = await deploy(system, { name: NAME, graphs: NAME, encryptionKey });
    await kubectl(
      'patch',
      'gxd',
      NAME,
      '-n',
      NAMESPACE,
      '--type=merge',
      '-p',
      `{"spec":{"database":{"backup":{"target":"${TARGET}"}}}}`,
    );
    await fill(kubectl);
    table.row('threads', String(THREADS));
    table.row(
      'size of the database',
      megabytes(Number(await inDatabase(kubectl, 'select pg_database_size(current_database())'))),
    );
    await measureBackup(bench, agent);
    await measureRestore(bench, agent);
    await measureClone(bench, agent);
  } finally {
    await store.remove();
  }
}

/** Measures a backup beside the runs of one client, and another one beside as many runs as the machine can do. */
async function measureBackup(bench: Bench, agent: Agent): Promise<void> {
  const { api, kubectl, table } = bench;
  await latencies(agent.client, pause(REST / 4), CLIENTS.one);
  const [{ size_bytes, name, taken }, cores] = await Promise.all([
    backedUpBeside(bench, agent, 'one'),
    limitsOfJob(kubectl),
  ]);
  table.row('size of the dump', megabytes(size_bytes ?? 0));
  table.row('backup, from the request to its end', seconds(taken), {
    says: `${GOALS.dump} s`,
    met: taken <= GOALS.dump * 1000,
  });
  table.row('CPU that the containers of its Job may use', cores.join(', '), {
    says: 'limited',
    met: !cores.includes('any'),
  });
  // The first backup is verified at once, which would take its time from what follows.
  const verifying = performance.now();
  const path = `/v2/deployments/${agent.id}/backups/${name}`;
  await until(
    'the backup is verified',
    async () => (await call<BackupAnswer>(api, 'GET', path)).verified_at !== null,
    1800,
  );
  table.row('its verification', seconds(performance.now() - verifying));
  const later = await backedUpBeside(bench, agent, 'saturating');
  table.row('the same backup beside as many runs as the machine can do', seconds(later.taken));
}

/** Makes a backup beside runs. Returns it with the milliseconds that it took. */
async function backedUpBeside(
  { api, table }: Bench,
  agent: Agent,
  load: keyof typeof CLIENTS,
): Promise<BackupAnswer & { taken: number }> {
  const clients = CLIENTS[load];
  const before = await latencies(agent.client, pause(REST), clients);
  const began = performance.now();
  const backing = backedUp(api, agent);
  const ended = backing.then(() => performance.now());
  const meanwhile = await latencies(agent.client, backing, clients);
  for (const [what, share, most] of [
    ['median', 0.5, GOALS.median],
    ['99 of 100', 0.99, GOALS.tail],
  ] as const) {
    const [alone, during] = [quantile(before, share), quantile(meanwhile, share)];
    const ratio = during / alone;
    const shown = `${Math.round(alone)} and ${Math.round(during)} ms, ${ratio.toFixed(2)} times`;
    const goal = load === 'one' ? { says: `${most} times`, met: ratio <= most } : undefined;
    table.row(
      `runs before and during it, clients: ${clients}, ${what} of ${before.length} and ${meanwhile.length}`,
      shown,
      goal,
    );
  }
  return { ...(await backing), taken: (await ended) - began };
}

/** Measures until an agent answers with the data of a backup again, in the place of data that is lost. */
async function measureRestore({ api, table }: Bench, agent: Agent): Promise<void> {
  const back = await restored(api, agent);
  table.row('restore into it, from the request to an answer', seconds(back * 1000), {
    says: `${GOALS.back} s`,
    met: back <= GOALS.back,
  });
}

/** Measures until a clone of the deployment answers with a copy of its data as it is now. */
async function measureClone({ system, table, encryptionKey }: Bench, { id }: Agent): Promise<void> {
  const began = performance.now();
  const name = `${NAME}-clone`;
  const clone = await deploy(system, {
    name,
    graphs: NAME,
    encryptionKey,
    database: { clone_of: id },
  });
  await until(
    'it answers with the data',
    async () => (await clone.client.threads.search({ limit: 1 })).length === 1,
  );
  const taken = (performance.now() - began) / 1000;
  table.row('a clone, from the request to an answer', seconds(taken * 1000), {
    says: `${GOALS.clone} s`,
    met: taken <= GOALS.clone,
  });
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((done) => setTimeout(done, milliseconds));

type JobPod = { spec: { containers: { resources: { limits?: { cpu?: string } } }[] } };

/** Returns how much CPU each container of the Job may use, once its pod is there. */
async function limitsOfJob(kubectl: Kubectl): Promise<string[]> {
  const labels = `gx.dev/deployment=${NAME},gx.dev/component=backup`;
  const find = async (): Promise<JobPod | undefined> =>
    (await kubectl.json<{ items: JobPod[] }>('get', 'pods', '-n', NAMESPACE, '-l', labels))
      .items[0];
  const { spec } = await until('the Job has a pod', find);
  return spec.containers.map(({ resources: { limits } }) => limits?.cpu ?? 'any');
}

/** Runs SQL in the pod of the database. */
const inDatabase = async (kubectl: Kubectl, sql: string): Promise<string> => {
  const psql = ['psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-U', 'postgres', '-c', sql, 'gx'];
  return (
    await kubectl('exec', `${NAME}-db-0`, '-n', NAMESPACE, '-c', 'postgres', '--', ...psql)
  ).trim();
};

/** Writes threads with a channel each, whose bytes do not compress. */
async function fill(kubectl: Kubectl): Promise<void> {
  for (let done = 0; done < THREADS; done += BATCH) {
    const count = Math.min(BATCH, THREADS - done);
    await inDatabase(
      kubectl,
      `with made as (insert into gx.thread (thread_id) select gen_random_uuid() from generate_series(1, ${count}) returning thread_id)
       insert into gx.checkpoint_blobs (thread_id, channel, version, type, blob)
       select thread_id::text, 'messages', '1', 'bytes', (select string_agg(sha512(convert_to(thread_id || ':' || n, 'utf8')), '')
         from generate_series(1, ${PIECES}) n) from made`,
    );
  }
  await inDatabase(kubectl, 'vacuum analyze');
  await inDatabase(kubectl, 'checkpoint');
}

/** Runs graphs until something is over. Returns the milliseconds that each run took. */
async function latencies(
  client: Client,
  over: Promise<unknown>,
  clients: number,
): Promise<number[]> {
  const taken: number[] = [];
  const ending = new AbortController();
  const ends = over.finally(() => ending.abort());
  const work = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const began = performance.now();
      await client.runs.wait(null, 'stepping', { input: { round: 'bench', milliseconds: 1 } });
      taken.push(performance.now() - began);
    }
  };
  await Promise.all([ends, ...Array.from({ length: clients }, work)]);
  return taken;
}

/** Asks for a backup, and waits for its end. */
async function backedUp(api: Api, { id }: Agent): Promise<BackupAnswer> {
  const path = `/v2/deployments/${id}/backups`;
  const listed = async (): Promise<BackupAnswer[]> =>
    (await call<{ resources: BackupAnswer[] }>(api, 'GET', path)).resources;
  const former = new Set((await listed()).map(({ name }) => name));
  await call(api, 'POST', path);
  const ended = await until(
    'the backup is over',
    async () =>
      (await listed()).find(({ name, status }) => !former.has(name) && status !== 'Running'),
    1800,
  );
  if (ended.status === 'Succeeded') return ended;
  throw new Error(`The backup failed: ${ended.message}`);
}

/** Replaces the data by the backup. Returns the seconds until an agent answers with it. */
async function restored(api: Api, { id, url, client }: Agent): Promise<number> {
  const path = `/v2/deployments/${id}`;
  const [backup] = (await call<{ resources: BackupAnswer[] }>(api, 'GET', `${path}/backups`))
    .resources;
  const began = performance.now();
  await call(api, 'POST', `${path}/restore`, { backup: backup?.name, without_backup: true });
  type Shown = { restore: { status: string; message: string } | null };
  await until(
    'the restore is over',
    async () => {
      const { restore } = await call<Shown>(api, 'GET', path);
      if (restore?.status === 'False') throw new Error(restore.message);
      return restore?.status === 'True' && (await fetch(`${url}/ok`)).ok;
    },
    1800,
  );
  await until(
    'it answers with the data',
    async () => (await client.threads.search({ limit: 1 })).length === 1,
  );
  return (performance.now() - began) / 1000;
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  await (await choose()).require();
  const building = startImages([...FIRST_IMAGES, ...LATER_IMAGES]);
  const report = printAside;
  const cluster = await ensureCluster({ name: CLUSTER, extras: ['registry', 'git'], report });
  const table = new Table();
  try {
    await loadImages(cluster, await building, report);
    const images = await listCurrentImages(cluster, []);
    const { url, key } = await installPlatform({ cluster, images, report });
    const { kubeconfig, kubectl, kind } = cluster;
    const system = { name: CLUSTER, controlPlane: url, key, kubeconfig, kubectl, cluster: kind };
    await measure({ ...system, image: images.example, pythonImage: undefined }, table);
  } finally {
    process.stdout.write(table.toString());
    await removeCluster({ name: CLUSTER, report });
  }
  if (table.missed > 0) process.exitCode = 1;
}

await runMain(main);
