// at: src/schema/planted.ts
// rule: directions
import { kinds } from '../kube/kube.ts';
export const planted = kinds;
