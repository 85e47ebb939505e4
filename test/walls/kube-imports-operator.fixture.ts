// at: src/kube/planted.ts
// rule: no-restricted-imports
import { start } from '../operator/start.ts';
export const planted = start;
