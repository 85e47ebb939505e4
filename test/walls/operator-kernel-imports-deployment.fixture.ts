// at: src/operator/kernel/planted.ts
// rule: directions
import { reconcile } from '../deployment/reconcile.ts';
export const planted = reconcile;
