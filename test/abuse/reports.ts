import { loadavg } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { hashGatewayKey } from '../../src/schema/wire/agent-key.ts';
import { buildWorkPath, type WorkReport } from '../../src/schema/wire/work-report.ts';
import { freePort } from '../kit/agent-server.ts';
import { startApiServer } from '../kit/api-server.ts';
import { imageEnvironment } from '../kit/image-environment.ts';
import { newDeployment } from '../kit/objects.ts';
import { attempt } from './attacks.ts';
import { HostileProcess, largestReport } from './hostile-reports.ts';
import type { Verdicts } from './report.ts';
import { tell } from './tell.ts';
import { startWatched, type WatchedServer } from './watched-server.ts';

const MEBIBYTE = 1024 * 1024;
/** Megabytes of heap that Node takes as the chart limits it: 35 % of the memory of the gateway, else half of it. */
const HEAP = { gateway: 112, follower: 320 };
/** Mebibytes: 80 % of the limits that the chart gives. */
const MEMORY = { gateway: 256, follower: 512 };
/** Milliseconds: the longest block of the event loop, and the looks of which 99 in 100 take less. */
const BLOCK = 250;
const LOOK = 1000;
/** Seconds within which the other tenant's work must be known. */
const SOON = 5;
const KEYS = { attacker: 'gxa_the-key-of-the-attacker', neighbour: 'gxa_the-key-of-the-neighbour' };
const DEPLOYMENTS = 10;
const PROCESSES = 2000;
/** Seconds of the flood of large reports, and of random ones unless the target says otherwise. */
const SECONDS = 60;

type Stage = { gateway: WatchedServer; follower: WatchedServer; close: () => Promise<void> };
type Told = { looks: [clock: number, cpu: number][]; unread: number; due: number | null };

/** Returns the environment of the image, with a heap of so many megabytes. */
function environmentWith(megabytes: number): Record<string, string> {
  const { NODE_OPTIONS = '', ...others } = imageEnvironment('gx-platform');
  return { ...others, NODE_OPTIONS: `${NODE_OPTIONS} --max-old-space-size=${megabytes}`.trim() };
}

/** Makes a deployment of which a revision is tried out. */
async function deployTried(kube: Kube, namespace: keyof typeof KEYS, name: string): Promise<void> {
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' } };
  const rollout = {
    checks: [{ figure: 'errors' as const, worseBy: 5 }],
    steps: [{ share: 10, pause: true }],
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, template, spec: { rollout } }),
  );
  const [current, candidate] = ['sleeper-00001', 'sleeper-00002'];
  const status = {
    keyHashes: [hashGatewayKey(KEYS[namespace])],
    rollout: {
      madeAt: '2026-01-05T00:00:00Z',
      current,
      living: [current, candidate],
      draining: [],
      candidate: {
        revision: candidate,
        share: 10,
        by: 'thread',
        step: 1,
        since: '2026-01-05T00:00:00Z',
      },
    },
  };
  await kube.patchStatus(kinds.deployment, { namespace, name }, status);
}

