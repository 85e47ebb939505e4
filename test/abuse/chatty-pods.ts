import { setTimeout as wait } from 'node:timers/promises';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { buildManagedLabels } from '../../src/schema/platform/objects/labels.ts';
import { faultProxy, type FaultProxy } from '../kit/fault-proxy.ts';
import { attempt, openStreams } from './attacks.ts';

/*
 * Pods that write as many short lines as fit into one read of their log. No kubelet runs here, so a proxy before the
 * API server answers for them; everything else is the API server's own.
 */

const PODS = 20;
const MEBIBYTE = 1024 * 1024;
const READERS = 20;

/** Returns a log of one mebibyte whose lines are of this moment. */
function chattyLog(): string {
  const line = `${new Date().toISOString().replace('Z', '000000Z')} x\n`;
  return line.repeat(Math.floor(MEBIBYTE / line.length));
}

/** Returns a proxy to the API server behind which all pods are chatty. */
export async function chattyProxy(kubeconfig: string): Promise<FaultProxy> {
  const proxy = await faultProxy(kubeconfig);
  let [log, until] = ['', 0];
  proxy.rules = {
    request: ({ subresource }) => {
      if (subresource !== 'log') return 'pass';
      if (performance.now() > until) [log, until] = [chattyLog(), performance.now() + 1000];
      return { status: 200, body: log, headers: { 'content-type': 'text/plain' } };
    },
  };
  return proxy;
}

/** Makes the pods of a deployment. */
export async function deployChatty(
  kube: Kube,
  namespace: string,
  deployment: string,
): Promise<void> {
  for (let index = 0; index < PODS; index += 1) {
    const metadata = {
      name: `chatty-${index}`,
      namespace,
      labels: buildManagedLabels(deployment, 'api', `${deployment}-00001`),
    };
    const spec = { containers: [{ name: 'agent', image: 'registry.example/agent:1' }] };
    await kube.create(kinds.pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  }
}

/** Reads pages of the log side by side, again and again. Returns the statuses and their numbers. */
export async function readPages(
  url: string,
  headers: Record<string, string>,
  seconds: number,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const until = performance.now() + seconds * 1000;
  const reader = async (): Promise<void> => {
    while (performance.now() < until) {
      const { status } = await attempt(url, { method: 'GET', headers, body: '' });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      // A refused reader asks again soon, but not as fast as this machine can.
      if (status !== 200) await wait(50);
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return statuses;
}

/** Follows the log by as many streams as there are readers. Returns their statuses. */
export async function followLog(
  url: string,
  headers: Record<string, string>,
  seconds: number,
): Promise<number[]> {
  const { statuses, close } = await openStreams(
    Array.from({ length: READERS }, () => url),
    headers,
  );
  await wait(seconds * 1000);
  close();
  return statuses;
}
