// at: src/console/planted-kube.ts
// rule: doors
import type { Kube } from '../kube/kube.ts';
export type Planted = Kube;
