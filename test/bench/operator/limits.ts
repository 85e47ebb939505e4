import { randomUUID } from 'node:crypto';
import { kinds, type Kind, type Kube } from '../../../src/kube/kube.ts';
import { tracingProject } from '../../../src/operator/deployment/tracing-project.ts';
import { withHash } from '../../../src/operator/kernel/owned.ts';
import { cpuBetween, cpuSoFar } from './cpu.ts';
import { familyOf, kindOf, settings } from './family.ts';

/* What the API server can do for a client that does nothing else, over as many connections as the operator's calls have. */

/** Of these, what serves so many deployments fastest is how the client writes. */
const AT_ONCE = [4, 8, 16];
const TRIED = 70;
/** As long as a credential. */
const SECRET = 'x'.repeat(400);

/** `milliseconds`: of CPU for one write, by API server, database and client together. */
export type Limit = { perSecond: number; milliseconds: number };

/**
 * Writes of the objects that so many deployments are made of: four creates and six server-side applies each. As many as the operator makes,
 * because what a server does for a second it need not do for as long as that: its memory grows, and its database with it.
 */
export async function writeLimit(kube: Kube, count: number): Promise<Limit> {
  const tried: { atOnce: number; perSecond: number }[] = [];
  for (const atOnce of AT_ONCE) tried.push({ atOnce, ...(await writes(kube, TRIED, atOnce)) });
  const [best] = tried.toSorted((a, b) => b.perSecond - a.perSecond);
  return writes(kube, count, best?.atOnce ?? 1);
}

export const mean = (limits: Limit[]): Limit => ({
  perSecond: limits.reduce((sum, { perSecond }) => sum + perSecond, 0) / limits.length,
  milliseconds: limits.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / limits.length,
});

async function writes(kube: Kube, count: number, atOnce: number): Promise<Limit> {
  const families = Array.from({ length: count }, () => childrenOf(`limit-${randomUUID().slice(0, 8)}`));
  const [before, started] = [cpuSoFar(), performance.now()];
  let done = 0;
  const work = async (): Promise<void> => {
    for (let next = families.pop(); next !== undefined; next = families.pop()) {
      await kube.create(kinds.tracingProject, next.project);
      for (const secret of next.secrets) await kube.create(kinds.secret, secret);
      for (const child of next.applied) await kube.apply(kindOf(child), child);
      done += 1 + next.secrets.length + next.applied.length;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const took = performance.now() - started;
  const cpu = cpuBetween(before, cpuSoFar()).reduce((sum, [, seconds]) => sum + seconds, 0);
  return { perSecond: (done * 1000) / took, milliseconds: (cpu * 1000) / done };
}

function childrenOf(name: string) {
  const { deployment, children } = familyOf(name, 'default');
  return {
    project: tracingProject(deployment, settings.defaultTenantId),
    secrets: ['admin', 'agents', 'tls'].map((whose) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-${whose}`, namespace: 'default' },
      immutable: true,
      stringData: { uri: SECRET },
    })),
    applied: children.map(withHash),
  };
}

/** Milliseconds to list and decode all objects of a kind. */
export async function listTime(kube: Kube, kind: Kind): Promise<{ milliseconds: number; count: number }> {
  const started = performance.now();
  const found = await kube.all(kind);
  return { milliseconds: performance.now() - started, count: found.length };
}
