// at: src/agent/graph-thread/checkpoints/planted.ts
// rule: no-restricted-imports
import type { Database } from '../../db/pool.ts';
export type Planted = Database;
