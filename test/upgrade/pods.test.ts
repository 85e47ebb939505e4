import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, expect, inject, test } from 'vitest';
import { ensurePathTool } from '../../dev/cluster/path-tools.ts';
import { runProcess } from '../../dev/commands.ts';
import { call, waitForDeployment } from '../../dev/run/control-plane.ts';
import { printLine, step } from '../../dev/steps.ts';
import { deployCounting, marks, type CountingAgent } from '../kit/counting-agent.ts';
import { told, type GitDeployment } from '../kit/git-deployment.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { prober } from '../kit/prober.ts';
import { until } from '../kit/until.ts';
import { buildPods, deployBuilt, startBuild } from './build.ts';
import { keptPods, lookedAt, platformRuns } from './kept.ts';
import { load, streamed, type Load } from './load.ts';
import { commandOf, runInShell } from '../kit/page-commands.ts';

/*
 * The platform of the first release is upgraded to today's in real pods, by the commands of the page, and goes back by
 * `helm rollback`. Meanwhile agents of both server versions are asked without a break, a cron fires, a stream is open,
 * a deployment sleeps, and a push is built.
 */

const { system, source, first, today, values } = inject('upgrade');
const PAGE = 'docs/how-to/upgrade.md';
const api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
/** The agents that serve all the time, the one that sleeps, and the one that is built from git. */
const [OLD, NEW, SLEEPER, BUILT] = ['old', 'new', 'sleeper', 'built'];
const SERVING = [OLD, NEW];
/** Milliseconds of load on each state of the platform, beside the time of the change. */
const LOADED = 15_000;

let agents: CountingAgent[];
let sleeper: CountingAgent;
let loads: Load[];
let asked: ReturnType<typeof prober>;
let kept: string[];
let cron: { id: string; from: number };
let open: Promise<void>;
let built: GitDeployment;
let heard: Set<string>;
let listened: ReturnType<typeof prober>;
/** The builds that the upgrade and the way back met at work. */
let builds: Awaited<ReturnType<typeof startBuild>>[];

const podsOfSleeper = (): Promise<string> =>
  kubectl(
    'get',
    'pods',
    '-n',
    'gx-agents',
    '-l',
    `gx.dev/deployment=${SLEEPER},gx.dev/component in (api,queue)`,
    '-o',
    'name',
  );
const sleeps = (): Promise<unknown> =>
  until('it sleeps', async () => (await podsOfSleeper()).trim() === '', 240);

async function wakes(round: string): Promise<true> {
  const state = (await sleeper.client.runs.wait(null, 'counting', {
    input: { round, milliseconds: 1 },
  })) as { round?: string };
  expect(state.round).toBe(round);
  return true;
}

const minuteOf = (time: number): number => Math.floor(time / 60_000);

/** Waits until the tick of this minute is long over, and returns the minute. */
async function betweenTicks(): Promise<number> {
  await until('no tick is due', () => Date.now() % 60_000 > 20_000 && Date.now() % 60_000 < 55_000);
  return minuteOf(Date.now());
}

/** Waits for the build that a change of the platform met. Returns how it ended, and whether one pod made it. */
async function endOfBuild(word: string): Promise<object> {
  const { commit, uid } = builds.at(-1)!;
  const { status, reason } = await step(`the build of "${word}"`, () => built.ended(commit));
  const pods = (await buildPods(kubectl, BUILT)).map((pod) => pod.uid);
  await until('its agent answers', () => heard.has(`${word} 60000`));
  return { status, reason, madeByOnePod: pods.includes(uid) && pods.length === builds.length + 1 };
}

const BUILD_SERVES = { status: 'DEPLOYED', reason: null, madeByOnePod: true };

beforeAll(async () => {
  const cluster = { ...system, api };
  await step('agents of both server versions, and one that sleeps', async (report) => {
    const old = await deployCounting(cluster, OLD, { resources: { redis_memory_mb: 64 } });
    report(OLD);
    const made = await deployCounting({ ...cluster, image: today.example }, NEW, {});
    report(NEW);
    agents = [old, made];
    sleeper = await deployCounting(cluster, SLEEPER, { resources: { min_scale: 0 } });
    await kubectl(
      'patch',
      'gxd',
      SLEEPER,
      '-n',
      'gx-agents',
      '--type=merge',
      '-p',
      '{"spec":{"sleep":{"afterSeconds":5}}}',
    );
    await sleeps();
    report(`${SLEEPER} sleeps`);
    built = await deployBuilt(system, BUILT);
    report(BUILT);
  });
  const from = await betweenTicks();
  const made = await agents[0]!.client.crons.create('counting', {
    schedule: '* * * * *',
    input: { round: 'cron', milliseconds: 1 },
  });
  cron = { id: made.cron_id, from };
  loads = agents.map(load);
  asked = prober(async () => {
    const { resources } = await call<{ resources: { status: string }[] }>(
      api,
      'GET',
      '/v2/deployments?limit=10',
    );
    if (resources.length !== 4) throw new Error(JSON.stringify(resources));
  }, 200);
  const teller = await built.client();
  heard = new Set();
  listened = prober(async () => void heard.add(await told(teller)), 200);
  builds = [];
  await step('load on the platform of the first release', () => wait(LOADED));
  kept = await keptPods(kubectl, SERVING);
});

