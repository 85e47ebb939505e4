// at: src/schema/planted.ts
// rule: directions
import { kinds } from '../kube/kinds.ts';
export const planted = kinds;
