import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Api } from '../../dev/run/control-plane.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { cureBy, type CurePage } from './cure.ts';
import { RUNBOOKS, type Alert, type Watcher } from './watcher.ts';

/** Milliseconds between two looks. */
const LOOK = 500;

/** The cluster on which faults are planted, and what watches it. */
export type Scene = { system: SystemUnderTest; api: Api; kubectl: Kubectl; watcher: Watcher };

/** A fault that is there now. */
export type Planted = {
  /** The labels of the alert about it, and of no other. */
  labels?: Record<string, string>;
  /** Returns whether the condition of a deployment is about this fault. */
  isSeen?: () => Promise<boolean>;
  /** The variables that the page asks its reader to set. */
  variables: Record<string, string>;
  /** Returns whether everything works again. It gets what the commands of the page printed. */
  isCured: (printed: string) => Promise<boolean>;
  /** Removes the deployment and all the rest that belongs to the fault. */
  remove: () => Promise<unknown>;
};

/** One fault of the exercise. */
export type Fault = {
  name: string;
  plant: (scene: Scene) => Promise<Planted>;
  /** The alert about it, and the seconds within which that fires. */
  found: { alert: string; seconds: number };
  page: CurePage;
  /** The seconds within which the page cures it. `alertLasts` if its alert looks back at a quarter of an hour. */
  cured: { seconds: number; alertLasts?: boolean };
};

export const sceneOf = (system: SystemUnderTest, watcher: Watcher): Scene => ({
  system,
  api: { url: system.controlPlane, key: system.key },
  kubectl: kubectlFor(system),
  watcher,
});

const secondsSince = (started: number): number => (performance.now() - started) / 1000;

/** Plants a fault, finds it and cures it. */
export const exercise = async (fault: Fault, scene: Scene): Promise<void> =>
  findAndCure(fault, await fault.plant(scene), scene);

/** Waits until the alert about a fault fires, follows the page that the alert names, and waits until all is well. */
export async function findAndCure(fault: Fault, planted: Planted, scene: Scene): Promise<void> {
  const { name, page } = fault;
  try {
    const plantedAt = performance.now();
    const alert = await found(fault, planted, scene);
    const foundAfter = secondsSince(plantedAt);
    expect(alert.annotations['runbook_url']).toBe(`${RUNBOOKS}/${page.file}`);
    const startedAt = performance.now();
    await cured(fault, planted, scene);
    const curedAfter = secondsSince(startedAt);
    const words = `found by ${fault.found.alert} after ${foundAfter.toFixed(0)} s, cured by ${page.file} after ${curedAfter.toFixed(0)} s`;
    process.stdout.write(`${name}: ${words}\n`);
  } finally {
    await planted.remove();
  }
}

const found = (fault: Fault, planted: Planted, scene: Scene): Promise<Alert> =>
  until(
    `${fault.found.alert} fires`,
    async () => {
      await wait(LOOK);
      const [one] = await scene.watcher.firing(fault.found.alert, planted.labels);
      if (one !== undefined && (await (planted.isSeen?.() ?? true))) return one;
      throw new Error(await situation(planted, scene));
    },
    fault.found.seconds,
  );

async function cured(fault: Fault, planted: Planted, scene: Scene): Promise<void> {
  const { labels, variables, isCured } = planted;
  const printed = await cureBy(fault.page, variables, scene.system);
  const { seconds, alertLasts = false } = fault.cured;
  const isOver = async (): Promise<boolean> =>
    alertLasts || (await scene.watcher.firing(fault.found.alert, labels)).length === 0;
  await until(
    `${fault.name} is cured`,
    async () => {
      await wait(LOOK);
      if ((await isOver()) && (await isCured(printed))) return true;
      throw new Error(await situation(planted, scene));
    },
    seconds,
  );
}

/** Describes what there is instead, for the failure of a test. */
async function situation({ labels }: Planted, { kubectl, watcher }: Scene): Promise<string> {
  const alerts = (await watcher.firing()).map(
    (alert) => `${alert.labels['alertname']} ${alert.labels['deployment'] ?? ''}`,
  );
  const { namespace, deployment } = labels ?? {};
  if (namespace === undefined || deployment === undefined) return alerts.join(', ');
  const status = await kubectl(
    'get',
    'gxd',
    deployment,
    '-n',
    namespace,
    '--ignore-not-found',
    '-o',
    'jsonpath={.status.conditions}',
  );
  return `${alerts.join(', ')}; ${status}`;
}
