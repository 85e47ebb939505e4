import { Unavailable } from '../../src/errors.ts';
import type { Kube } from '../../src/kube/kube.ts';

const WRITES = ['create', 'apply', 'patchJson', 'patchStatus', 'replace', 'delete'] as const;

export type DyingDoor = { kube: Kube; isDead(): boolean };

/**
 * Returns a client that lets so many writes through and then fails, as for a process that is killed between two writes
 * of one pass.
 */
export function dyingDoor(kube: Kube, writes: number): DyingDoor {
  let left = writes;
  const guarded = (name: string) => {
    const method = kube[name as keyof Kube].bind(kube) as (...given: unknown[]) => Promise<unknown>;
    return async (...given: unknown[]): Promise<unknown> => {
      const isLease = (given[0] as { kind?: string }).kind === 'Lease';
      if (left < 0) throw new Unavailable('this process is dead');
      if (!isLease && (WRITES as readonly string[]).includes(name)) left -= 1;
      if (left < 0) throw new Unavailable('this process is dead');
      return method(...given);
    };
  };
  const calls = ['get', 'find', 'list', 'listAll', 'readPodLog', ...WRITES].map((name) => [
    name,
    guarded(name),
  ]);
  const door = {
    ...Object.fromEntries(calls),
    watch: kube.watch.bind(kube),
    close: () => Promise.resolve(),
  } as unknown as Kube;
  return { kube: door, isDead: () => left < 0 };
}
