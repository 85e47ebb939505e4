import { randomUUID } from 'node:crypto';
import { kinds, type Kind, type Kube } from '../../../src/kube/kube.ts';
import { tracingProject } from '../../../src/operator/deployment/tracing-project.ts';
import { withHash } from '../../../src/operator/kernel/owned.ts';
import { cpuBetween, cpuSoFar } from './cpu.ts';
import { familyOf, kindOf, settings } from './family.ts';

/* What the API server can do for a client that does nothing else, over as many connections as the operator's calls have. */

const DEPLOYMENTS = 70;
/** The best of these is the limit. */
const AT_ONCE = [4, 8, 16];
/** As long as a credential. */
const SECRET = 'x'.repeat(400);

/** `milliseconds`: of CPU for one write, by API server, database and client together. */
export type Limit = { perSecond: number; milliseconds: number };

/** Writes of the objects that a deployment is made of: four creates and six server-side applies each. */
export async function writeLimit(kube: Kube): Promise<Limit> {
  const limits: Limit[] = [];
  for (const atOnce of AT_ONCE) limits.push(await writesAtOnce(kube, atOnce));
  return limits.toSorted((a, b) => b.perSecond - a.perSecond)[0] as Limit;
}

export const mean = (limits: Limit[]): Limit => ({
  perSecond: limits.reduce((sum, { perSecond }) => sum + perSecond, 0) / limits.length,
  milliseconds: limits.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / limits.length,
});

async function writesAtOnce(kube: Kube, atOnce: number): Promise<Limit> {
  const families = Array.from({ length: DEPLOYMENTS }, () => childrenOf(`limit-${randomUUID().slice(0, 8)}`));
  const [before, started] = [cpuSoFar(), performance.now()];
  let writes = 0;
  const work = async (): Promise<void> => {
    for (let next = families.pop(); next !== undefined; next = families.pop()) {
      await kube.create(kinds.tracingProject, next.project);
      for (const secret of next.secrets) await kube.create(kinds.secret, secret);
      for (const child of next.applied) await kube.apply(kindOf(child), child);
      writes += 1 + next.secrets.length + next.applied.length;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const took = performance.now() - started;
  const cpu = cpuBetween(before, cpuSoFar()).reduce((sum, [, seconds]) => sum + seconds, 0);
  return { perSecond: (writes * 1000) / took, milliseconds: (cpu * 1000) / writes };
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
