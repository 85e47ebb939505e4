import process from 'node:process';
import { runMain } from '../../dev/steps.ts';
import { agent } from './agent.ts';
import { controlPlane } from './control-plane.ts';

const CASES = 10_000;

const TARGETS: Record<string, (cases: number) => Promise<void>> = {
  'control-plane': controlPlane,
  agent,
};

/** Arguments: `[control-plane|agent] [cases]`. The default is both, and 10,000 cases each. */
await runMain(async () => {
  const [first = '', second] = process.argv.slice(2);
  const named = TARGETS[first];
  const cases = Number((named === undefined ? first : second) || CASES);
  for (const target of named === undefined ? Object.values(TARGETS) : [named]) await target(cases);
});
