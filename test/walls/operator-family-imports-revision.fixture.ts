// at: src/operator/family/planted.ts
// rule: directions
import { decide } from '../revision/decide.ts';
export const planted = decide;
