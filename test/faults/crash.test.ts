import { expect, test } from 'vitest';
import { isWrite } from '../kit/fault-proxy.ts';
import { change, deploy, remove, settledFirst, untilGone, untilSettled } from './life.ts';
import type { World } from './oracle.ts';
import {
  converged,
  inLanes,
  report,
  faultStage,
  untilQuiet,
  type Outcome,
  type FaultStage,
} from './fault-stage.ts';

/*
 * An operator in a process of its own is killed when the API server has done its k-th write, for every write of the
 * same scenario without a crash. Its successor must arrive at the same result.
 */
type Act = {
  before: (given: FaultStage) => Promise<void>;
  act: (given: FaultStage) => Promise<unknown>;
  done: (given: FaultStage) => Promise<void>;
};

const ACTS: Record<string, Act> = {
  creation: { before: () => Promise.resolve(), act: deploy, done: untilSettled },
  'a new image': {
    before: settledFirst,
    act: change('/spec/template/sourceRevisionConfig/imageUri', 'agent:2'),
    done: untilSettled,
  },
  'a larger size': {
    before: settledFirst,
    act: change('/spec/template/resourceSpec', { minScale: 2, memoryMb: 512, dbMemoryMb: 512 }),
    done: untilSettled,
  },
  deletion: {
    before: settledFirst,
    act: remove,
    done: untilGone,
  },
};

/** Plays the scenario without a crash. Returns the resulting world and the number of writes. */
async function whole({ before, act, done }: Act): Promise<{ world: World; writes: number }> {
  const given = await faultStage('whole');
  await before(given);
  const first = given.process('first', { alone: true });
  await first.leading();
  const from = given.proxy.journal.length;
  await act(given);
  await done(given);
  await untilQuiet(given);
  const world = await given.world();
  await given.stop();
  return { world, writes: world.journal.slice(from).filter(isWrite).length };
}

async function crashed({ before, act, done }: Act, k: number, clean: World): Promise<Outcome> {
  const given = await faultStage(`crash-${k}`);
  await before(given);
  const first = given.process('first', { alone: true });
  await first.leading();
  let writes = 0;
  const dead = Promise.withResolvers<void>();
  given.proxy.rules = {
    request: () => (writes >= k ? 'reset' : 'pass'),
    answered: (entry) => {
      writes += isWrite(entry) ? 1 : 0;
      if (writes < k) return;
      given.proxy.cut();
      void first.kill().then(dead.resolve);
    },
  };
  await act(given);
  // Statuses and events that follow each other closely are sometimes one write. A scenario with fewer writes ends when
  // it has settled.
  const over = async (): Promise<void> => {
    await done(given);
    await untilQuiet(given);
    await (writes < k ? first.kill() : dead.promise);
  };
  const settled = over();
  settled.catch(() => undefined);
  await Promise.race([dead.promise, settled]);
  given.proxy.rules = {};
  const heir = await given.operator('heir');
  const outcome = await converged(`killed after write ${k}`, given, clean);
  await heir.stop();
  await given.stop();
  return outcome;
}

test.each(Object.entries(ACTS))(
  '%s survives kill -9 after each of its writes',
  async (name, act) => {
    const clean = await whole(act);
    const writes = Array.from({ length: clean.writes }, (_, index) => index + 1);
    const outcomes = await inLanes(writes, (k) => crashed(act, k, clean.world));
    report(outcomes.map((outcome) => ({ ...outcome, scenario: `${name}: ${outcome.scenario}` })));
    expect(clean.writes).toBeGreaterThan(3);
    expect(
      outcomes.flatMap(({ scenario, faults }) => faults.map((fault) => `${scenario}: ${fault}`)),
    ).toEqual([]);
  },
);
