// at: src/operator/planted.ts
// rule: no-restricted-imports
import { start } from '../control-plane/start.ts';
export const planted = start;
