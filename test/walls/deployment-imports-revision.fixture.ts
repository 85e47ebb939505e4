// at: src/operator/deployment/planted-import.ts
// rule: directions
import type { Decision } from '../revision/decision.ts';
export type Planted = Decision;