test("today's chart and images take over under load: no pod but the platform's own stops or restarts", async () => {
  expect(kept.filter((line) => / 0\b/.test(line)).length).toBeGreaterThanOrEqual(7);
  builds.push(await step('a build', () => startBuild(kubectl, built, 'upgraded')));
  open = streamed(agents[0]!.client, 'open', 40_000);
  open.catch(() => undefined);
  writeFileSync(join(source, 'images.json'), JSON.stringify(values));
  const upgrade = `${commandOf(PAGE, 'helm upgrade gx ')} --values ${join(source, 'images.json')} --wait --timeout 5m`;
  // A gateway that goes answers the requests that it holds with 503 and Retry-After, so its clients ask again.
  const woken = wait(2000).then(() => until('it wakes', () => wakes('upgraded'), 120));
  woken.catch(() => undefined);
  const { code, output } = await step('helm upgrade', () =>
    runInShell(upgrade, system, { cwd: process.cwd() }),
  );
  expect([code, output]).toEqual([0, expect.stringContaining('has been upgraded')]);
  await step("today's processes look at all deployments", async () => {
    await platformRuns(kubectl, today.platform);
    await woken;
    await lookedAt(kubectl, SERVING);
  });
  expect(await buildPods(kubectl, BUILT)).toContainEqual({
    uid: builds.at(-1)?.uid,
    isAtWork: true,
  });
  await step('load on the platform of today', () => wait(LOADED));
  expect(await keptPods(kubectl, SERVING)).toEqual(kept);
  await open;
});

test('the build that the upgrade met goes on in its pod, and serves', async () => {
  expect(await endOfBuild('upgraded')).toEqual(BUILD_SERVES);
});

test("a revision of today's platform serves, under the same load", async () => {
  const [old] = agents as [CountingAgent];
  const patched = await call<Parameters<typeof waitForDeployment>[1]>(
    api,
    'PATCH',
    `/v2/deployments/${old.id}`,
    {
      secrets: [{ name: 'COLOUR', value: 'green' }],
    },
  );
  await step('another revision', (report) => waitForDeployment(api, patched, report));
  await until('the pods before it are gone', async () => {
    const pods = await keptPods(kubectl, SERVING);
    return pods.every((line) => !line.startsWith(`${OLD}-00001`) && !line.endsWith(' goes'));
  });
  kept = await keptPods(kubectl, SERVING);
  expect(kept.filter((line) => line.startsWith(`${OLD}-00002`)).length).toBeGreaterThanOrEqual(2);
});

test("the page's check names what the definitions of the first release would drop, and changes nothing", async () => {
  const helm = await ensurePathTool('helm', () => undefined);
  const rendered = await runProcess(helm, [
    'template',
    'gx',
    join(source, 'charts/gx-platform'),
    '--namespace',
    'gx-system',
  ]);
  writeFileSync(join(source, 'install.yaml'), rendered);
  const { code, output } = await runInShell(commandOf(PAGE, 'kubectl -n gx-system exec'), system, {
    cwd: source,
  });
  printLine(output);
  expect([0, 1]).toContain(code);
  expect(output).toMatch(code === 0 ? /have each field that is stored/ : /Nothing is changed\./);
});

test('helm rollback brings the first release back under load, and what serves goes on', async () => {
  await sleeps();
  builds.push(await step('a build', () => startBuild(kubectl, built, 'back')));
  const { code, output } = await step('helm rollback', () =>
    runInShell(commandOf(PAGE, 'helm rollback'), system, { cwd: process.cwd() }),
  );
  expect([code, output]).toEqual([0, expect.stringContaining('Rollback was a success')]);
  await step('the processes of the first release look at all deployments', async () => {
    await platformRuns(kubectl, first.platform);
    await lookedAt(kubectl, SERVING);
  });
  expect(await buildPods(kubectl, BUILT)).toContainEqual({
    uid: builds.at(-1)?.uid,
    isAtWork: true,
  });
  await step('load on the platform that is back', () => wait(LOADED));
  // The first release restarts a key-value store whose image is not its own.
  const withoutStore = (pods: string[]): string[] =>
    pods.filter((line) => !line.startsWith(`${OLD}-store-0`));
  expect(withoutStore(await keptPods(kubectl, SERVING))).toEqual(withoutStore(kept));
  await wakes('back');
});

test('the build that the way back met goes on in its pod, and serves', async () => {
  expect(await endOfBuild('back')).toEqual(BUILD_SERVES);
});

test('no request failed, no run is lost, and each step of each run was executed once', async () => {
  const [{ client }] = agents as [CountingAgent];
  const ticks = (await betweenTicks()) - cron.from;
  await client.crons.delete(cron.id);
  const [rest, teller, ...ended] = await Promise.all([
    asked.stop(),
    listened.stop(),
    ...loads.map((each) => each.stop()),
  ]);
  expect([
    ...rest.failures,
    ...teller.failures,
    ...ended.flatMap(({ failures }) => failures),
  ]).toEqual([]);
  expect(ended.flatMap(({ notOnce }) => notOnce)).toEqual([]);
  const fired = (await marks(client)).filter(
    ({ round, node }) => round === 'cron' && node === 'second',
  );
  expect(fired).toHaveLength(ticks);
  for (const { counts } of ended) expect(Math.min(...Object.values(counts))).toBeGreaterThan(5);
  printLine(
    `${rest.rounds} requests to the control plane, ${ticks} ticks of a cron, ${ended.map(({ counts }) => JSON.stringify(counts)).join(' and ')}`,
  );
});
