import { randomUUID } from 'node:crypto';
import { kinds, type Kind, type Kube } from '../../../src/kube/kube.ts';
import { tracingProject } from '../../../src/operator/deployment/tracing-project.ts';
import { withHash } from '../../../src/operator/kernel/owned.ts';
import { cpuSoFar, spentBetween } from './cpu.ts';
import { familyOf, kindOf, settings } from './family.ts';

/* What the API server can do for a client that does nothing else, over as many connections as the operator's calls have. */

/** Objects that a deployment is made of. */
export const CHILDREN = 10;
/** Of these, what is fastest is how the client writes. */
const AT_ONCE = [4, 8, 16];
/** As long as a credential. */
const SECRET = 'x'.repeat(400);

/** `seconds` it took, and of `cpu`: of API server, database and client together. */
export type Written = { count: number; seconds: number; cpu: number };

export const none: Written = { count: 0, seconds: 0, cpu: 0 };
export const both = (one: Written, other: Written): Written => ({
  count: one.count + other.count,
  seconds: one.seconds + other.seconds,
  cpu: one.cpu + other.cpu,
});

/** How many deployments at once such a client writes best. */
export async function bestAtOnce(kube: Kube, deployments: number): Promise<number> {
  const tried: { atOnce: number; seconds: number }[] = [];
  for (const atOnce of AT_ONCE) tried.push({ atOnce, seconds: (await writeFamilies(kube, deployments, atOnce)).seconds });
  return tried.toSorted((a, b) => a.seconds - b.seconds)[0]?.atOnce ?? 1;
}

/** Writes the objects that so many deployments are made of: four creates and six server-side applies each. */
export async function writeFamilies(kube: Kube, deployments: number, atOnce: number): Promise<Written> {
  const families = Array.from({ length: deployments }, () => childrenOf(`limit-${randomUUID().slice(0, 8)}`));
  const [before, started] = [cpuSoFar(), performance.now()];
  let count = 0;
  const work = async (): Promise<void> => {
    for (let next = families.pop(); next !== undefined; next = families.pop()) {
      await kube.create(kinds.tracingProject, next.project);
      for (const secret of next.secrets) await kube.create(kinds.secret, secret);
      for (const child of next.applied) await kube.apply(kindOf(child), child);
      count += 1 + next.secrets.length + next.applied.length;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { count, seconds: (performance.now() - started) / 1000, cpu: spentBetween(before, cpuSoFar()) };
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
