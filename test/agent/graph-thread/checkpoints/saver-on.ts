import type { Database } from '../../../../src/agent/db/base/pool.ts';
import { Element } from '../../../../src/agent/graph-thread/checkpoints/element.ts';
import { Saver } from '../../../../src/agent/graph-thread/checkpoints/saver.ts';
import { StepStorage } from '../../../../src/agent/run-storage/step-storage.ts';

/** Returns a checkpointer that remembers so many bytes of lists. */
export const saverOn = (db: Database, rememberedBytes = 1024 * 1024): Saver =>
  new Saver(new StepStorage(db, { elementOf: (stored) => new Element(stored), rememberedBytes }));
