// at: src/kube/planted.ts
// rule: directions
import { start } from '../operator/start.ts';
export const planted = start;
