// at: src/http/planted-left.ts
// rule: no-cycle
import type { Right } from './planted-right.ts';
export type Left = { right?: Right };
