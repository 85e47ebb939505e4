// at: src/schema/planted.ts
// rule: no-restricted-imports
import { kinds } from '../kube/kube.ts';
export const planted = kinds;