async function stageOn(kube: Kube, kubeconfig: string): Promise<Stage> {
  for (const name of Object.keys(KEYS))
    await kube.create(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const names = Array.from({ length: DEPLOYMENTS }, (_, index) => `sleeper-${index}`);
  for (const name of names) await deployTried(kube, 'attacker', name);
  await deployTried(kube, 'neighbour', 'chat');
  const reportsPort = await freePort();
  const gateway = await startWatched(['gateway'], {
    ...environmentWith(HEAP.gateway),
    KUBECONFIG: kubeconfig,
    GX_NAMESPACE: 'default',
    GX_HEALTH_PORT: '0',
    GX_REPORTS_PORT: String(reportsPort),
    GX_CLUSTER_DOMAIN: 'localhost',
    GX_CONTROL_PLANE_URL: 'http://127.0.0.1:1',
  });
  const of = names.map((name) => `attacker/${name}`);
  const follower = await startWatched(
    [`http://127.0.0.1:${reportsPort}`, ...of],
    environmentWith(HEAP.follower),
    {
      program: 'test/abuse/follower-process.ts',
    },
  );
  return {
    gateway,
    follower,
    close: async () => {
      await Promise.all([gateway.stop(), follower.stop()]);
    },
  };
}

/** Sends a report. Returns its status. */
async function send(
  { gateway }: Stage,
  namespace: keyof typeof KEYS,
  name: string,
  report: WorkReport,
): Promise<number> {
  const headers = { 'x-api-key': KEYS[namespace], 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(report) };
  return (await attempt(gateway.url + buildWorkPath(namespace, name), sent)).status;
}

/** Sends reports of one tenant while another one's queue grows, and judges the costs. */
async function flood(
  stage: Stage,
  verdicts: Verdicts,
  {
    name,
    seconds,
    next,
  }: {
    name: string;
    seconds: number;
    next: (index: number) => { deployment: string; report: WorkReport };
  },
): Promise<void> {
  tell(`${name}, for ${seconds} s`);
  const { gateway, follower } = stage;
  const ask = async (): Promise<Told> =>
    (await (await fetch(`${follower.url}/neighbour/chat`)).json()) as Told;
  const until = performance.now() + seconds * 1000;
  const statuses = new Map<number, number>();
  let index = 0;
  const attacker = async (): Promise<void> => {
    while (performance.now() < until) {
      const { deployment, report } = next((index += 1));
      const status = await send(stage, 'attacker', deployment, report);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      // One that is refused comes back soon, but not as fast as this machine can.
      if (status === 429) await wait(20);
    }
  };
  const looks: [clock: number, cpu: number][] = [];
  let [slowest, unread] = [0, 0];
  const memory = { gateway: 0, follower: 0 };
  const neighbour = async (): Promise<void> => {
    for (let due = 100; performance.now() < until; due += 10) {
      const began = performance.now();
      const queue = { due, running: 0, webhooks: 0, next_due: null };
      await send(stage, 'neighbour', 'chat', { from: 'api', slots: 0, idle_seconds: 0, queue });
      for (;;) {
        const told = await ask();
        looks.push(...told.looks);
        unread = told.unread;
        memory.gateway = Math.max(memory.gateway, gateway.memory());
        memory.follower = Math.max(memory.follower, follower.memory());
        if (told.due === due || performance.now() - began > 60_000) break;
        await wait(100);
      }
      slowest = Math.max(slowest, performance.now() - began);
      await wait(1000);
    }
  };
  await Promise.all([gateway.reset(), follower.reset()]);
  await Promise.all([neighbour(), ...Array.from({ length: 40 }, attacker)]);
  const p99Of = (values: number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
  const [p99, cpu] = [p99Of(looks.map(([clock]) => clock)), p99Of(looks.map(([, used]) => used))];
  const [{ block }, { block: blockOfGateway }] = [await follower.cost(), await gateway.cost()];
  verdicts.check(
    `${name}: reports`,
    [...statuses].map(([status, count]) => `${count} x ${status}`).join(', '),
    statuses.has(200),
  );
  for (const [process, most] of Object.entries(memory) as [keyof typeof MEMORY, number][]) {
    const figure = `${(most / MEBIBYTE).toFixed(0)} MiB of ${MEMORY[process]}`;
    verdicts.check(`${name}: memory of ${process}`, figure, most < MEMORY[process] * MEBIBYTE);
  }
  verdicts.check(
    `${name}: longest block of the operator`,
    `${block.toFixed(0)} ms of ${BLOCK}`,
    block < BLOCK,
  );
  verdicts.check(
    `${name}: longest block of the gateway`,
    `${blockOfGateway.toFixed(0)} ms of ${BLOCK}`,
    blockOfGateway < BLOCK,
  );
  const seen = `p99 ${p99.toFixed(0)} ms of ${LOOK}, of processor time ${cpu.toFixed(0)} ms, in ${looks.length} looks, ${unread} pages not read; load ${loadavg()[0]?.toFixed(1)}`;
  verdicts.check(`${name}: looks`, seen, p99 < LOOK && looks.length > 0);
  const slow = `${(slowest / 1000).toFixed(1)} s of ${SOON} until the other tenant's work is known`;
  verdicts.check(`${name}: the other tenant`, slow, slowest < SOON * 1000);
  verdicts.check(`${name}: restarts`, 'none', gateway.isAlive() && follower.isAlive());
}

/** Attacks the gateway and the reader of its reports with those of made-up processes, beside another tenant. */
export async function attackByReports(verdicts: Verdicts, seconds = SECONDS): Promise<void> {
  const api = await startApiServer({ controllers: false });
  try {
    const kube = await connect({
      fieldManager: 'abuse',
      userAgent: 'abuse',
      kubeconfig: api.kubeconfig,
    });
    const stage = await stageOn(kube, api.kubeconfig);
    await flood(stage, verdicts, {
      name: `${PROCESSES} processes of a deployment with the largest reports`,
      seconds: Math.min(seconds, SECONDS),
      next: (index) => ({
        deployment: 'sleeper-0',
        report: largestReport(`p${index % PROCESSES}`),
      }),
    });
    await flood(stage, verdicts, {
      name: `the same of ${DEPLOYMENTS} deployments`,
      seconds: Math.min(seconds, SECONDS),
      next: (index) => ({
        deployment: `sleeper-${index % DEPLOYMENTS}`,
        report: largestReport(`p${index % PROCESSES}`),
      }),
    });
    const made = new Map<string, HostileProcess>();
    await flood(stage, verdicts, {
      name: 'random reports',
      seconds,
      next: (index) => {
        const [deployment, from] = [`sleeper-${index % DEPLOYMENTS}`, `r${index % 500}`];
        const process = made.get(`${deployment} ${from}`) ?? new HostileProcess(from);
        made.set(`${deployment} ${from}`, process);
        return { deployment, report: process.report() };
      },
    });
    await stage.close();
    await kube.close();
  } finally {
    await api.stop();
  }
}
