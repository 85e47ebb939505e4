// at: src/agent/planted-kube.ts
// rule: doors
import type { Kube } from '../kube/kube.ts';
export type Planted = Kube;
