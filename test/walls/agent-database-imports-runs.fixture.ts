// at: src/agent/db/planted.ts
// rule: directions
import type { Kwargs } from '../runs/kwargs.ts';
export type Planted = Kwargs;
