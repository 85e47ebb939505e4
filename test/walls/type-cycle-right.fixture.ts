// at: src/http/planted-right.ts
// rule: no-cycle
import type { Left } from './planted-left.ts';
export type Right = { left?: Left };
