import { desiredStore } from '../../store/desired.ts';
import { keepStore } from '../../store/keep.ts';
import { storeStatement } from '../../store/ready.ts';
import type { Part } from '../part.ts';

/** The key-value store of a deployment that asks for one. */
export const store: Part = {
  desired: desiredStore,
  prepare: async (deps, { deployment }, signal) => ({ status: await keepStore(deps, deployment, signal) }),
  keeps: ['storeSecret'],
  report: (facts) => ({ statements: storeStatement(facts, facts.written) }),
};
