// at: src/operator/rollout/planted.ts
// rule: directions
import { decideRevision } from '../revision/decide.ts';
export const planted = decideRevision;
