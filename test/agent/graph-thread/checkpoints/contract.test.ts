import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freshOpenDatabase, type OpenDatabase } from '../../../kit/postgres-opened.ts';
import { saverOn } from './saver-on.ts';

/* LangGraph's own tests of what it expects of a checkpointer: all of them, none left out. */

// They take Vitest's functions from the global object.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

let on: OpenDatabase;

const ours = {
  checkpointerName: 'the checkpointer of the agent server',
  beforeAll: async () => {
    on = await freshOpenDatabase(4);
  },
  beforeAllTimeout: 60_000,
  afterAll: () => on.drop(),
  createCheckpointer: () => saverOn(on.db),
  destroyCheckpointer: async () => {
    await on.db.query({
      text: 'truncate gx.checkpoints, gx.checkpoint_blobs, gx.checkpoint_writes, gx.checkpoint_packs',
    });
  },
};

validate(ours);
deltaChannelHistoryTests(ours);
