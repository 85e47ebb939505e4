// at: src/agent/planted.ts
// rule: doors
import { KubeConfig } from '@kubernetes/client-node';
export const planted = KubeConfig;
