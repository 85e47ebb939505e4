import { randomUUID } from 'node:crypto';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { buildTracingProject } from '../../../src/operator/deployment/parts/tracing-project.ts';
import { addIntentHash } from '../../../src/operator/kernel/owned.ts';
import { familyOf, kindOf, settings } from './family.ts';

/*
 * What the API server can do for a client that does nothing else, over as many connections as the operator's calls
 * have.
 */

/** The number of objects that a deployment is made of. */
export const CHILDREN = 10;
/** The client tries these numbers, and then writes with the fastest. */
const AT_ONCE = [4, 8, 16];
/** The text is as long as a credential. */
const SECRET = 'x'.repeat(400);

/** A number of writes, and the seconds that they took. */
export type Written = { count: number; seconds: number };

/** Finds with how many deployments at once such a client writes best. Each number is tried for so many milliseconds. */
export async function bestAtOnce(kube: Kube, milliseconds: number): Promise<number> {
  const tried: { atOnce: number; rate: number }[] = [];
  for (const atOnce of AT_ONCE) {
    const { count, seconds } = await writeFamilies(kube, milliseconds, atOnce);
    tried.push({ atOnce, rate: count / seconds });
  }
  return tried.toSorted((a, b) => b.rate - a.rate)[0]?.atOnce ?? 1;
}

/**
 * Writes the objects that deployments are made of, four creates and six server-side applies each, until the time is
 * over. Then it drops what is under way, so that nobody waits for another's last writes.
 */
export async function writeFamilies(
  kube: Kube,
  milliseconds: number,
  atOnce: number,
): Promise<Written> {
  const started = performance.now();
  const isOver = (): boolean => performance.now() - started >= milliseconds;
  let count = 0;
  const work = async (): Promise<void> => {
    while (!isOver())
      for (const write of writesOf(`limit-${randomUUID().slice(0, 8)}`)) {
        if (isOver()) return;
        await write(kube);
        count += 1;
      }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { count, seconds: (performance.now() - started) / 1000 };
}

type Write = (kube: Kube) => Promise<unknown>;

function writesOf(name: string): Write[] {
  const { deployment, children } = familyOf(name, 'default');
  const secrets = ['admin', 'agents', 'tls'].map((whose) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${name}-${whose}`, namespace: 'default' },
    immutable: true,
    stringData: { uri: SECRET },
  }));
  return [
    (kube) =>
      kube.create(kinds.tracingProject, buildTracingProject(deployment, settings.defaultTenantId)),
    ...secrets.map(
      (secret): Write =>
        (kube) =>
          kube.create(kinds.secret, secret),
    ),
    ...children.map(
      (child): Write =>
        (kube) =>
          kube.apply(kindOf(child), addIntentHash(child)),
    ),
  ];
}
