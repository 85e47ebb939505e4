// at: src/operator/revision/planted.ts
// rule: pure
import { kinds } from '../../kube/kinds.ts';
export const planted = kinds;
