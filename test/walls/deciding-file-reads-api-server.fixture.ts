// at: src/operator/revision/planted.ts
// rule: pure
import { kinds } from '../../kube/kube.ts';
export const planted = kinds;
