// at: src/operator/planted.ts
// rule: directions
import { start } from '../control-plane/start.ts';
export const planted = start;
